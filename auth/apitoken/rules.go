package apitoken

import (
	"context"
	"time"

	"marquee/auth/rights"
	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/rest"
	"marquee/engine/store"
)

// The lifetime of an API token, and the longest one.
const (
	defaultDays = 90
	maxDays     = 366
)

// Hooks returns the rules of API tokens.
func Hooks() map[string]engine.Hooks {
	return map[string]engine.Hooks{Type: {Prepare: prepare, BeforeValidate: engine.Each(beforeValidate), BeforeStore: engine.Each(storeSecret), Derive: deriveUses}}
}

// prepare generates the secret of an API token before the transaction, which can
// run more than once.
func prepare(ctx context.Context, c *engine.Change) error {
	c.Kept = newSecret()
	return nil
}

// beforeValidate checks that the caller can grant the role of a new API token. A
// token that is no longer ACTIVE has been revoked for ever.
func beforeValidate(ctx context.Context, w *engine.Writing, c *engine.Change) error {
	if c.Before != nil {
		if c.StateBefore != "ACTIVE" && c.State == "ACTIVE" {
			w.Add(c.Fault(message.TransitionForbidden, "/objectState", message.Params{"from": c.StateBefore, "to": c.State}))
		}
		return nil
	}
	now := w.Now()
	if c.After["expiryTime"] == nil {
		c.After["expiryTime"] = document.FormatTime(now.AddDate(0, 0, defaultDays))
	}
	if c.Caller.System {
		if c.Caller.Operator { // whose rights it would have
			return message.HeaderInvalid.Error(message.Params{"header": rest.OnBehalfOf, "expected": "the id of the user for whom the token acts"})
		}
		return nil
	}
	if c.Caller.Token != nil { // it would outlive its own revocation
		return message.UserRequired.Error(message.Params{"type": c.Type.Name})
	}
	if text, ok := c.After["expiryTime"].(string); ok {
		// The schema rejects values that are not times.
		expiry, valid := document.ParseTime(text)
		if valid && (!expiry.After(now) || expiry.After(now.AddDate(0, 0, maxDays))) {
			w.Add(c.Fault(message.TokenExpiry, "/expiryTime", message.Params{"limit": maxDays}))
		}
	}
	if role, ok := c.After["role"].(string); ok {
		return rights.CheckRole(ctx, w, c, c.Network, role, "/role")
	}
	return nil
}

// storeSecret stores the hash of the secret of a new API token, and shows the secret in
// the response. Imported tokens have none.
func storeSecret(ctx context.Context, w *engine.Writing, c *engine.Change) error {
	token, ok := c.Kept.(string)
	if !ok || !c.Created() || c.Caller.System || c.State != "ACTIVE" {
		return nil
	}
	text, _ := c.After["expiryTime"].(string)
	expires, _ := document.ParseTime(text)
	record := store.Record{Key: store.Key{ID: hash(token)}}
	if err := store.PutInternal(ctx, w.Tx(), collection, record, "ACTIVE", secretDocument{Network: c.Network, ID: c.ID, Expires: expires}, w.Now()); err != nil {
		return err
	}
	if !w.ValidateOnly() {
		c.Show("token", token)
	}
	return nil
}

// deriveUses adds the times when API tokens were last used.
func deriveUses(ctx context.Context, r *engine.Reading, records []*store.Record) error {
	if !r.Shows("lastUsedTime") {
		return nil
	}
	byKey, keys := map[store.Key]*store.Record{}, make([]store.Key, 0, len(records))
	for _, record := range records {
		byKey[record.Key], keys = record, append(keys, record.Key)
	}
	used := map[*store.Record]time.Time{}
	err := r.Snapshot().Get(ctx, useCollection, keys, func(use *store.Record) error {
		used[byKey[use.Key]] = use.UpdateTime
		return nil
	})
	for record, at := range used {
		if err == nil {
			err = r.Set(record, map[string]any{"lastUsedTime": document.FormatTime(at)})
		}
	}
	return err
}
