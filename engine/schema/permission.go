package schema

import (
	"cmp"
	"slices"

	"marquee/engine/document"
	"marquee/engine/schema/keyword"
)

// The types that grant access.
const (
	roleType = "roles"
	teamType = "teams"
)

// DefaultPermission is required to write types whose schemas name no permission, if
// the application does not name another one.
const DefaultPermission = "MANAGE_OBJECTS"

func (o *Options) defaultPermission() string { return cmp.Or(o.DefaultPermission, DefaultPermission) }

const permissionsAt = "/properties/permissions/items"

// addPermissions adds the default permission and those of the application to the
// permissions that the schema of roles lists.
func (l *loader) addPermissions() {
	roles := l.files[baseURL+roleType+".json"]
	if roles == nil {
		return
	}
	items, _ := document.Lookup(roles.content, permissionsAt).(map[string]any)
	listed, ok := items["enum"].([]any)
	if !ok {
		return
	}
	names := append(slices.Concat(keyword.Strings(listed), l.options.Permissions), l.options.defaultPermission())
	slices.Sort(names)
	permissions := []any{}
	for _, name := range slices.Compact(names) {
		permissions = append(permissions, name)
	}
	items["enum"] = permissions
}

// Permissions lists the permissions that objects of the type, which is roles, can
// hold.
func (t *Type) Permissions() []string {
	items, _ := document.Lookup(t.Source, permissionsAt).(map[string]any)
	return keyword.Strings(items["enum"])
}

// Permissions returns the permissions that roles can hold.
func (r *Registry) Permissions() []string {
	if roles := r.types[roleType]; roles != nil {
		return roles.Permissions()
	}
	return nil
}

// References lists the top-level properties that are lists of references.
func (t *Type) References() (names []string) {
	for name, shape := range t.Shape.Properties {
		if shape.Element != nil && shape.Element.Ref != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
