package command

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"marquee/auth/signing"
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
		return printLine(text)
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return err
	}
	fmt.Println(title)
	table := newTable("STATE", "SIGNS FROM", "CREATED", "ID")
	for _, key := range answer.Keys {
		from := "the next rotation"
		if key.SignsFrom != nil {
			from = key.SignsFrom.Format(time.RFC3339)
		}
		table.row(key.State, from, key.CreateTime.Format(time.RFC3339), key.ID)
	}
	return table.end()
}
