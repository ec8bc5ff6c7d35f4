package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"marquee"
)

// healthCommand is marquee health. An image without a shell has no other way
// to tell whether the service in it is ready.
type healthCommand struct {
	URL string `default:"http://127.0.0.1:8080" help:"Where the service listens." placeholder:"URL"`
}

const (
	healthTimeout = marquee.ReadyTimeout + 2*time.Second
	healthBytes   = 8 << 10
)

// Help implements kong.HelpProvider.
func (healthCommand) Help() string {
	return examples("marquee health", "marquee health --url http://127.0.0.1:8081")
}

func (c *healthCommand) Run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.URL, "/")+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("the service does not answer: %w", err)
	}
	defer response.Body.Close()
	reason, err := io.ReadAll(io.LimitReader(response.Body, healthBytes))
	if err != nil {
		return fmt.Errorf("the service does not answer to the end: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the service is not ready: %s: %s", response.Status, reason)
	}
	fmt.Println(strings.TrimSpace(string(reason)))
	return nil
}
