package session

import (
	"context"
	"encoding/json"
	"errors"

	"marquee/auth/signing"
	"marquee/engine/expiry"
	"marquee/engine/query"
	"marquee/engine/store"
)

// Sweep drops the records of refresh tokens and ended sessions that have expired.
// Of many, it leaves some to the next call.
func (s *Service) Sweep(ctx context.Context) error {
	refresh := func(r *store.Record) (bool, error) {
		var g grant
		err := json.Unmarshal(r.Document, &g)
		return s.now().After(g.Expires.Add(signing.ClockSkew)), err
	}
	ended := func(r *store.Record) (bool, error) {
		return s.now().After(r.CreateTime.Add(s.config.Refresh + s.config.Access + signing.ClockSkew)), nil
	}
	forgotten := func(r *store.Record) (bool, error) {
		return s.now().After(r.CreateTime.Add(s.config.Access + signing.ClockSkew)), nil
	}
	in := func(state string) query.Expr {
		return query.Compare{Field: query.Field{System: query.State}, Op: query.Equal, Value: state}
	}
	return errors.Join(expiry.Drop(ctx, s.store, refreshCollection, nil, refresh),
		expiry.Drop(ctx, s.store, sessionCollection, in("INACTIVE"), ended),
		expiry.Drop(ctx, s.store, sessionCollection, in(stateForgotten), forgotten))
}
