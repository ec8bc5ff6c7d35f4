package write_test

import (
	"bytes"
	"testing"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/store"
	"marquee/engine/write"
)

// The records of idempotency keys have neither keys nor callers nor values in plain text, and
// those of equal requests differ between stores, as nobody can compute them without the secret.
func TestIdempotencyRecordsAreDigests(t *testing.T) {
	var ids []string
	for range 2 {
		e := open(t, nil)
		batch := func(typeName string, object map[string]any) write.Batch {
			return write.Batch{Network: "house", Operations: []write.Operation{{Type: e.typeOf(t, typeName), Object: object}},
				Idempotency: &write.Idempotency{Key: "the key", Request: []byte("the request")}}
		}
		caller := &engine.Caller{System: true, User: "the caller"}
		if _, err := e.Write(t.Context(), caller, batch("wards", map[string]any{"name": "the value"})); err != nil {
			t.Fatal(err)
		}
		err := e.Store.Read(t.Context(), func(s store.Snapshot) error {
			return s.Scan(t.Context(), write.IdempotencyKeys.Name, store.Key{}, 10, func(r *store.Record) error {
				if r.State == "ACTIVE" {
					ids = append(ids, r.ID)
				}
				for _, plain := range []string{"the key", "the caller", "the request", "the value"} {
					if bytes.Contains([]byte(r.ID+string(r.Document)+r.CreateUser), []byte(plain)) {
						t.Errorf("the record %s %s has %s", r.ID, r.Document, plain)
					}
				}
				return nil
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Write(t.Context(), caller, batch("moves", map[string]any{"reason": "a secret"})); !message.HeaderInvalid.Is(err) {
			t.Errorf("a value that nobody is shown: %v", err)
		}
	}
	if len(ids) != 2 || ids[0] == ids[1] {
		t.Errorf("the records are %v", ids)
	}
}
