package command

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"marquee/client"
	"marquee/command/exit"
)

// tailCommand is marquee tail.
type tailCommand struct {
	Types     []string `arg:"" optional:"" name:"type" help:"Resource types; all when none is named."`
	URL       string   `default:"http://127.0.0.1:8080" env:"-" help:"Where the service listens." placeholder:"URL"`
	Context   string   `env:"-" help:"Id of the network; without it, the changes are those of global types." placeholder:"NETWORK"`
	Include   string   `enum:"changes,object,none" default:"object" env:"-" help:"What is printed of a change: changes, object or none." placeholder:"WHAT"`
	Position  string   `env:"-" help:"File that the position is kept in. Changes after it are printed, and all changes if it does not exist." placeholder:"FILE"`
	Once      bool     `env:"-" help:"End when all changes have been printed."`
	Token     string   `help:"API token to read with." placeholder:"TOKEN" secret:""`
	TokenFile string   `help:"File with that token." placeholder:"FILE"`
}

// Run prints changes until it is interrupted. The position is kept when the changes before it have
// been printed, so that none is left out by the next run.
func (c *tailCommand) Run(ctx context.Context) error {
	if c.Token == "" {
		return exit.Usagef("give an API token in the variable MARQUEE_TOKEN, or with --token-file")
	}
	server, err := client.New(c.URL, client.Options{Tokens: client.Tokens{Access: c.Token}})
	if err != nil {
		return exit.Usagef("--url must be an http or https URL, such as http://127.0.0.1:8080")
	}
	position, err := c.begin()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	for {
		var page struct {
			Results  []json.RawMessage `json:"results"`
			Position string            `json:"position"`
			More     bool              `json:"more"`
			Reset    string            `json:"reset"`
		}
		err := server.Do(ctx, http.MethodGet, c.path(position), nil, &page)
		var refused *client.Error
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case client.HasCode(err, client.CodePositionInvalid):
			return c.refused()
		case errors.As(err, &refused) && refused.Status < http.StatusInternalServerError && refused.Status != http.StatusTooManyRequests:
			return ofClient(err)
		case err != nil:
			fmt.Fprintf(os.Stderr, "%s: %v; trying again\n", programName, ofClient(err))
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
			continue
		}
		for _, event := range page.Results {
			_, _ = out.Write(append(event, '\n')) // Flush has the error
		}
		if page.Reset != "" {
			_, _ = fmt.Fprintf(out, "{\"kind\":\"reset\",\"reason\":%q,\"position\":%q}\n", page.Reset, page.Position)
		}
		if err := out.Flush(); err != nil {
			return err
		}
		if position = page.Position; c.Position != "" {
			if err := keepPosition(c.Position, position); err != nil {
				return err
			}
		}
		if c.Once && !page.More && page.Reset == "" {
			return nil
		}
	}
}

// ofClient returns an error without the names with which the client package begins its errors,
// because the program prints its own name before each error.
func ofClient(err error) error {
	var refused *client.Error
	if errors.As(err, &refused) {
		err = refused
	}
	text := strings.TrimPrefix(exit.Cause(err).Error(), "client: ")
	return errors.New(strings.TrimPrefix(text, "marquee: "))
}

// refused says that the service does not accept the position.
func (c *tailCommand) refused() error {
	const text = "the position was made for other types or another network, token or service, or before a restore"
	if c.Position == "" {
		return errors.New(text)
	}
	return fmt.Errorf(text+": remove %s to begin again", c.Position)
}

// begin returns the position to begin at.
func (c *tailCommand) begin() (string, error) {
	if c.Position != "" {
		kept, err := os.ReadFile(c.Position)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return strings.TrimSpace(string(kept)), err
		}
	}
	return "begin", nil
}

// path is that of the changes after a position.
func (c *tailCommand) path(position string) string {
	query := url.Values{"after": {position}, "include": {c.Include}, "limit": {"500"}}
	if len(c.Types) > 0 {
		query.Set("type", strings.Join(c.Types, ","))
	}
	if c.Context != "" {
		query.Set("context", c.Context)
	}
	if !c.Once {
		query.Set("wait", strconv.Itoa(25))
	}
	return "/api/v1/changes?" + query.Encode()
}

// keepPosition replaces a file by one with the position. What a run that was killed has left beside
// the file is removed.
func keepPosition(file, position string) error {
	name := file + ".partial"
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	partial, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // #nosec G304 -- the operator chooses the file
	if err != nil {
		return err
	}
	_, err = partial.WriteString(position + "\n")
	if err = errors.Join(err, partial.Sync(), partial.Close()); err == nil {
		err = os.Rename(name, file)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}
