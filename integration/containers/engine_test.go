// Package containers tests the image and the compose file as they are deployed: on a
// Docker engine, over published ports. It imports marqueetest, and otherwise nothing of
// the project, since the program under test is in the image. Begin with embedded_test.go.
package containers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// patience is the time limit of everything: the machine is shared, and the first
// start of a replica set copies its data.
const patience = 3 * time.Minute

// The images are looked for and never pulled: tests send nothing to a registry.
var (
	marqueeImage = cmp.Or(os.Getenv("MARQUEE_TEST_IMAGE"), "marquee:latest")
	mongoImage   = cmp.Or(os.Getenv("MARQUEE_TEST_MONGODB_IMAGE"), "mongo:8")
	proxyImage   = cmp.Or(os.Getenv("MARQUEE_TEST_PROXY_IMAGE"), "haproxy:3.2")
)

func TestMain(m *testing.M) {
	// The reaper would be an image to pull; published ports are on this machine.
	for name, value := range map[string]string{"TESTCONTAINERS_RYUK_DISABLED": "true", "TESTCONTAINERS_HOST_OVERRIDE": "127.0.0.1"} {
		if _, set := os.LookupEnv(name); !set && os.Getenv("DOCKER_HOST") == "" {
			os.Setenv(name, value)
		}
	}
	os.Exit(m.Run())
}

// engine is the Docker engine, which has the images that a test needs. Without
// it the test is skipped, or fails when the word containers is in
// MARQUEE_REQUIRE.
func engine(t *testing.T, images ...string) *testcontainers.DockerClient {
	t.Helper()
	if testing.Short() {
		t.Skip("containers take their time")
	}
	docker, err := newEngine(t.Context(), images)
	if err != nil {
		lacking(t, err)
	}
	t.Cleanup(func() { docker.Close() })
	return docker
}

// lacking skips or fails a test whose requirements are missing.
func lacking(t *testing.T, err error) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("MARQUEE_REQUIRE"), ","), "containers") {
		t.Fatal(err)
	}
	t.Skip(err)
}

var errNoEngine = errors.New("no Docker engine answers: start one (.ci/docker shows how)")

func newEngine(ctx context.Context, images []string) (docker *testcontainers.DockerClient, err error) {
	defer func() {
		if r := recover(); r != nil { // how testcontainers says that there is no engine
			err = errNoEngine
		}
	}()
	docker, err = testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return nil, errNoEngine
	}
	// testcontainers falls back to other engines when this one does not answer.
	if host := os.Getenv("DOCKER_HOST"); host != "" && docker.DaemonHost() != host {
		docker.Close()
		return nil, errNoEngine
	}
	for _, image := range images {
		if _, err := docker.ImageInspect(ctx, image); err != nil {
			docker.Close()
			cure := "run 'make image'"
			switch image {
			case proxyImage:
				cure = "'docker pull' it, or run 'make proxy-image' and set MARQUEE_TEST_PROXY_IMAGE=marquee-test/haproxy"
			case mongoImage:
				cure = "'docker pull' it, or run 'make mongod-image' and set MARQUEE_TEST_MONGODB_IMAGE=marquee-test/mongod:6.0.5"
			}
			return nil, fmt.Errorf("the image %s is not there (%w): %s", image, err, cure)
		}
	}
	return docker, nil
}

// volume is the name of a new volume that is removed at the end.
func volume(t *testing.T, docker *testcontainers.DockerClient) string {
	t.Helper()
	created, err := docker.VolumeCreate(t.Context(), client.VolumeCreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	name := created.Volume.Name
	t.Cleanup(func() {
		if _, err := docker.VolumeRemove(context.Background(), name, client.VolumeRemoveOptions{Force: true}); err != nil {
			t.Errorf("the volume %s stays: %v", name, err)
		}
	})
	return name
}

// run starts a container that is removed at the end, before which a failed test
// shows the last of what it logged.
func run(t *testing.T, image string, options ...testcontainers.ContainerCustomizer) *testcontainers.DockerContainer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := testcontainers.Run(ctx, image, options...)
	testcontainers.CleanupContainer(t, c, testcontainers.StopTimeout(time.Second))
	t.Cleanup(func() {
		if t.Failed() && c != nil {
			lines := strings.SplitAfter(logs(c), "\n")
			t.Logf("%s logged:\n%s", image, strings.Join(lines[max(0, len(lines)-30):], ""))
		}
	})
	if err != nil {
		t.Fatalf("%s: %v", image, err)
	}
	return c
}
