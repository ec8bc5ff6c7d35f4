package containers

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestCompose: the compose file starts whole, with nothing but its secrets. What
// one server stores, the other reads, also while a member of the set is gone. The servers
// are replaced meanwhile, and the proxy refuses no request.
func TestCompose(t *testing.T) {
	t.Parallel()
	engine(t, marqueeImage, mongoImage, proxyImage)
	c := newCompose(t)
	if said, err := c.try("config", "-q"); err == nil || !strings.Contains(said, "MONGODB_KEY") {
		t.Errorf("without secrets, compose says %v: %s", err, said)
	}
	secrets := map[string]string{}
	for _, name := range []string{"MONGODB_KEY", "MONGODB_PASSWORD", "MONGODB_ADMIN_PASSWORD", "MARQUEE_BOOTSTRAP_PASSWORD"} {
		secrets[name] = rand.Text()
	}
	secrets["MARQUEE_SECRET_KEY"] = secretKey
	for name, value := range secrets {
		c.env = append(c.env, name+"="+value)
	}
	t.Cleanup(func() { c.remove(t) })
	c.do(t, "up", "-d")

	var first, second service
	first.at("http://" + c.addresses[0])
	second.at("http://" + c.addresses[1])
	first.ready(t)
	second.ready(t)
	first.signIn(t, secrets["MARQUEE_BOOTSTRAP_PASSWORD"])
	second.token = first.token
	if err := first.create(t.Context(), "spring"); err != nil {
		t.Fatal(err)
	}
	second.holds(t, "spring")
	first.uploads(t, "banner")
	second.uploads(t, "skyscraper")
	if err := first.uploaded(t.Context(), "skyscraper"); err != nil {
		t.Error(err)
	}

	c.do(t, "kill", "mongodb1") // the primary of a set that was just initiated
	within(t, patience, "a write without a member", func(ctx context.Context) error { return second.create(ctx, "summer") })
	first.holds(t, "spring", "summer")
	c.replaced(t, first.token)
	c.do(t, "up", "-d") // finds its set, and changes nothing
	first.ready(t)
	if content, err := first.send(t.Context(), http.MethodGet, "/api/v1/orders/summer?context=main", "", ""); err != nil {
		t.Errorf("%s: %v", content, err)
	}

	said := c.do(t, "logs", "--no-color")
	for name, value := range secrets {
		if strings.Contains(said, value) {
			t.Errorf("%s is in a log", name)
		}
	}
}

// compose is a project of the compose file, with the addresses of its servers.
type compose struct {
	program   []string
	env       []string
	addresses [3]string // of the servers, and of the proxy
}

func newCompose(t *testing.T) *compose {
	t.Helper()
	c := &compose{program: []string{"docker-compose"}}
	if exec.Command("docker-compose", "version").Run() != nil {
		c.program = []string{"docker", "compose"}
		if err := exec.Command("docker", "compose", "version").Run(); err != nil {
			lacking(t, fmt.Errorf("there is no docker-compose (Debian: apt-get install docker-compose), nor docker compose: %w", err))
		}
	}
	for i := range c.addresses {
		c.addresses[i] = freeAddress(t)
	}
	c.program = append(c.program, "-p", "marquee-test-"+strings.ToLower(rand.Text()[:8]), "-f", "../../deploy/compose.yaml")
	c.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "DOCKER_HOST=" + os.Getenv("DOCKER_HOST"),
		"MARQUEE_IMAGE=" + marqueeImage, "MONGODB_IMAGE=" + mongoImage, "MONGODB_CACHE_GB=0.25",
		"MARQUEE_LISTEN_1=" + c.addresses[0], "MARQUEE_LISTEN_2=" + c.addresses[1],
		"MARQUEE_LISTEN=" + c.addresses[2], "PROXY_IMAGE=" + proxyImage,
		"PROXY_SUBNET=" + subnet()}
	return c
}

// subnet is a network at random, because one that is named twice is refused: the one of
// the compose file may be that of an installation, or of a test that was killed.
func subnet() string {
	random := make([]byte, 3)
	rand.Read(random)
	return fmt.Sprintf("10.%d.%d.%d/28", random[0], random[1], random[2]&0xf0)
}

// replaced replaces both servers by those of another image, while clients write through the
// proxy, some of them with a new connection for each request.
func (c *compose) replaced(t *testing.T, token string) {
	t.Helper()
	next := "marquee-test:" + strings.ToLower(rand.Text()[:8])
	if said, err := exec.Command("docker", "tag", marqueeImage, next).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", "-f", next).Run() }) // its other name stays
	c.env = append(c.env, "MARQUEE_IMAGE="+next)

	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	var created atomic.Int64
	for i := range 6 {
		s := service{token: token}
		s.at("http://" + c.addresses[2])
		if i%2 == 0 {
			s.client.Transport = &http.Transport{}
		}
		within(t, patience, "the proxy is ready", func(ctx context.Context) error {
			_, err := s.send(ctx, http.MethodGet, "/readyz", "", "")
			return err
		})
		clients.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if err := s.create(context.WithoutCancel(ctx), fmt.Sprintf("replaced-%d-%d", i, n)); err != nil {
					t.Errorf("after %d requests: %v", created.Load(), err)
					return
				}
				created.Add(1)
			}
		})
	}
	replace := exec.CommandContext(ctx, "../../deploy/replace")
	replace.Env = append(c.env, "COMPOSE="+strings.Join(c.program, " "))
	began := time.Now()
	said, err := replace.CombinedOutput()
	cancel()
	clients.Wait()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	for _, server := range []string{"marquee1", "marquee2"} {
		id := strings.TrimSpace(c.do(t, "ps", "-q", server))
		if image, err := exec.Command("docker", "inspect", "--format", "{{.Config.Image}}", id).Output(); err != nil || strings.TrimSpace(string(image)) != next {
			t.Errorf("%s is of %s: %v", server, image, err)
		}
	}
	t.Logf("%d requests were answered in %s", created.Load(), time.Since(began).Round(time.Second))
}

// freeAddress is one that nobody listens at. The compose file publishes fixed
// ports, so that somebody may take it before.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// try runs a command of compose and returns what it says.
func (c *compose) try(args ...string) (said string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.program[0], slices.Concat(c.program[1:], args)...)
	cmd.Env = c.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// do runs a command that must succeed.
func (c *compose) do(t *testing.T, args ...string) string {
	t.Helper()
	said, err := c.try(args...)
	if err != nil {
		t.Fatalf("compose %v: %v\n%s", args, err, said)
	}
	return said
}

// remove takes the project down with its volumes, and shows the logs of a test
// that failed.
func (c *compose) remove(t *testing.T) {
	if t.Failed() {
		said, err := c.try("logs", "--no-color", "--tail", "40")
		t.Logf("the logs (%v):\n%s", err, said)
	}
	if said, err := c.try("down", "--volumes", "--timeout", "5"); err != nil {
		t.Errorf("compose down: %v\n%s", err, said)
	}
}
