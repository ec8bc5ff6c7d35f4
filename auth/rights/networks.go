package rights

import (
	"cmp"
	"context"
	"slices"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/store"
)

// maxRoles is the number of roles that a user can be given in all networks together: all
// of them are read for a request of the user, unless they are remembered.
const maxRoles = 3000

// prepareNetwork generates the id of the first role of a new network before the
// transaction, which can run more than once.
func prepareNetwork(ctx context.Context, c *engine.Change) error {
	c.Kept = store.NewID()
	return nil
}

// networksBeforeStore gives the creators of networks a role with all permissions in each.
func (r *Rules) networksBeforeStore(ctx context.Context, w *engine.Writing, changes []*engine.Change) error {
	roles, _ := w.Type("roles")
	users, _ := w.Type("users")
	var entries []any
	var created []*engine.Change
	for _, c := range changes {
		role, ok := c.Kept.(string)
		if !ok || !c.Created() || c.Internal() || c.Caller.System {
			continue
		}
		first := w.Upsert(roles, c.ID, role, func(object map[string]any) {
			object["name"], object["scope"] = "Administrator", networkScope
			object["permissions"] = AdministratorPermissions(roles)
		})
		first.SetCause(message.CauseObject, message.Params{"type": c.Type.Name, "id": c.ID})
		created = append(created, c)
		entries = append(entries, map[string]any{"network": c.ID, "roles": []any{map[string]any{"role": role}}})
	}
	if len(created) == 0 {
		return nil
	}
	last := created[len(created)-1]
	if err := r.checkCreated(ctx, w, last, len(created)); err != nil {
		return err
	}
	// The user comes after all roles, which can take several rounds.
	holder := w.Upsert(users, "", last.Caller.User, func(object map[string]any) {
		userRoles, _ := document.Clone(object["userRoles"]).(map[string]any)
		if userRoles == nil {
			userRoles = map[string]any{}
		}
		list, _ := userRoles["rolesByNetwork"].([]any)
		userRoles["rolesByNetwork"] = append(list, entries...)
		object["userRoles"] = userRoles
	})
	holder.SetCause(message.CauseObject, message.Params{"type": last.Type.Name, "id": last.ID})
	return nil
}

// checkCreated rejects more networks than a user can create, of which one is the last.
func (r *Rules) checkCreated(ctx context.Context, w *engine.Writing, last *engine.Change, more int) error {
	limit, user := cmp.Or(r.Networks.Created, DefaultMaxNetworks), last.Caller.User
	found, err := w.Lookup("users", "", []string{user})
	if err != nil {
		return err
	}
	held := networksHeld(found[user].Object)
	if len(held)+more <= limit {
		return nil
	}
	created, err := createdBy(ctx, w, user, held)
	if err == nil && created+more > limit {
		w.Add(last.Fault(message.NetworksCreated, "/id", message.Params{"limit": limit}))
	}
	return err
}

// checkGrantedNetworks rejects roles in further networks for a user who has roles in as
// many as users can be given. Networks that the user has created do not count.
func (r *Rules) checkGrantedNetworks(ctx context.Context, w *engine.Writing, c *engine.Change) error {
	limit := cmp.Or(r.Networks.Granted, DefaultMaxNetworks)
	after := networksHeld(c.After)
	if len(after) <= limit || len(without(after, networksHeld(c.Before))) == 0 {
		return nil
	}
	created, err := createdBy(ctx, w, c.ID, after)
	if err == nil && len(after)-created > limit {
		w.Add(c.Fault(message.NetworksGranted, "/userRoles", message.Params{"limit": limit}))
	}
	return err
}

// checkGrantedRoles returns an error for a user who is given more roles than users can
// be given. They are not worth reading for further checks.
func checkGrantedRoles(c *engine.Change) error {
	if n := rolesHeld(c.After); n <= maxRoles || n <= rolesHeld(c.Before) {
		return nil
	}
	var faults message.Faults
	faults.Add(c.Fault(message.RolesGranted, "/userRoles", message.Params{"limit": maxRoles}))
	return faults.Err()
}

// rolesHeld returns the number of roles that a user has.
func rolesHeld(user map[string]any) (n int) {
	for _, roles := range rolesOf(user) {
		n += len(roles)
	}
	return n
}

// networksHeld returns the networks in which a user has roles.
func networksHeld(user map[string]any) []string {
	var networks []string
	for _, entry := range withRoles(entriesOf(user)) {
		networks = append(networks, networkOf(entry))
	}
	slices.Sort(networks)
	return slices.Compact(networks)
}

// createdBy returns how many of some networks a user has created. A network that is not
// younger than the user is the first one, which was made together with its administrator.
func createdBy(ctx context.Context, w *engine.Writing, user string, networks []string) (n int, err error) {
	record, err := store.ReadOne(ctx, w.Tx(), "users", store.Key{ID: user}, nil)
	for some := range slices.Chunk(networks, 500) {
		if err != nil {
			return 0, err
		}
		keys := make([]store.Key, len(some))
		for i, id := range some {
			keys[i].ID = id
		}
		err = w.Tx().Get(ctx, "networks", keys, func(r *store.Record) error {
			if r.CreateUser == user && r.CreateTime.After(record.CreateTime) {
				n++
			}
			return nil
		})
	}
	return n, err
}
