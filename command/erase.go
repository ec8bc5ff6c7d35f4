package command

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"marquee/command/terminal"
)

// eraseCommand is marquee erase.
type eraseCommand struct {
	storeFlags
	Type    string `arg:"" help:"Type of the object, such as users."`
	ID      string `arg:"" name:"id" help:"Id of the object."`
	Network string `env:"-" help:"Id of the network of the object. Not needed if there is only one network, nor for a type without networks, such as users." placeholder:"NETWORK"`
	JSON    bool   `name:"json" env:"-" help:"Print JSON."`
}

// erased is the answer to an erasure.
type erased struct {
	Type       string   `json:"type"`
	ID         string   `json:"id"`
	Properties []string `json:"properties"`
	Complete   bool     `json:"complete"`
}

func (c *eraseCommand) Run(ctx context.Context) error {
	return c.as(ctx, func(o *operator) error {
		within := url.Values{}
		network, several := o.network(ctx, c.Network)
		switch {
		case several == nil:
			within.Set("context", network)
		case c.Network != "":
			return several
		}
		var done erased
		err := o.call(ctx, http.MethodPost, "/api/v1/"+url.PathEscape(c.Type)+"/"+url.PathEscape(c.ID)+"/erase", within, nil, &done)
		if err != nil && several != nil { // which matters only for a type in networks
			return errors.Join(err, several)
		} else if err != nil {
			return err
		}
		if c.JSON {
			return terminal.PrintJSON(done)
		}
		fmt.Println(done.String())
		return nil
	})
}

// String says what was removed.
func (e erased) String() string {
	text := "Erased " + terminal.Printable(e.Type) + " " + terminal.Printable(e.ID)
	if len(e.Properties) == 0 {
		text += ", which had no personal values any more"
	} else {
		text += ": " + listed(e.Properties)
	}
	if !e.Complete {
		return text + ". The rest follows while the store is served, or with the same command again."
	}
	return text + "."
}
