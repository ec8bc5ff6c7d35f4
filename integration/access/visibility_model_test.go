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

// roles are the ACTIVE roles of a user that have a scope.
func (w world) roles(user, scope string) (held []string) {
	for _, role := range w.list("users", user, "roles") {
		if w.active("roles", role) && w.text("roles", role, "scope") == scope {
			held = append(held, role)
		}
	}
	return held
}

// member reports whether an ACTIVE team has a user.
func (w world) member(user, team string) bool {
	return w.active("teams", team) && slices.Contains(w.list("teams", team, "users"), user)
}

// sees reports whether a user is shown an object.
func (w world) sees(user, kind, id string) bool {
	_, exists := w[kind][id]
	return exists && (len(w.roles(user, "NETWORK")) > 0 || w.within(user, w.roles(user, "TEAM"), kind, id))
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
	case "stickers":
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
var teamTypes = []string{"adunits", "advertisers", "assets", "creatives", "lineitems", "orders", "parcels", "segments", "sites", "stickers"}

// mayWrite reports whether a role of a user that has a permission applies to an
// object that is seen.
func (w world) mayWrite(user, permission, kind, id string) bool {
	return w.holds(user, permission, "NETWORK") || w.within(user, w.granting(user, permission, "TEAM"), kind, id)
}

func (w world) holds(user, permission, scope string) bool {
	return len(w.granting(user, permission, scope)) > 0
}

// granting are the ACTIVE roles of a user that have a scope and a permission.
func (w world) granting(user, permission, scope string) []string {
	return slices.DeleteFunc(w.roles(user, scope), func(role string) bool { return !slices.Contains(w.list("roles", role, "permissions"), permission) })
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
