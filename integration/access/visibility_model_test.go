package access

import (
	"encoding/json"
	"maps"
	"slices"
)

// world is what the network main holds, by type and id, as it was posted: the
// model of visibility, which knows nothing of schemas, terms and queries.
// References are ids; the roles of a user in main are the property "roles".
type world map[string]map[string]map[string]any

// put merges what is posted into an object.
func (w world) put(kind, id string, posted map[string]any) {
	if w[kind] == nil {
		w[kind] = map[string]map[string]any{}
	}
	object := w[kind][id]
	if object == nil {
		object = map[string]any{"objectState": "ACTIVE"}
		w[kind][id] = object
	}
	for name, value := range posted {
		if object[name] = value; value == nil {
			delete(object, name)
		}
	}
}

func (w world) text(kind, id, property string) string {
	text, _ := w[kind][id][property].(string)
	return text
}

func (w world) list(kind, id, property string) []string {
	list, _ := w[kind][id][property].([]string)
	return list
}

func (w world) active(kind, id string) bool { return w.text(kind, id, "objectState") == "ACTIVE" }

// roles are the ACTIVE roles of a user that have a scope, or any if it is "".
func (w world) roles(user, scope string) (held []string) {
	for _, role := range w.list("users", user, "roles") {
		if w.active("roles", role) && (scope == "" || w.text("roles", role, "scope") == scope) {
			held = append(held, role)
		}
	}
	return held
}

// member reports whether an ACTIVE team has a user.
func (w world) member(user, team string) bool {
	return w.active("teams", team) && slices.Contains(w.list("teams", team, "users"), user)
}

// shows reports whether a user is shown an object: one that the user sees, or that is public.
func (w world) shows(user, kind, id string) bool {
	return w.public(kind, id) || w.sees(user, kind, id)
}

// public reports whether anybody can read an object.
func (w world) public(kind, id string) bool {
	return kind == "stickers" && w.text(kind, id, "shown") == "ALL" && w.text(kind, id, "objectState") != "HIDDEN"
}

// sees reports whether the roles of a user show an object.
func (w world) sees(user, kind, id string) bool {
	_, exists := w[kind][id]
	return exists && w.through(user, readPermission(kind), kind, id)
}

// through reports whether the roles of a user that have a permission show an object.
func (w world) through(user, permission, kind, id string) bool {
	return len(w.granting(user, permission, "NETWORK")) > 0 ||
		w.within(user, w.granting(user, permission, "TEAM"), kind, id) ||
		len(w.granting(user, permission, "OWN")) > 0 && w.owns(user, kind, id)
}

// owns reports whether an object belongs to a user.
func (w world) owns(user, kind, id string) bool {
	switch kind {
	case "users":
		return id == user
	case "parcels":
		return w.text(kind, id, "recipient") == user
	case "letters":
		if author := w.text(kind, id, "author"); author != "" {
			return author == user
		}
		return w.owns(user, "parcels", w.text(kind, id, "parcel"))
	case "stickers":
		if holders := w.list(kind, id, "holders"); len(holders) > 0 {
			return slices.Contains(holders, user)
		}
		return w.owns(user, "parcels", w.text(kind, id, "parcel"))
	}
	return false
}

// knows reports whether a type exists for a user: whether the permission to read it, if there is
// one, comes with a role that can show some of its objects.
func (w world) knows(user, kind string) bool {
	return readPermission(kind) == "" || w.holds(user, readPermission(kind), kind)
}

// within reports whether these roles, which have scope TEAM, show an object to a user.
func (w world) within(user string, roles []string, kind, id string) bool {
	through := func(property, parent string) bool {
		to := w.text(kind, id, property)
		return to == "" || w.within(user, roles, parent, to)
	}
	mine := func(team string) bool { return w.member(user, team) }
	if len(roles) == 0 {
		return false
	}
	switch kind {
	case "sites":
		return slices.ContainsFunc(roles, func(role string) bool { return slices.Contains(w.list("roles", role, "sites"), id) }) ||
			slices.ContainsFunc(slices.Sorted(maps.Keys(w["teams"])), func(team string) bool { return mine(team) && slices.Contains(w.list("teams", team, "sites"), id) })
	case "adunits":
		return through("site", "sites")
	case "advertisers":
		team := w.text(kind, id, "team")
		return team == "" || mine(team)
	case "orders":
		team := w.text(kind, id, "team")
		return mine(team) || team == "" && through("advertiser", "advertisers")
	case "lineitems", "parcels":
		return through("order", "orders")
	case "stickers", "letters":
		return through("parcel", "parcels")
	case "creatives":
		return through("lineItem", "lineitems")
	case "assets":
		return through("creative", "creatives")
	case "segments":
		if team := w.text(kind, id, "team"); team != "" {
			return mine(team)
		}
		teams := w.list(kind, id, "teams")
		return len(teams) == 0 || slices.ContainsFunc(teams, mine)
	}
	return true
}

// teamTypes are those whose objects belong to teams.
var teamTypes = []string{"adunits", "advertisers", "assets", "creatives", "letters", "lineitems", "orders", "parcels", "segments", "sites", "stickers"}

// ownTypes are those whose objects belong to users.
var ownTypes = []string{"letters", "parcels", "stickers"}

// holds reports whether a user has a permission for some objects of a type.
func (w world) holds(user, permission, kind string) bool {
	return len(w.granting(user, permission, "NETWORK"))+len(w.granting(user, permission, "TEAM")) > 0 ||
		slices.Contains(ownTypes, kind) && len(w.granting(user, permission, "OWN")) > 0
}

// granting are the ACTIVE roles of a user that have a scope and a permission, or any
// permissions if it is "".
func (w world) granting(user, permission, scope string) []string {
	return slices.DeleteFunc(w.roles(user, scope), func(role string) bool {
		held := w.list("roles", role, "permissions")
		return permission != "" && !slices.Contains(held, permission) && !slices.Contains(held, "ALL")
	})
}

// readPermission is what reading a type takes.
func readPermission(kind string) string {
	if kind == "letters" {
		return "READ_LETTERS"
	}
	return ""
}

// writePermission is what writing a type takes, as the decisions list it.
func writePermission(kind string, create bool) string {
	switch {
	case kind == "layouts":
		return "MANAGE_LAYOUTS"
	case kind == "users" || kind == "roles" || kind == "teams":
		return "MANAGE_SYSTEM"
	case kind == "letters" && create:
		return "OPEN_LETTERS"
	case kind == "letters":
		return "WRITE_LETTERS"
	}
	return "MANAGE_BUSINESS"
}

func (w world) clone() world {
	text, err := json.Marshal(w)
	if err != nil {
		panic(err)
	}
	var raw map[string]map[string]map[string]any
	if err := json.Unmarshal(text, &raw); err != nil {
		panic(err)
	}
	for _, objects := range raw {
		for _, object := range objects {
			for name, value := range object {
				if list, ok := value.([]any); ok {
					texts := make([]string, len(list))
					for i, item := range list {
						texts[i], _ = item.(string)
					}
					object[name] = texts
				}
			}
		}
	}
	return raw
}
