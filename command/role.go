package command

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"marquee/command/exit"
	"marquee/command/terminal"
)

// roleCommand is marquee role.
type roleCommand struct {
	Add     roleAddCommand   `cmd:"" help:"Create a role."`
	List    roleListCommand  `cmd:"" help:"List the roles of a network."`
	Show    roleShowCommand  `cmd:"" help:"Print a role as JSON."`
	Set     roleSetCommand   `cmd:"" help:"Change the permissions, the scope or the name of a role."`
	Disable roleStateCommand `cmd:"" help:"Disable a role, which grants nothing until it is enabled."`
	Enable  roleStateCommand `cmd:"" help:"Enable a role that was disabled."`
}

// inNetwork is the network of the commands for roles.
type inNetwork struct {
	Network string `env:"-" help:"Id of the network. Not needed if there is only one." placeholder:"NETWORK"`
}

// with runs a function with an operator and the network.
func (n *inNetwork) with(ctx context.Context, f *storeFlags, do func(o *operator, network string) error) error {
	return f.as(ctx, func(o *operator) error {
		network, err := o.network(ctx, n.Network)
		if err != nil {
			return err
		}
		return do(o, network)
	})
}

// namedRole is the argument of the commands for one role.
type namedRole struct {
	inNetwork
	Role string `arg:"" help:"Id or name of the role."`
}

// find returns the path of the role, and its network as parameters.
func (n *namedRole) find(ctx context.Context, o *operator) (path string, within url.Values, err error) {
	network, err := o.network(ctx, n.Network)
	if err != nil {
		return "", nil, err
	}
	id, err := o.role(ctx, network, n.Role)
	return "/api/v1/roles/" + url.PathEscape(id), url.Values{"context": {network}}, err
}

// change writes properties of the role, and adds permissions to those that it grants.
func (n *namedRole) change(ctx context.Context, f *storeFlags, done string, properties map[string]any, added ...string) error {
	return f.as(ctx, func(o *operator) error {
		path, within, err := n.find(ctx, o)
		tag := ""
		if err == nil && len(added) > 0 {
			var stored listedRole
			tag, err = o.callIf(ctx, "", http.MethodGet, path, within, nil, &stored)
			properties["permissions"] = slices.Compact(slices.Sorted(slices.Values(slices.Concat(stored.Permissions, added))))
		}
		if err == nil {
			_, err = o.callIf(ctx, tag, http.MethodPost, path, within, properties, nil)
		}
		if err == nil {
			fmt.Printf("%s the role %s.\n", done, terminal.Printable(n.Role))
		}
		return err
	})
}

// roleFlags are the properties of a role. A permission or scope that does not exist is
// refused by the service, which knows those of the schemas.
type roleFlags struct {
	Permission []string `env:"-" help:"A permission that the role grants; can be repeated." placeholder:"PERMISSION"`
	Scope      string   `env:"-" help:"What holders see: TEAM, the objects of their teams, NETWORK, the whole network, or OWN, what belongs to them." placeholder:"SCOPE"`
}

func (f *roleFlags) properties() map[string]any {
	role := map[string]any{}
	if len(f.Permission) > 0 {
		role["permissions"] = f.Permission
	}
	if f.Scope != "" {
		role["scope"] = strings.ToUpper(f.Scope)
	}
	return role
}

// roleAddCommand is marquee role add.
type roleAddCommand struct {
	storeFlags
	inNetwork
	roleFlags
	Name string `arg:"" help:"Name of the role."`
	ID   string `name:"id" env:"-" help:"Id of the role, instead of a generated one." placeholder:"ID"`
}

func (c *roleAddCommand) Run(ctx context.Context) error {
	return c.with(ctx, &c.storeFlags, func(o *operator, network string) error {
		within, role := url.Values{"context": {network}}, c.properties()
		role["name"] = c.Name
		if c.ID != "" {
			err := o.call(ctx, http.MethodGet, "/api/v1/roles/"+url.PathEscape(c.ID), within, nil, nil)
			if err == nil {
				return fmt.Errorf("there is a role with the id %q already", c.ID)
			}
			if !isMissing(err) {
				return err
			}
			role["id"] = c.ID
		}
		if err := o.call(ctx, http.MethodPost, "/api/v1/roles", within, role, nil); err != nil {
			return err
		}
		fmt.Printf("Created the role %s.\n", terminal.Printable(c.Name))
		return nil
	})
}

// roleSetCommand is marquee role set.
type roleSetCommand struct {
	storeFlags
	namedRole
	roleFlags
	AddPermission []string `env:"-" help:"A permission that the role grants besides those that it grants already; can be repeated." placeholder:"PERMISSION"`
	NoPermissions bool     `env:"-" help:"Take all permissions away from the role."`
	Rename        string   `env:"-" help:"A new name." placeholder:"NAME"`
}

func (c *roleSetCommand) Run(ctx context.Context) error {
	role := c.properties()
	if c.NoPermissions {
		if len(c.Permission)+len(c.AddPermission) > 0 {
			return exit.Usagef("--no-permissions cannot be combined with --permission or --add-permission")
		}
		role["permissions"] = []string{}
	}
	if len(c.AddPermission) > 0 && len(c.Permission) > 0 {
		return exit.Usagef("--add-permission cannot be combined with --permission, which replaces all permissions")
	}
	if c.Rename != "" {
		role["name"] = c.Rename
	}
	if len(role)+len(c.AddPermission) == 0 {
		return exit.Usagef("give --permission, --add-permission, --no-permissions, --scope or --rename")
	}
	return c.change(ctx, &c.storeFlags, "Changed", role, c.AddPermission...)
}

// roleStateCommand is marquee role disable and marquee role enable.
type roleStateCommand struct {
	storeFlags
	namedRole
}

func (c *roleStateCommand) Run(ctx context.Context, parsed *kong.Context) error {
	done, properties := stateOf(parsed)
	return c.change(ctx, &c.storeFlags, done, properties)
}

// roleShowCommand is marquee role show.
type roleShowCommand struct {
	storeFlags
	namedRole
}

func (c *roleShowCommand) Run(ctx context.Context) error {
	return c.as(ctx, func(o *operator) error {
		path, within, err := c.find(ctx, o)
		if err != nil {
			return err
		}
		var role json.RawMessage
		if err := o.call(ctx, http.MethodGet, path, within, nil, &role); err != nil {
			return err
		}
		return terminal.PrintLine(role)
	})
}

// roleListCommand is marquee role list.
type roleListCommand struct {
	storeFlags
	inNetwork
	JSON bool `name:"json" env:"-" help:"Print each role as a line of JSON."`
}

func (c *roleListCommand) Run(ctx context.Context) error {
	return c.with(ctx, &c.storeFlags, func(o *operator, network string) error {
		parameters := url.Values{"context": {network}, "includeHidden": {"true"}, "orderBy": {"name"}, "fields": {"id,name,objectState,scope,permissions"}}
		return list(ctx, o, "/api/v1/roles", parameters, c.JSON, []string{"NAME", "STATE", "SCOPE", "ID", "PERMISSIONS"}, func(role listedRole) []string {
			return []string{role.Name, role.State, role.Scope, role.ID, strings.Join(role.Permissions, ", ")}
		})
	})
}

// listedRole is what a list shows of a role.
type listedRole struct {
	ID, Name, Scope string
	State           string `json:"objectState"`
	Permissions     []string
}
