package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"marquee/auth/seal"
	"marquee/auth/signing"
	"marquee/command/exit"
	"marquee/command/terminal"
	"marquee/engine/progress"
	"marquee/engine/store/sqlite"
)

// keyCommand is marquee key.
type keyCommand struct {
	Rotate keyRotateCommand `cmd:"" help:"Let the next key sign access tokens, or replace all keys at once."`
	List   keyListCommand   `cmd:"" help:"List the keys that sign access tokens, without their private parts."`
}

// keyRotateCommand is marquee key rotate.
type keyRotateCommand struct {
	storeFlags
	Revoke bool `env:"-" help:"Replace all keys at once: every access token becomes invalid. For a key that others may know."`
	JSON   bool `name:"json" env:"-" help:"Print JSON."`
}

func (c *keyRotateCommand) Run(ctx context.Context) error {
	path, done := "/operator/keys/rotate", "The signing keys have been rotated."
	if c.Revoke {
		path, done = "/operator/keys/replace", "The signing keys have been replaced: all access tokens are invalid."
	}
	if c.JSON {
		done = ""
	}
	return c.as(ctx, func(o *operator) error { return o.showKeys(ctx, http.MethodPost, path, done) })
}

// keyListCommand is marquee key list.
type keyListCommand struct {
	storeFlags
	JSON bool `name:"json" env:"-" help:"Print JSON."`
}

func (c *keyListCommand) Run(ctx context.Context) error {
	done := "The keys, in the order in which they sign:"
	if c.JSON {
		done = ""
	}
	return c.as(ctx, func(o *operator) error { return o.showKeys(ctx, http.MethodGet, "/operator/keys", done) })
}

// showKeys sends a request that is answered with the keys, and prints these: after a
// title, or as JSON without one.
func (o *operator) showKeys(ctx context.Context, method, path, title string) error {
	var answer struct {
		Keys []signing.Key `json:"keys"`
	}
	var text json.RawMessage
	if err := o.call(ctx, method, path, nil, nil, &text); err != nil {
		return err
	}
	if title == "" {
		return terminal.PrintLine(text)
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return err
	}
	fmt.Println(title)
	table := terminal.NewTable("STATE", "SIGNS FROM", "CREATED", "ID")
	for _, key := range answer.Keys {
		from := "the next rotation"
		if key.SignsFrom != nil {
			from = key.SignsFrom.Format(time.RFC3339)
		}
		table.Row(key.State, from, key.CreateTime.Format(time.RFC3339), key.ID)
	}
	return table.End()
}

// secretsCommand is marquee secrets.
type secretsCommand struct {
	Rotate rotateSecretsCommand `cmd:"" help:"Give the store a new key, and encrypt all secrets with it."`
}

// rotateSecretsCommand is marquee secrets rotate.
type rotateSecretsCommand struct {
	storeFlags
	Wait  time.Duration `default:"30s" help:"How long to wait for a running server to notice the new key." placeholder:"TIME"`
	Quiet bool          `help:"Print nothing but errors."`
}

func (c *rotateSecretsCommand) Run(ctx context.Context) error {
	path := c.keyFile()
	if c.SecretKey != "" {
		keys, err := seal.ParseKeys(c.SecretKey)
		if err != nil {
			return exit.Usagef("--secret-key: %w", err)
		}
		if len(keys) == 1 {
			return exit.Usagef("--secret-key has one key: give the new key and after it, separated by a comma, the one that the store was encrypted with")
		}
		return c.reseal(ctx)
	}
	if sqlitePath(c.Store) == "" {
		return exit.Usagef("on a database, all servers must know the new key before one encrypts with it: give --secret-key NEW,OLD to all of them, and then to this command")
	}
	keys, err := seal.ReadKeyFiles(path)
	if err != nil {
		return fmt.Errorf("the key file cannot be read: %w", exit.Cause(err))
	}
	if err := seal.RotateKeyFile(path); err != nil {
		return fmt.Errorf("the key file cannot be replaced: %w", exit.Cause(err))
	}
	c.say("%s has a new key; %s keeps %s", path, seal.RetiredKeys(path), progress.Counted(int64(len(keys)), "key")+" from before")
	err = c.reseal(ctx)
	if errors.Is(err, sqlite.ErrInUse) {
		err = c.await(ctx, path)
	}
	if err != nil {
		return err
	}
	c.say("backups from before need %s: delete it together with them", seal.RetiredKeys(path))
	return nil
}

// reseal encrypts the secrets of a store that no other process has open, or that is a
// database.
func (c *rotateSecretsCommand) reseal(ctx context.Context) error {
	s, err := c.openExisting(ctx, "which has no secrets before it exists")
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.reseal(ctx, c.show); err != nil {
		return fmt.Errorf("not all secrets are encrypted with the new key yet; run the command again: %w", exit.InterruptedBy(ctx, err))
	}
	return nil
}

// await waits until the server that has the store open has encrypted its secrets.
func (c *rotateSecretsCommand) await(ctx context.Context, path string) error {
	keys, err := seal.ReadKeyFiles(path)
	if err != nil {
		return err
	}
	sealer, err := seal.New(keys...)
	if err != nil {
		return err
	}
	began, last := time.Now(), resealing{}
	ticks := time.NewTicker(resealingInterval / 4)
	defer ticks.Stop()
	for {
		state := readResealing(path)
		switch {
		case state.Key != sealer.KeyID():
			if time.Since(began) > c.Wait {
				return errors.New("the process that has the store open does not use the new key: it was started with --secret-key, or is no server of this version; stop it and run the command again")
			}
		case state.Complete:
			c.show(state)
			return nil
		case state.Error != "" && state.Error != last.Error:
			return errors.New("the server could not encrypt all secrets with the new key, and tries again: " + state.Error)
		case state.Records != last.Records:
			c.show(state)
		}
		last = state
		select {
		case <-ctx.Done():
			return exit.InterruptedBy(ctx, ctx.Err())
		case <-ticks.C:
		}
	}
}

func (c *rotateSecretsCommand) show(state resealing) {
	switch {
	case state.Complete:
		c.say("all secrets are encrypted with the new key: %s rewritten", progress.Counted(state.Resealed, "record"))
	case state.Total > 0:
		c.say("looked at %s of %s", progress.Grouped(state.Records), progress.Counted(state.Total, "record"))
	}
}

func (c *rotateSecretsCommand) say(format string, args ...any) {
	if !c.Quiet {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
	}
}
