package containers

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/network"
	"github.com/testcontainers/testcontainers-go/wait"
)

// TestMongoDB: MongoDB and the service as containers on one network. What was
// stored is there after each, and after both, have been restarted.
func TestMongoDB(t *testing.T) {
	t.Parallel()
	docker := engine(t, marqueeImage, mongoImage)
	ctx := t.Context()
	net, err := network.New(ctx)
	testcontainers.CleanupNetwork(t, net)
	if err != nil {
		t.Fatal(err)
	}
	database := run(t, mongoImage, network.WithNetwork([]string{"mongodb"}, net),
		testcontainers.WithCmd("--replSet", "rs0", "--bind_ip_all", "--wiredTigerCacheSizeGB", "0.25"),
		testcontainers.WithMounts(testcontainers.VolumeMount(volume(t, docker), "/data/db")),
		testcontainers.WithWaitStrategyAndDeadline(patience, wait.ForLog("Waiting for connections")))
	onNetwork := []testcontainers.ContainerCustomizer{
		network.WithNetwork([]string{"marquee"}, net),
		testcontainers.WithEnv(map[string]string{
			"MARQUEE_STORE":              "mongodb://mongodb/marquee?replicaSet=rs0",
			"MARQUEE_SECRET_KEY":         secretKey,
			"MARQUEE_BOOTSTRAP_PASSWORD": password,
		}),
	}
	for _, says := range []string{"is ready", "is there"} { // the second time, nothing is left to do
		initiate(t, says, append(onNetwork, testcontainers.WithCmd("init-replica-set", "--member", "mongodb"))...)
	}

	s := serve(t, onNetwork...)
	s.signIn(t, password)
	if err := s.create(ctx, "spring"); err != nil {
		t.Fatal(err)
	}
	s.holds(t, "spring")

	// Without MongoDB the service says so, and goes on when it is back.
	stop(t, database)
	within(t, patience, "marquee health ends with 1", func(context.Context) error { // an answer of before is given again for a second
		if code, said := s.exec(t, "health"); code != 1 || !strings.Contains(said, "503") {
			return fmt.Errorf("it ends with %d: %s", code, said)
		}
		return nil
	})
	start(t, database)
	s.ready(t)
	s.holds(t, "spring")

	stop(t, s.DockerContainer)
	stop(t, database)
	start(t, database)
	start(t, s.DockerContainer)
	s.find(t)
	s.holds(t, "spring")
	if err := s.create(ctx, "summer"); err != nil {
		t.Fatal(err)
	}
	s.holds(t, "spring", "summer")
}

// initiate runs a container to its end and checks what it says.
func initiate(t *testing.T, says string, options ...testcontainers.ContainerCustomizer) {
	t.Helper()
	c := run(t, marqueeImage, append(options, testcontainers.WithWaitStrategyAndDeadline(patience, wait.ForExit()))...)
	state, err := c.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if said := logs(c); state.ExitCode != 0 || !strings.Contains(said, says) {
		t.Fatalf("init-replica-set ends with %d instead of saying %q: %s", state.ExitCode, says, said)
	}
}

// ready waits until the service says that it is.
func (s *service) ready(t *testing.T) {
	t.Helper()
	within(t, patience, fmt.Sprintf("%s is ready", s.url), func(ctx context.Context) error {
		_, err := s.send(ctx, "GET", "/readyz", "", "")
		return err
	})
}
