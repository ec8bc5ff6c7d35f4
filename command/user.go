package command

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/alecthomas/kong"

	"marquee/command/exit"
	"marquee/command/terminal"
	"marquee/engine/progress"
)

// userCommand is marquee user.
type userCommand struct {
	Add     userAddCommand    `cmd:"" help:"Create a user."`
	Passwd  userPasswdCommand `cmd:"" help:"Set the password of a user, which ends all sessions of the user."`
	Disable userStateCommand  `cmd:"" help:"Disable a user, whose tokens stop working."`
	Enable  userStateCommand  `cmd:"" help:"Enable a user who was disabled."`
	List    userListCommand   `cmd:"" help:"List the users."`
	Logout  userLogoutCommand `cmd:"" help:"End all sessions of a user, or of all users."`
}

// namedUser is the argument of the commands for one user.
type namedUser struct {
	Username string `arg:"" help:"Name that the user signs in with."`
}

// id returns the id of the user.
func (n *namedUser) id(ctx context.Context, o *operator) (string, error) {
	var user struct {
		ID string `json:"id"`
	}
	err := o.call(ctx, http.MethodGet, "/operator/user", url.Values{"username": {n.Username}}, nil, &user)
	if isMissing(err) {
		return "", fmt.Errorf("there is no user %q", n.Username)
	}
	return user.ID, err
}

// change writes properties of the user.
func (n *namedUser) change(ctx context.Context, o *operator, properties map[string]any) error {
	id, err := n.id(ctx, o)
	if err != nil {
		return err
	}
	return o.call(ctx, http.MethodPost, "/api/v1/users/"+url.PathEscape(id), nil, properties, nil)
}

// userAddCommand is marquee user add.
type userAddCommand struct {
	storeFlags
	namedUser
	terminal.PasswordFlags
	NoPassword bool     `env:"-" help:"Create the user without a password: nobody can sign in as this user until one is set."`
	Name       string   `env:"-" help:"Full name of the user." placeholder:"TEXT"`
	Role       []string `env:"-" sep:"none" help:"A role that the user gets, by its id or name; can be repeated. At least one is needed." placeholder:"ROLE"`
	Network    []string `env:"-" sep:"none" help:"Id of the network of the role: one for all roles, or one for each. Not needed if there is only one network." placeholder:"NETWORK"`
	JSON       bool     `name:"json" env:"-" help:"Print JSON."`
}

func (c *userAddCommand) Run(ctx context.Context) error {
	if c.NoPassword && (c.PasswordFile != "" || c.GeneratePassword) {
		return exit.Usagef("--no-password cannot be combined with a password")
	}
	if len(c.Network) > 1 && len(c.Network) != len(c.Role) {
		return exit.Usagef("give one --network for all roles, or one for each --role")
	}
	if len(c.Role) == 0 {
		return exit.Usagef("--role is missing: nobody sees a user who has no role, and nobody could add one")
	}
	user := map[string]any{"username": c.Username}
	if c.Name != "" {
		user["name"] = c.Name
	}
	if !c.NoPassword {
		password, err := c.Password(ctx)
		if err != nil {
			return err
		}
		user["password"] = password
	}
	return c.as(ctx, func(o *operator) error {
		var err error
		if user["userRoles"], err = c.roles(ctx, o); err != nil {
			return err
		}
		var made struct {
			ID       string `json:"id"`
			Username string `json:"username"`
			Password string `json:"password,omitempty"`
		}
		if err := o.call(ctx, http.MethodPost, "/api/v1/users", nil, user, nil); err != nil {
			return err
		}
		if made.ID, err = c.id(ctx, o); err != nil {
			return err
		}
		made.Username = c.Username
		if c.GeneratePassword {
			made.Password, _ = user["password"].(string)
		}
		if c.JSON {
			return terminal.PrintJSON(made)
		}
		fmt.Printf("Created the user %s with the id %s.\n", terminal.Printable(c.Username), made.ID)
		c.Show(made.Password)
		return nil
	})
}

// roles returns the userRoles of the new user.
func (c *userAddCommand) roles(ctx context.Context, o *operator) (map[string]any, error) {
	byNetwork := map[string][]any{}
	entries := []any{}
	for i, name := range c.Role {
		given := ""
		switch len(c.Network) {
		case 0:
		case 1:
			given = c.Network[0]
		default:
			given = c.Network[i]
		}
		network, err := o.network(ctx, given)
		if err != nil {
			return nil, err
		}
		role, err := o.role(ctx, network, name)
		if err != nil {
			return nil, err
		}
		byNetwork[network] = append(byNetwork[network], map[string]any{"role": role})
	}
	for network, roles := range byNetwork {
		entries = append(entries, map[string]any{"network": network, "roles": roles})
	}
	return map[string]any{"rolesByNetwork": entries}, nil
}

// network returns the id of a network: the given one, or else the only one.
func (o *operator) network(ctx context.Context, given string) (string, error) {
	switch ids, err := o.networks(ctx, given); {
	case err != nil:
		return "", err
	case len(ids) == 1:
		return ids[0], nil
	case len(ids) > 1:
		return "", exit.Usagef("there are several networks: name one with --network")
	case given != "":
		return "", fmt.Errorf("there is no network %q", given)
	}
	return "", errors.New("there is no network")
}

