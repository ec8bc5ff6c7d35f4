package schema

import (
	"cmp"
	"regexp"
	"slices"

	"marquee/engine/document"
	"marquee/engine/schema/keyword"
)

// The types that grant access.
const (
	roleType = "roles"
	teamType = "teams"
	userType = "users"
)

// DefaultPermission is required to write types whose schemas name no permission, if
// the application does not name another one.
const DefaultPermission = "MANAGE_OBJECTS"

func (o *Options) defaultPermission() string { return cmp.Or(o.DefaultPermission, DefaultPermission) }

// AllPermissions is the permission that stands for every other one.
const AllPermissions = keyword.AllPermissions

const permissionsAt = "/properties/permissions/items"

// permissionName is the form of permissions that schemas declare by their use.
var permissionName = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`)

// addPermissions adds to the permissions that the schema of roles lists the default one,
// those of the application, and those that types use.
func (l *loader) addPermissions() {
	roles := l.files[roleType+".json"]
	if roles == nil {
		return
	}
	items, _ := document.Lookup(roles.Content, permissionsAt).(map[string]any)
	listed, ok := items["enum"].([]any)
	if !ok {
		return
	}
	names := append(slices.Concat(keyword.Strings(listed), l.options.Permissions), l.options.defaultPermission())
	names = slices.DeleteFunc(names, func(name string) bool { return name == AllPermissions })
	slices.Sort(names)
	l.builtIn = slices.Compact(names)
	names = slices.Concat(l.builtIn, l.declaredPermissions())
	slices.Sort(names)
	items["enum"] = append([]any{AllPermissions}, document.Array(slices.Compact(names))...)
}

// declaredPermissions returns the permissions that types use.
func (l *loader) declaredPermissions() (names []string) {
	add := func(value any) {
		if name, _ := value.(string); permissionName.MatchString(name) && name != AllPermissions {
			names = append(names, name)
		}
	}
	for _, f := range l.files {
		resource, _ := f.Content["x-resource"].(map[string]any)
		add(resource["permission"])
		several, _ := resource["permissions"].(map[string]any)
		for _, name := range several {
			add(name)
		}
		walkFile(f, func(_ string, schema map[string]any) {
			for _, k := range keyword.OfValues() {
				if k.Permissions != nil && schema[k.Name] != nil {
					for _, name := range k.Permissions(schema[k.Name]) {
						add(name)
					}
				}
			}
		})
	}
	return names
}

// withUndeclaredPermissions makes the schema with which roles are validated accept
// permissions that are no longer declared, which roles keep. The rules for roles refuse
// them where they are added.
func withUndeclaredPermissions(content map[string]any) any {
	prepared := document.Clone(content)
	if items, ok := document.Lookup(prepared, permissionsAt).(map[string]any); ok {
		delete(items, "enum")
	}
	return prepared
}

// Permissions lists the permissions that objects of the type, which is roles, can
// hold, without AllPermissions.
func (t *Type) Permissions() []string {
	items, _ := document.Lookup(t.Source, permissionsAt).(map[string]any)
	return slices.DeleteFunc(keyword.Strings(items["enum"]), func(name string) bool { return name == AllPermissions })
}

// BuiltInPermissions lists the permissions that objects of the type, which is roles, can
// hold whatever types use.
func (t *Type) BuiltInPermissions() []string { return t.builtIn }

// BuiltInPermissions returns the permissions that roles can hold whatever types use.
func (r *Registry) BuiltInPermissions() []string {
	if roles := r.types[roleType]; roles != nil {
		return roles.builtIn
	}
	return nil
}

// WritePermission returns the permission that is required to write an object of the type
// that exists, or to create one.
func (t *Type) WritePermission(exists bool) string {
	if exists {
		return t.Permission
	}
	return t.Create
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
