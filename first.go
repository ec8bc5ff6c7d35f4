package marquee

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"marquee/auth/rights"
	"marquee/engine"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// ErrNotEmpty is returned for a store that already has networks or users.
var ErrNotEmpty = errors.New("the store is not empty: it has its networks and users already")

// DemoOptions describe what demonstration data are made for.
type DemoOptions struct {
	// Types are the types that are served.
	Types *schema.Registry
	// First is the first network and its administrator; the ids are set.
	First First
	// Password is for users who only read.
	Password string
	Now      time.Time
}

// DemoStep is a part of the demonstration data, written in one transaction.
type DemoStep struct {
	// Time is when it appears to have been written, Network where, "" for the first
	// network, and User the id of its author, "" for the administrator.
	Time          time.Time
	Network, User string
	Operations    []engine.Operation
}

// MakeFirst makes the first network and its administrator, with the objects of the
// first step in one transaction, and then writes the other steps. The error is
// ErrNotEmpty if another server was faster.
func (s *Server) MakeFirst(ctx context.Context, f First, steps ...DemoStep) error {
	f.setDefaults()
	types := s.engine.Registry()
	networks, _ := types.Type("networks")
	roles, _ := types.Type("roles")
	users, _ := types.Type("users")
	permissions := rights.AdministratorPermissions(roles)
	if len(steps) == 0 {
		steps = []DemoStep{{}}
	}
	steps = slices.Clone(steps)
	steps[0].Operations = append([]engine.Operation{
		{Type: networks, Object: map[string]any{"id": f.Network, "name": f.Network}},
		{Type: roles, Object: map[string]any{"id": f.RoleID, "name": "Administrator", "scope": "NETWORK", "permissions": permissions}},
		{Type: users, Object: map[string]any{"id": f.UserID, "username": f.Username, "password": f.Password,
			"userRoles": map[string]any{"rolesByNetwork": []any{map[string]any{
				"network": map[string]any{"id": f.Network},
				"roles":   []any{map[string]any{"role": map[string]any{"id": f.RoleID}}}}}}}},
	}, steps[0].Operations...)
	for i, step := range steps {
		batch := engine.Batch{Network: cmp.Or(step.Network, f.Network), FieldValidation: engine.Strict, Time: step.Time, Operations: step.Operations}
		_, err := s.engine.Write(ctx, &engine.Caller{System: true, User: cmp.Or(step.User, f.UserID)}, batch)
		if err == nil {
			continue
		}
		if empty, unknown := s.Empty(ctx); i == 0 && unknown == nil && !empty {
			return ErrNotEmpty
		}
		return err
	}
	return nil
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
