package marqueetest

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/network"
	"github.com/testcontainers/testcontainers-go/wait"
)

// startTime is the time limit of the start of a container: the first start of a replica
// set copies its data.
const startTime = 3 * time.Minute

// ContainerOptions configure Container. Each field may be left out.
type ContainerOptions struct {
	// Schemas holds the types that are served.
	Schemas fs.FS
	// Application is that of marquee serve; "" is none.
	Application string
	// Image is the image of the program; "" is MARQUEE_TEST_IMAGE, or marquee:latest.
	Image string
	// MongoDB starts a replica set of one server, and keeps the records there instead
	// of in SQLite.
	MongoDB bool
	// MongoDBImage is its image; "" is MARQUEE_TEST_MONGODB_IMAGE, or mongo:8.
	MongoDBImage string
}

// Container runs a server from the image, on an empty store. Images are not pulled.
// Where there is no container engine, or no image, the test is skipped, or fails if
// MARQUEE_REQUIRE has the word containers.
func Container(t *testing.T, options ContainerOptions) *Server {
	t.Helper()
	image := cmp.Or(options.Image, os.Getenv("MARQUEE_TEST_IMAGE"), "marquee:latest")
	images := []string{image}
	database := cmp.Or(options.MongoDBImage, os.Getenv("MARQUEE_TEST_MONGODB_IMAGE"), "mongo:8")
	if options.MongoDB {
		images = append(images, database)
	}
	needImages(t, images)

	env := map[string]string{
		"MARQUEE_APPLICATION":        cmp.Or(options.Application, "none"),
		"MARQUEE_BOOTSTRAP_NETWORK":  Network,
		"MARQUEE_BOOTSTRAP_USERNAME": Username,
		"MARQUEE_BOOTSTRAP_PASSWORD": Password,
	}
	var common []testcontainers.ContainerCustomizer
	if options.MongoDB {
		common = append(common, startMongoDB(t, database, image, env))
	}
	if options.Schemas != nil {
		files, err := schemaFiles(options.Schemas)
		if err != nil {
			t.Fatal(err)
		}
		env["MARQUEE_SCHEMAS"] = schemaFolder
		common = append(common, testcontainers.WithFiles(files...))
	}
	c := run(t, image, append(common, testcontainers.WithEnv(env), testcontainers.WithExposedPorts("8080/tcp"),
		testcontainers.WithWaitStrategyAndDeadline(startTime, wait.ForHTTP("/readyz").WithPort("8080/tcp")))...)
	address, err := c.PortEndpoint(t.Context(), "8080/tcp", "http")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{URL: address, tb: t}
	s.signIn()
	return s
}

// startMongoDB starts a replica set of one server, and gives the program a place
// beside it.
func startMongoDB(t *testing.T, image, program string, env map[string]string) testcontainers.ContainerCustomizer {
	t.Helper()
	net, err := network.New(t.Context())
	testcontainers.CleanupNetwork(t, net)
	if err != nil {
		t.Fatal(err)
	}
	run(t, image, network.WithNetwork([]string{"mongodb"}, net),
		testcontainers.WithCmd("--replSet", "rs0", "--bind_ip_all", "--wiredTigerCacheSizeGB", "0.25"),
		testcontainers.WithWaitStrategyAndDeadline(startTime, wait.ForLog("Waiting for connections")))
	key := make([]byte, 32)
	rand.Read(key)
	env["MARQUEE_STORE"] = "mongodb://mongodb/marquee?replicaSet=rs0"
	env["MARQUEE_SECRET_KEY"] = base64.StdEncoding.EncodeToString(key)
	beside := network.WithNetwork([]string{"marquee"}, net)
	initiated := run(t, program, beside, testcontainers.WithEnv(env), testcontainers.WithCmd("init-replica-set", "--member", "mongodb"),
		testcontainers.WithWaitStrategyAndDeadline(startTime, wait.ForExit()))
	state, err := initiated.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if state.ExitCode != 0 {
		t.Fatalf("the replica set cannot be made: the exit status is %d", state.ExitCode)
	}
	return beside
}

const schemaFolder = "/schemas"

// schemaFiles are the files of a folder, as they are copied into a container.
func schemaFiles(folder fs.FS) (files []testcontainers.ContainerFile, err error) {
	for _, pattern := range []string{"*.json", "common/*.json"} {
		names, err := fs.Glob(folder, pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			data, err := fs.ReadFile(folder, name)
			if err != nil {
				return nil, err
			}
			files = append(files, testcontainers.ContainerFile{Reader: strings.NewReader(string(data)), ContainerFilePath: schemaFolder + "/" + name, FileMode: 0o644})
		}
	}
	return files, nil
}

// run starts a container that is removed when the test ends.
func run(t *testing.T, image string, options ...testcontainers.ContainerCustomizer) *testcontainers.DockerContainer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTime)
	defer cancel()
	c, err := testcontainers.Run(ctx, image, options...)
	testcontainers.CleanupContainer(t, c, testcontainers.StopTimeout(time.Second))
	if err != nil {
		t.Fatalf("%s: %v", image, err)
	}
	return c
}

var errNoEngine = errors.New("no container engine answers")

// needImages ends a test that cannot have its images.
func needImages(t *testing.T, images []string) {
	t.Helper()
	err := haveImages(t.Context(), images)
	switch {
	case err == nil:
	case slices.Contains(strings.Split(os.Getenv("MARQUEE_REQUIRE"), ","), "containers"):
		t.Fatal(err)
	default:
		t.Skip(err)
	}
}

func haveImages(ctx context.Context, images []string) (err error) {
	defer func() {
		if r := recover(); r != nil { // which is how testcontainers reports that there is no engine
			err = errNoEngine
		}
	}()
	docker, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return errNoEngine
	}
	defer docker.Close()
	for _, image := range images {
		if _, err := docker.ImageInspect(ctx, image); err != nil {
			return fmt.Errorf("there is no image %s: %w", image, err)
		}
	}
	return nil
}