// role returns the id of a role of a network, which is given by its id or its name.
func (o *operator) role(ctx context.Context, network, name string) (string, error) {
	within := url.Values{"context": {network}}
	err := o.call(ctx, http.MethodGet, "/api/v1/roles/"+url.PathEscape(name), within, nil, nil)
	if err == nil {
		return name, nil
	}
	if !isMissing(err) {
		return "", err
	}
	var ids []string
	within.Set("fields", "id,name")
	within.Set("includeHidden", "true")
	err = each(ctx, o, "/api/v1/roles", within, func(role reference) error {
		if role.Name == name {
			ids = append(ids, role.ID)
		}
		return nil
	})
	switch {
	case err != nil:
		return "", err
	case len(ids) == 0:
		return "", fmt.Errorf("there is no role %q in the network %q", name, network)
	case len(ids) > 1:
		return "", exit.Usagef("several roles of the network %q have the name %q: give the id, which is one of %s", network, name, listed(ids))
	}
	return ids[0], nil
}

// userPasswdCommand is marquee user passwd.
type userPasswdCommand struct {
	storeFlags
	namedUser
	terminal.PasswordFlags
}

func (c *userPasswdCommand) Run(ctx context.Context) error {
	password, err := c.Password(ctx)
	if err != nil {
		return err
	}
	return c.as(ctx, func(o *operator) error {
		if err := c.change(ctx, o, map[string]any{"password": password}); err != nil {
			return err
		}
		fmt.Printf("Set the password of %s.\n", terminal.Printable(c.Username))
		c.Show(password)
		return nil
	})
}

// userStateCommand is marquee user disable and marquee user enable.
type userStateCommand struct {
	storeFlags
	namedUser
}

func (c *userStateCommand) Run(ctx context.Context, parsed *kong.Context) error {
	done, properties := stateOf(parsed)
	return c.as(ctx, func(o *operator) error {
		err := c.change(ctx, o, properties)
		if err == nil {
			fmt.Printf("%s the user %s.\n", done, terminal.Printable(c.Username))
		}
		return err
	})
}

// stateOf returns what a command by the name of disable or enable does to an object.
func stateOf(parsed *kong.Context) (done string, properties map[string]any) {
	if parsed.Selected().Name == "disable" {
		return "Disabled", map[string]any{"objectState": "INACTIVE"}
	}
	return "Enabled", map[string]any{"objectState": "ACTIVE"}
}

// userListCommand is marquee user list.
type userListCommand struct {
	storeFlags
	Network string `env:"-" help:"Only users with a role in this network." placeholder:"NETWORK"`
	JSON    bool   `name:"json" env:"-" help:"Print each user as a line of JSON."`
}

// listedUser is what a list shows of a user.
type listedUser struct {
	ID        string `json:"id"`
	Username  string `json:"username"`
	Name      string `json:"name"`
	State     string `json:"objectState"`
	UserRoles struct {
		RolesByNetwork []struct {
			Network reference `json:"network"`
			Roles   []struct {
				Role reference `json:"role"`
			} `json:"roles"`
		} `json:"rolesByNetwork"`
	} `json:"userRoles"`
}

// reference is a reference to another object.
type reference struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// String returns the name of the object, or else its id.
func (r reference) String() string {
	if r.Name != "" {
		return r.Name
	}
	return r.ID
}

func (c *userListCommand) Run(ctx context.Context) error {
	parameters := url.Values{"fields": {"id,username,name,objectState,userRoles"}, "includeHidden": {"true"}, "orderBy": {"username"}}
	if c.Network != "" {
		parameters.Set("context", c.Network)
	}
	return c.as(ctx, func(o *operator) error {
		if c.Network != "" {
			if _, err := o.network(ctx, c.Network); err != nil {
				return err
			}
		}
		return list(ctx, o, "/api/v1/users", parameters, c.JSON, []string{"USERNAME", "NAME", "STATE", "ID", "ROLES"}, func(u listedUser) []string {
			var roles []string
			for _, entry := range u.UserRoles.RolesByNetwork {
				for _, held := range entry.Roles {
					roles = append(roles, entry.Network.ID+": "+held.Role.String())
				}
			}
			return []string{u.Username, u.Name, u.State, u.ID, strings.Join(roles, ", ")}
		})
	})
}

// userLogoutCommand is marquee user logout.
type userLogoutCommand struct {
	storeFlags
	Username string `arg:"" optional:"" help:"Name that the user signs in with."`
	All      bool   `env:"-" help:"End the sessions of all users."`
}

func (c *userLogoutCommand) Run(ctx context.Context) error {
	if c.All == (c.Username != "") {
		return exit.Usagef("name a user, or give --all")
	}
	return c.as(ctx, func(o *operator) error {
		logout := func(id string) error {
			return o.call(ctx, http.MethodPost, "/api/v1/users/"+url.PathEscape(id)+"/logout", nil, nil, nil)
		}
		if !c.All {
			id, err := (&namedUser{c.Username}).id(ctx, o)
			if err == nil {
				err = logout(id)
			}
			if err == nil {
				fmt.Printf("Ended all sessions of %s.\n", terminal.Printable(c.Username))
			}
			return err
		}
		var n int64
		err := each(ctx, o, "/api/v1/users", url.Values{"fields": {"id"}, "includeHidden": {"true"}}, func(user reference) error {
			n++
			return logout(user.ID)
		})
		if err == nil {
			fmt.Printf("Ended all sessions of %s.\n", progress.Counted(n, "user"))
		}
		return err
	})
}
