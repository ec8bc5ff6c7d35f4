package command

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"marquee/command/exit"
	"marquee/command/terminal"
)

// tokenCommand is marquee token.
type tokenCommand struct {
	Add    tokenAddCommand    `cmd:"" help:"Create an API token and print it once."`
	List   tokenListCommand   `cmd:"" help:"List the API tokens of a network, without the tokens themselves."`
	Revoke tokenRevokeCommand `cmd:"" help:"Revoke an API token permanently."`
}

// tokenAddCommand is marquee token add.
type tokenAddCommand struct {
	storeFlags
	inNetwork
	Name string `arg:"" help:"Name of the token, such as the program that uses it."`
	User string `required:"" env:"-" help:"Username of the user to whom the token belongs. The user must manage the network and hold every permission of the role." placeholder:"USERNAME"`
	Role string `required:"" env:"-" help:"Id or name of the role whose rights the token has." placeholder:"ROLE"`
	Days *int   `env:"-" help:"Days until the token expires (default 90, at most 366)." placeholder:"DAYS"`
	JSON bool   `name:"json" env:"-" help:"Print JSON."`
}

// createdToken is what is printed of a new token.
type createdToken struct {
	ID         string `json:"id"`
	Token      string `json:"token"`
	ExpiryTime string `json:"expiryTime"`
}

func (c *tokenAddCommand) Run(ctx context.Context) error {
	if c.Days != nil && *c.Days < 1 {
		return exit.Usagef("--days must be at least 1")
	}
	return c.with(ctx, &c.storeFlags, func(o *operator, network string) error {
		role, err := o.role(ctx, network, c.Role)
		if err != nil {
			return err
		}
		if o.user, err = (&namedUser{c.User}).id(ctx, o); err != nil {
			return err
		}
		token := map[string]any{"name": c.Name, "role": role}
		if c.Days != nil {
			token["expiryTime"] = time.Now().AddDate(0, 0, *c.Days).UTC().Format(time.RFC3339)
		}
		var made struct{ Results []createdToken }
		if err := o.call(ctx, http.MethodPost, "/api/v1/tokens", url.Values{"context": {network}}, []any{token}, &made); err != nil {
			return err
		}
		if len(made.Results) != 1 || made.Results[0].Token == "" {
			return errors.New("the response does not contain a token")
		}
		created := made.Results[0]
		if c.JSON {
			return terminal.PrintJSON(created)
		}
		fmt.Printf("Created the token %s with the id %s. It expires at %s.\nThe token is %s — keep it: it cannot be shown again.\n",
			terminal.Printable(c.Name), created.ID, created.ExpiryTime, created.Token)
		return nil
	})
}

// tokenListCommand is marquee token list.
type tokenListCommand struct {
	storeFlags
	inNetwork
	JSON bool `name:"json" env:"-" help:"Print each token as a line of JSON."`
}

func (c *tokenListCommand) Run(ctx context.Context) error {
	return c.with(ctx, &c.storeFlags, func(o *operator, network string) error {
		parameters := url.Values{"context": {network}, "fields": {"id,name,objectState,role,createUser,expiryTime,lastUsedTime"}, "includeHidden": {"true"}, "orderBy": {"name"}}
		return list(ctx, o, "/api/v1/tokens", parameters, c.JSON, []string{"NAME", "STATE", "ID", "ROLE", "USER", "EXPIRES", "LAST USED"}, func(t listedToken) []string {
			return []string{t.Name, t.State, t.ID, t.Role.String(), t.CreateUser.String(), t.ExpiryTime, t.LastUsedTime}
		})
	})
}

// listedToken is what a list shows of a token.
type listedToken struct {
	ID, Name                 string
	State                    string `json:"objectState"`
	Role, CreateUser         reference
	ExpiryTime, LastUsedTime string
}

// tokenRevokeCommand is marquee token revoke.
type tokenRevokeCommand struct {
	storeFlags
	inNetwork
	ID string `arg:"" help:"Id of the token, as ${program} token list prints it."`
}

func (c *tokenRevokeCommand) Run(ctx context.Context) error {
	return c.with(ctx, &c.storeFlags, func(o *operator, network string) error {
		path, within := "/api/v1/tokens/"+url.PathEscape(c.ID), url.Values{"context": {network}}
		err := o.call(ctx, http.MethodGet, path, within, nil, nil)
		if isMissing(err) {
			return fmt.Errorf("there is no token with the id %q in the network %q", c.ID, network)
		}
		if err == nil {
			err = o.call(ctx, http.MethodPost, path, within, map[string]any{"objectState": "INACTIVE"}, nil)
		}
		if err == nil {
			fmt.Printf("Revoked the token %s.\n", terminal.Printable(c.ID))
		}
		return err
	})
}
