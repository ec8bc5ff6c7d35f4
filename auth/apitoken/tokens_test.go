package apitoken_test

import (
	"testing"
	"time"

	"marquee/auth/authtest"
	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/store"
)

// A token has the rights of its role until it expires, is revoked, or its user no longer
// manages the network. The store has only the hash, which goes after the expiry.
func TestTokens(t *testing.T) {
	clock, set := authtest.NewClock()
	clock.Time = time.Now()
	e, service := authtest.New(t, set)
	boss, err := service.Member(t.Context(), "boss east")
	if err != nil {
		t.Fatal(err)
	}
	issue := func() string {
		t.Helper()
		answer, err := e.Write(t.Context(), boss, engine.Batch{Network: "east", Operations: []engine.Operation{
			authtest.Operation(t, e, "tokens", map[string]any{"name": store.NewID(), "role": "reader"})}})
		if err != nil {
			t.Fatal(err)
		}
		return answer.Changes[0].Kept.(string)
	}
	refused := func(title, token string) {
		t.Helper()
		if caller, err := service.Caller(t.Context(), token); !message.TokenInvalid.Is(err) {
			t.Errorf("%s: %v, %v", title, caller, err)
		}
	}
	first, second := issue(), issue()
	caller, err := service.Caller(t.Context(), first)
	if err != nil || caller.User != "boss east" || caller.Token == nil || len(caller.Grants["east"].NetworkPermissions) != 0 {
		t.Fatalf("%+v, %v", caller, err)
	}
	if _, err := service.Tokens.Revoke(t.Context(), e, first); err != nil {
		t.Fatal(err)
	}
	refused("revoked", first)
	off := authtest.Operation(t, e, "users", map[string]any{"id": "boss east", "objectState": "INACTIVE"})
	if err := authtest.Write(t, e, "", off); err != nil {
		t.Fatal(err)
	}
	refused("of an inactive user", second)
	on := authtest.Operation(t, e, "users", map[string]any{"id": "boss east", "objectState": "ACTIVE"})
	if err := authtest.Write(t, e, "", on); err != nil {
		t.Fatal(err)
	}
	if _, err := service.Caller(t.Context(), second); err != nil {
		t.Error(err)
	}
	clock.Advance(91 * 24 * time.Hour)
	refused("expired", second)
	if err := service.Tokens.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = e.Store.Read(t.Context(), func(r store.Snapshot) error {
		n, err := r.Count(t.Context(), query.Query{Collection: "auth_tokens"})
		if n != 0 {
			t.Errorf("%d secrets are stored after their expiry", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
