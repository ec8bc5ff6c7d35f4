package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"marquee/engine/query"
)

// OwnerPath leads from an object to its owners: to teams, or objects that teams refer to
// (x-resource.team), or to users (x-resource.owner).
type OwnerPath struct {
	// Hops lead from reference to reference. Without any, the owner has the id of the object.
	Hops []Hop `json:"hops"`
	// Owner is the type of the owners.
	Owner string `json:"owner"`
	// Own reports whether the owners are users, by x-resource.owner.
	Own bool `json:"own,omitempty"`
}

// Value returns the value of OwnerField that objects have if the path leads them to the
// owner with an id.
func (p OwnerPath) Value(id string) string {
	if p.Own {
		return OwnValue(id)
	}
	return OwnerValue(p.Owner, id)
}

// Hop is one reference on a path.
type Hop struct {
	Property string `json:"property"`
	// Type is the type that the property refers to; Global reports whether it is
	// global.
	Type   string `json:"type"`
	Global bool   `json:"global,omitempty"`
}

// OwnerPaths returns the paths to the owners of an object: those of Team, of which the
// first that is set counts, and those of Owner, of which likewise the first counts.
func (t *Type) OwnerPaths() []OwnerPath { return t.ownerPaths }

// OwnerField returns the field that finds objects by their owners. Its values are those of
// OwnerPath.Value, ViaValue, Unowned and Undecided. Its key depends on the paths and on what
// they lead through, so that objects can be found by two sets of paths while they change.
func (t *Type) OwnerField() query.Field { return t.ownerField }

// Named returns the properties of teams, and of roles, that name owners of a type.
func (t *Type) Named(owner string) []string { return t.named[owner] }

// Indirect reports whether the owners of an object depend on other objects.
func (t *Type) Indirect() bool {
	return slices.ContainsFunc(t.ownerPaths, func(path OwnerPath) bool { return len(path.Hops) > 1 })
}

// Unowned is the value of objects whose paths to teams end without an owner: all callers
// with a role of scope TEAM see them.
const Unowned = "-"

// Undecided is the value of objects that have a path with a document on it that cannot be
// decoded. They are not Unowned.
const Undecided = "?"

// OwnerValue returns the value of objects that belong to an object of a type, such as a team.
func OwnerValue(owner, id string) string { return owner + "/" + id }

// OwnValue returns the value of objects that belong to a user by x-resource.owner.
func OwnValue(user string) string { return "=" + user }

// Via is the beginning of the values of ViaValue, and of no owner.
const Via = "@"

// ViaValue returns the value of objects whose path leads through an object of a type.
func ViaValue(name, id string) string { return Via + name + "/" + id }

// OwnerKey returns the key of the terms that name the owners to which paths lead.
func OwnerKey(paths []OwnerPath) string {
	var b strings.Builder
	for _, path := range paths {
		for _, hop := range path.Hops {
			b.WriteString(hop.Property + "\x00" + hop.Type + "\x00")
		}
		b.WriteString("\n" + path.Owner + "\n")
		if path.Own {
			b.WriteString("=\n")
		}
	}
	digest := sha256.Sum256([]byte(b.String()))
	return query.OrderedKey + "team." + hex.EncodeToString(digest[:8])
}

// resolveOwners finds out where the paths of a type lead.
func (t *Type) resolveOwners(types map[string]*Type) {
	several := len(t.Team) > 0 && len(t.Owner) > 0
	for _, text := range t.Team {
		several = t.addOwnerPath(types, text, OwnerPath{Hops: []Hop{}, Owner: t.Collection()}) || several
	}
	for _, text := range t.Owner {
		several = t.addOwnerPath(types, text, OwnerPath{Hops: []Hop{}, Owner: userType, Own: true}) || several
	}
	if len(t.ownerPaths) == 0 {
		return
	}
	t.ownerField = query.Field{Kind: query.String, Term: OwnerKey(t.ownerPaths), Path: []query.Step{{Name: "id", Array: several}}}
	t.named = teamProperties(types)
}

// teamProperties returns the properties of teams that are lists of references, except that
// of their users, by the type that they refer to.
func teamProperties(types map[string]*Type) map[string][]string {
	found := map[string][]string{}
	if teams := types[teamType]; teams != nil {
		for _, name := range teams.References() {
			if name != "users" {
				owner := teams.Shape.Properties[name].Element.Ref.Type
				found[owner] = append(found[owner], name)
			}
		}
	}
	return found
}

// addOwnerPath adds a path, and reports whether an object can have several owners by it.
func (t *Type) addOwnerPath(types map[string]*Type, text string, path OwnerPath) (several bool) {
	at := t
	for _, name := range strings.Split(text, ".") {
		if text == "id" {
			break
		}
		shape := at.Shape.Properties[name]
		if shape != nil && shape.Element != nil {
			several, shape = true, shape.Element
		}
		if shape == nil || shape.Ref == nil || types[shape.Ref.Type] == nil {
			return several // has been reported
		}
		if at.renamed != nil {
			name = inPlaceOf(at.renamed.present)(name)
		}
		at = types[shape.Ref.Type]
		path.Hops, path.Owner = append(path.Hops, Hop{name, at.Collection(), at.Global}), at.Collection()
	}
	t.ownerPaths = append(t.ownerPaths, path)
	return several
}
