package containers

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/exec"
	"github.com/testcontainers/testcontainers-go/wait"
)

const password = "correct horse, battery & staple's"

// secretKey is what servers of one database share.
var secretKey = base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))

// service is a container of the service, or its published address.
type service struct {
	*testcontainers.DockerContainer
	url    string
	token  string
	client *http.Client
}

// serve starts the image and waits until it is ready.
func serve(t *testing.T, options ...testcontainers.ContainerCustomizer) *service {
	t.Helper()
	options = append([]testcontainers.ContainerCustomizer{
		testcontainers.WithEnv(map[string]string{"MARQUEE_BOOTSTRAP_PASSWORD": password}),
		testcontainers.WithExposedPorts("8080/tcp"),
		testcontainers.WithWaitStrategyAndDeadline(patience, wait.ForHTTP("/readyz").WithPort("8080/tcp")),
	}, options...)
	s := &service{DockerContainer: run(t, marqueeImage, options...)}
	s.find(t)
	return s
}

// find asks where the container's port is published: a start may change it.
func (s *service) find(t *testing.T) {
	t.Helper()
	address, err := s.PortEndpoint(t.Context(), "8080/tcp", "http")
	if err != nil {
		t.Fatal(err)
	}
	s.at(address)
}

func (s *service) at(address string) {
	s.url = address
	s.client = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
}

// stopAndStart restarts a container as an operator does.
func stopAndStart(t *testing.T, c *testcontainers.DockerContainer) {
	t.Helper()
	stop(t, c)
	start(t, c)
}

func stop(t *testing.T, c *testcontainers.DockerContainer) {
	t.Helper()
	within := time.Minute
	if err := c.Stop(t.Context(), &within); err != nil {
		t.Fatal(err)
	}
}

func start(t *testing.T, c *testcontainers.DockerContainer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
}

// exec runs the program within the container.
func (s *service) exec(t *testing.T, args ...string) (code int, said string) {
	t.Helper()
	code, out, err := s.Exec(t.Context(), append([]string{"/marquee"}, args...), exec.Multiplexed())
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	return code, string(content)
}

func logs(c *testcontainers.DockerContainer) string {
	out, err := c.Logs(context.Background())
	if err != nil {
		return err.Error()
	}
	defer out.Close()
	content, err := io.ReadAll(out)
	if err != nil {
		return err.Error()
	}
	return string(content)
}

// send sends a request and returns the body of an answer of success.
func (s *service) send(ctx context.Context, method, path, contentType, body string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", contentType)
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, response.Status, content)
	}
	return content, err
}

func (s *service) signIn(t *testing.T, password string) {
	t.Helper()
	form := url.Values{"grant_type": {"password"}, "scope": {"ng_api"}, "username": {"admin"}, "password": {password}}
	content, err := s.send(t.Context(), http.MethodPost, "/api/authenticate", "application/x-www-form-urlencoded", form.Encode())
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal(content, &answer); err != nil || answer.Token == "" {
		t.Fatalf("no token in %s: %v", content, err)
	}
	s.token = answer.Token
}

// create stores an advertiser and an order that refers to it, in one call.
func (s *service) create(ctx context.Context, id string) error {
	_, err := s.send(ctx, http.MethodPost, "/api/v1/batch?context=main", "application/json", fmt.Sprintf(`{"operations": [
		{"type": "orders", "object": {"id": %[1]q, "name": %[1]q, "advertiser": %[1]q}},
		{"type": "advertisers", "object": {"id": %[1]q, "name": %[1]q}}]}`, id))
	return err
}

// holds checks that the orders are those, with their advertisers.
func (s *service) holds(t *testing.T, ids ...string) {
	t.Helper()
	content, err := s.send(t.Context(), http.MethodGet, "/api/v1/orders?context=main&orderBy=id&fields=id,advertiser.name", "", "")
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Results []struct {
			ID         string
			Advertiser struct{ Name string }
		}
	}
	if err := json.Unmarshal(content, &list); err != nil {
		t.Fatalf("%v in %s", err, content)
	}
	var found []string
	for _, order := range list.Results {
		if order.Advertiser.Name != order.ID {
			t.Errorf("the advertiser of %s is %q", order.ID, order.Advertiser.Name)
		}
		found = append(found, order.ID)
	}
	if !slices.Equal(found, ids) {
		t.Errorf("the orders are %v instead of %v", found, ids)
	}
}

// within tries until it succeeds.
func within(t *testing.T, limit time.Duration, what string, try func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not after %s: %v", what, limit, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
