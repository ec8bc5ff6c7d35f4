package marquee

import (
	"context"
	"errors"

	"marquee/engine"
	"marquee/engine/query"
	"marquee/engine/store"
)

// ErrNotEmpty says that a store has networks or users already.
var ErrNotEmpty = errors.New("the store is not empty: it has its networks and users already")

// MakeFirst makes the first network, its administrator, and more objects, in one
// transaction. The error is ErrNotEmpty if another server was faster.
func (s *Server) MakeFirst(ctx context.Context, f First, more ...engine.Operation) error {
	f.setDefaults()
	types := s.engine.Registry()
	networks, _ := types.Type("networks")
	roles, _ := types.Type("roles")
	users, _ := types.Type("users")
	var permissions []any
	for _, permission := range roles.Permissions() {
		permissions = append(permissions, permission)
	}
	batch := engine.Batch{Network: f.Network, FieldValidation: engine.Strict, Operations: append([]engine.Operation{
		{Type: networks, Object: map[string]any{"id": f.Network, "name": f.Network}},
		{Type: roles, Object: map[string]any{"id": f.RoleID, "name": "Administrator", "scope": "NETWORK", "permissions": permissions}},
		{Type: users, Object: map[string]any{"id": f.UserID, "username": f.Username, "password": f.Password,
			"userRoles": map[string]any{"rolesByNetwork": []any{map[string]any{
				"network": map[string]any{"id": f.Network},
				"roles":   []any{map[string]any{"role": map[string]any{"id": f.RoleID}}}}}}}},
	}, more...)}
	_, err := s.engine.Write(ctx, &engine.Caller{System: true, User: f.UserID}, batch)
	if err != nil {
		if empty, unknown := s.Empty(ctx); unknown == nil && !empty {
			return ErrNotEmpty
		}
	}
	return err
}

// Empty reports whether the store has no network and no user.
func (s *Server) Empty(ctx context.Context) (bool, error) {
	empty := true
	err := s.store.Read(ctx, func(r store.Snapshot) error {
		empty = true
		for _, collection := range []string{"networks", "users"} {
			n, err := r.Count(ctx, query.Query{Collection: collection})
			if err != nil {
				return err
			}
			empty = empty && n == 0
		}
		return nil
	})
	return empty, err
}
