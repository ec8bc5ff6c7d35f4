package mongodb

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// startContainer starts a replica set of one in Docker, or is errNone where
// there is no Docker, or not the image: tests send nothing to a registry.
func startContainer() (*sharedServer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	setDocker()
	image := cmp.Or(os.Getenv("MARQUEE_TEST_MONGODB_IMAGE"), "mongo:8")
	if err := findImage(ctx, image); err != nil {
		return nil, fmt.Errorf("%w: run 'make mongod', or set MARQUEE_TEST_MONGODB_URI to the URI of a replica set, or start Docker with the image %s", errNone, image)
	}
	// Its name is known before it exists, so that it can be removed at any time.
	name := "marquee-mongod-" + strings.ToLower(rand.Text())
	guardian, err := guard(removing, name)
	if err != nil {
		return nil, err
	}
	container, err := testcontainers.Run(ctx, image,
		testcontainers.WithName(name),
		testcontainers.WithCmd("mongod", "--bind_ip_all", "--replSet", setName, "--oplogSize", "512",
			"--wiredTigerCacheSizeGB", "4", "--quiet", "--setParameter", "enableTestCommands=1"),
		testcontainers.WithExposedPorts("27017/tcp"),
		testcontainers.WithWaitStrategyAndDeadline(startLimit, wait.ForLog("Waiting for connections")))
	if err != nil {
		return nil, err
	}
	address, err := container.PortEndpoint(ctx, "27017/tcp", "")
	if err != nil {
		return nil, err
	}
	// Its name in the replica set is one that only it can reach.
	uri := "mongodb://" + address + "/?directConnection=true"
	if err := initiateAlone(ctx, uri); err != nil {
		return nil, fmt.Errorf("initiate the replica set of %s: %w", image, err)
	}
	return &sharedServer{uri: uri, guardian: guardian}, nil
}

// setDocker configures testcontainers for this machine unless the environment does: the
// guardian of the library would be another image to pull, where ours needs the
// docker command, and published ports are on this machine.
func setDocker() {
	setDefault := func(name, value string) {
		if _, set := os.LookupEnv(name); !set {
			os.Setenv(name, value)
		}
	}
	if _, err := exec.LookPath("docker"); err == nil {
		setDefault("TESTCONTAINERS_RYUK_DISABLED", "true")
	}
	if os.Getenv("DOCKER_HOST") == "" {
		setDefault("TESTCONTAINERS_HOST_OVERRIDE", "127.0.0.1")
	}
}

func findImage(ctx context.Context, image string) (err error) {
	defer func() {
		if recover() != nil { // how testcontainers says that there is no engine
			err = fmt.Errorf("no Docker engine answers")
		}
	}()
	docker, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return err
	}
	defer docker.Close()
	_, err = docker.ImageInspect(ctx, image)
	return err
}

func initiateAlone(ctx context.Context, uri string) error {
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		return err
	}
	defer leave(client)
	if err := initiate(ctx, client, []string{"127.0.0.1:27017"}); err != nil {
		return err
	}
	only := &set{members: []*member{{client: client}}}
	_, err = only.primary(ctx)
	return err
}
