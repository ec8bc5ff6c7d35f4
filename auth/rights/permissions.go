package rights

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// granted returns the permissions that a role grants. A role of scope NETWORK with all
// built-in permissions grants every permission, as the roles of administrators did
// before schemas could declare permissions.
func granted(scope any, permissions, builtIn []string) []string {
	if scope != networkScope || len(builtIn) == 0 || len(without(builtIn, permissions)) > 0 || slices.Contains(permissions, schema.AllPermissions) {
		return permissions
	}
	return append(slices.Clip(permissions), schema.AllPermissions)
}

// grantedBy is granted for a role as hooks see it.
func grantedBy(role map[string]any, roles *schema.Type) []string {
	return granted(role["scope"], document.Strings(role["permissions"]), roles.BuiltInPermissions())
}

// makesManager reports whether a role with some permissions makes managers of its network,
// if it has scope NETWORK.
func makesManager(permissions []string) bool {
	return slices.Contains(permissions, ManageSystem) || slices.Contains(permissions, schema.AllPermissions)
}

// AdministratorPermissions are those of the first role of a network. Programs that know
// the built-in permissions alone find them by their names.
func AdministratorPermissions(roles *schema.Type) []any {
	return document.Array(append([]string{schema.AllPermissions}, roles.BuiltInPermissions()...))
}

// checkDeclared rejects permissions that are added to a role and that no schema declares.
// A role keeps those that were declared when it got them.
func checkDeclared(w *engine.Writing, c *engine.Change) {
	declared := append([]string{schema.AllPermissions}, c.Type.Permissions()...)
	before := document.Strings(c.Before["permissions"])
	list, _ := c.After["permissions"].([]any)
	for i, item := range list {
		if name, is := item.(string); is && !slices.Contains(declared, name) && !slices.Contains(before, name) {
			w.Add(c.Fault(message.ValueEnum, "/permissions/"+strconv.Itoa(i), message.Params{"allowed": strings.Join(declared, ", ")}))
		}
	}
}

// warnUndeclared adds a warning to roles for each permission that no schema declares any
// more.
func warnUndeclared(_ context.Context, r *engine.Reading, records []*store.Record) error {
	roles, _ := r.Type("roles")
	for _, record := range records {
		var role roleDocument
		if err := json.Unmarshal(record.Document, &role); err != nil {
			return err
		}
		declared := roles.Permissions()
		for i, name := range role.Permissions {
			if name == schema.AllPermissions || slices.Contains(declared, name) {
				continue
			}
			r.Warn(record, message.WarnPermissionUndeclared.With(message.Params{"field": "/permissions/" + strconv.Itoa(i), "value": name}))
		}
	}
	return nil
}
