package mongodb

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// startContainer starts a replica set of one in Docker, or is errNone where
// there is no Docker, or not the image: tests send nothing to a registry. It uses the docker
// command, as the guardian does, because a client library is linked into each test binary.
func startContainer() (*sharedServer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	image := cmp.Or(os.Getenv("MARQUEE_TEST_MONGODB_IMAGE"), "mongo:8")
	if _, err := docker(ctx, "image", "inspect", image); err != nil {
		return nil, fmt.Errorf("%w: run 'make mongod', or set MARQUEE_TEST_MONGODB_URI to the URI of a replica set, or start Docker with the image %s", errNone, image)
	}
	// Its name is known before it exists, so that it can be removed at any time.
	name := "marquee-mongod-" + strings.ToLower(rand.Text())
	guardian, err := guard(removing, name)
	if err != nil {
		return nil, err
	}
	if _, err := docker(ctx, "run", "--detach", "--pull", "never", "--name", name, "--publish", "27017", image,
		"mongod", "--bind_ip_all", "--replSet", setName, "--oplogSize", "512",
		"--wiredTigerCacheSizeGB", "4", "--quiet", "--setParameter", "enableTestCommands=1"); err != nil {
		return nil, err
	}
	ports, err := docker(ctx, "port", name, "27017/tcp")
	if err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(ports, "\n")
	_, port, err := net.SplitHostPort(first)
	if err != nil {
		return nil, err
	}
	// Its name in the replica set is one that only it can reach.
	uri := "mongodb://" + net.JoinHostPort(dockerHost(), port) + "/?directConnection=true"
	if err := initiateAlone(ctx, uri); err != nil {
		return nil, fmt.Errorf("initiate the replica set of %s: %w", image, err)
	}
	return &sharedServer{uri: uri, guardian: guardian}, nil
}

// docker runs the docker command, and returns what it prints.
func docker(ctx context.Context, args ...string) (string, error) {
	var failed strings.Builder
	command := exec.CommandContext(ctx, "docker", args...)
	command.Stderr = &failed
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("docker %s: %w: %s", args[0], err, &failed)
	}
	return string(out), nil
}

// dockerHost is the host on which containers publish their ports.
func dockerHost() string {
	if engine, err := url.Parse(os.Getenv("DOCKER_HOST")); err == nil && engine.Scheme == "tcp" {
		return engine.Hostname()
	}
	return "127.0.0.1"
}

func initiateAlone(ctx context.Context, uri string) error {
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		return err
	}
	defer leave(client)
	if err := poll(ctx, func() error { return client.Ping(ctx, nil) }); err != nil {
		return err
	}
	if err := initiate(ctx, client, []string{"127.0.0.1:27017"}); err != nil {
		return err
	}
	only := &set{members: []*member{{client: client}}}
	_, err = only.primary(ctx)
	return err
}
