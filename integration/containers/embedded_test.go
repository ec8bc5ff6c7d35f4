package containers

import (
	"strings"
	"testing"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

// TestImage: the image holds little, and who runs in it may do little.
func TestImage(t *testing.T) {
	t.Parallel()
	docker := engine(t, marqueeImage)
	image, err := docker.ImageInspect(t.Context(), marqueeImage)
	if err != nil {
		t.Fatal(err)
	}
	if image.Size > 56e6 {
		t.Errorf("it has %d MB", image.Size/1e6)
	}
	// A number, as there are no names in the image.
	if user, group, _ := strings.Cut(image.Config.User, ":"); strings.Trim(user, "0123456789") != "" || strings.Trim(user, "0") == "" || group == "0" {
		t.Errorf("it runs as %q", image.Config.User)
	}
	for _, label := range []string{"title", "description", "version", "revision"} {
		if _, set := image.Config.Labels["org.opencontainers.image."+label]; !set {
			t.Errorf("the label %s is missing", label)
		}
	}
	if len(image.Config.Volumes) != 1 || len(image.Config.ExposedPorts) != 1 || image.Config.Healthcheck == nil {
		t.Errorf("it declares the volumes %v, the ports %v, the health check %v", image.Config.Volumes, image.Config.ExposedPorts, image.Config.Healthcheck)
	}
}

// TestEmbeddedStore: with no settings at all, the records are on the volume.
// They are there after a restart, and for a newer container in its place.
func TestEmbeddedStore(t *testing.T) {
	t.Parallel()
	docker := engine(t, marqueeImage)
	data := testcontainers.WithMounts(testcontainers.VolumeMount(volume(t, docker), "/data"))
	s := serve(t, data)
	s.signIn(t, password)
	if err := s.create(t.Context(), "spring"); err != nil {
		t.Fatal(err)
	}
	s.holds(t, "spring")
	s.uploads(t, "banner")
	if code, said := s.exec(t, "health"); code != 0 || !strings.Contains(said, "ready") {
		t.Errorf("marquee health ends with %d: %s", code, said)
	}
	if code, said := s.exec(t, "health", "--url", "http://127.0.0.1:1"); code != 1 || !strings.Contains(said, "does not answer") {
		t.Errorf("marquee health of nothing ends with %d: %s", code, said)
	}

	// Not signed in again: the keys of tokens are on the volume, too.
	stopAndStart(t, s.DockerContainer)
	s.find(t)
	s.holds(t, "spring")
	if strings.Contains(logs(s.DockerContainer), password) {
		t.Error("the password is in the log")
	}

	if err := testcontainers.TerminateContainer(s.DockerContainer, testcontainers.StopTimeout(time.Minute)); err != nil {
		t.Fatal(err)
	}
	next := serve(t, data)
	next.token = s.token
	next.holds(t, "spring")
	if err := next.create(t.Context(), "summer"); err != nil {
		t.Fatal(err)
	}
	next.holds(t, "spring", "summer")
}

// TestHealthCheck: the engine learns from the image's own check that the
// service is ready.
func TestHealthCheck(t *testing.T) {
	t.Parallel()
	engine(t, marqueeImage)
	serve(t, testcontainers.WithWaitStrategyAndDeadline(patience, wait.ForHealthCheck()))
}
