package verify_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"marquee"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/store/sqlite"
	"marquee/engine/verify"
)

var rooms = fstest.MapFS{
	"rooms.json": {Data: []byte(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title": "Room",
		"x-resource": {"path": "rooms", "label": "name", "unique": ["name"], "search": ["name"]},
		"type": "object",
		"properties": {"name": {"type": "string"}, "floor": {"x-ref": "floors"}, "tags": {"type": "array", "items": {"type": "string"}}}
	}`)},
	"floors.json": {Data: []byte(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title": "Floor",
		"x-resource": {"path": "floors"},
		"type": "object",
		"properties": {"name": {"type": "string"}}
	}`)},
}

// TestVerify damages objects beneath the engine, which cannot do it itself.
func TestVerify(t *testing.T) {
	server, own := serve(t)
	putUnindexed(t, own, "not-indexed")
	for _, c := range []struct {
		id     string
		damage func(ctx context.Context, tx store.Tx, room store.Record) error
		want   []string
	}{
		{"sound", func(context.Context, store.Tx, store.Record) error { return nil }, nil},
		{"wrong-type", replaceDocument(`{"floor":"ground","name":"wrong-type","tags":7}`),
			[]string{"it is invalid by its schema: /tags"}},
		{"missing-target", replaceDocument(`{"floor":"cellar","name":"missing-target"}`),
			[]string{`/floor refers to floors "cellar", which is not there`}},
		{"version-without-a-change", func(ctx context.Context, tx store.Tx, room store.Record) error {
			room.Version = 9
			return tx.Put(ctx, "rooms", []store.Write{{Record: room, Expected: room.Revision}})
		}, []string{"it has the version 9, and the history ends with 1"}},
		{"not-indexed", nil,
			[]string{"searches do not find it by ", "name is unique, and its value is not reserved", "the history has nothing of it"}},
	} {
		if c.damage != nil {
			damage(t, server, own, c.id, c.damage)
		}
		var found []string
		checked := map[string]int64{}
		err := verify.Verify(t.Context(), server.Engine().Catalog, verify.Verification{
			Fault: func(f verify.Fault) error {
				if f.Type != "rooms" || f.Network != "house" || f.Cure == "" {
					t.Errorf("%+v", f)
				}
				if f.ID == c.id {
					found = append(found, f.Text)
				}
				return nil
			},
			Progress: func(of *schema.Type, objects int64) error { checked[of.Name] = objects; return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		missing := slices.DeleteFunc(slices.Clone(c.want), func(want string) bool {
			return slices.ContainsFunc(found, func(text string) bool { return strings.HasPrefix(text, want) })
		})
		if len(found) != len(c.want) || len(missing) > 0 {
			t.Errorf("%s: found %q, want %q", c.id, found, c.want)
		}
		if checked["rooms"] == 0 || checked["floors"] != 1 {
			t.Errorf("%s: the progress is %v", c.id, checked)
		}
	}
}

// damage creates a room and changes what is stored of it.
func damage(t *testing.T, server *marquee.Server, own store.Store, id string, change func(context.Context, store.Tx, store.Record) error) {
	t.Helper()
	if _, err := server.Write(t.Context(), "house", "rooms", map[string]any{"id": id, "name": id, "floor": "ground"}); err != nil {
		t.Fatal(err)
	}
	err := own.Write(t.Context(), func(tx store.Tx) error {
		var room store.Record
		err := tx.Get(t.Context(), "rooms", []store.Key{{Network: "house", ID: id}}, func(r *store.Record) error {
			room = *r.Clone()
			return nil
		})
		if err != nil {
			return err
		}
		return change(t.Context(), tx, room)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// putUnindexed stores rooms without terms, unique values and history.
func putUnindexed(t *testing.T, own store.Store, ids ...string) {
	t.Helper()
	var writes []store.Write
	for _, id := range ids {
		writes = append(writes, store.InternalWrite(store.Record{Key: store.Key{Network: "house", ID: id}}, "ACTIVE", []byte(`{"name":"`+id+`"}`), time.Now()))
	}
	err := own.Write(t.Context(), func(tx store.Tx) error { return tx.Put(t.Context(), "rooms", writes) })
	if err != nil {
		t.Fatal(err)
	}
}

// TestVerifyEndsEarly: an error of a callback ends the check, and is returned.
func TestVerifyEndsEarly(t *testing.T) {
	server, own := serve(t)
	enough := errors.New("enough")
	putUnindexed(t, own, "a", "b")
	calls := 0
	err := verify.Verify(t.Context(), server.Engine().Catalog, verify.Verification{
		Fault:    func(verify.Fault) error { calls++; return enough },
		Progress: func(*schema.Type, int64) error { return nil },
	})
	if err != enough || calls != 1 {
		t.Errorf("%d calls, and the error is %v", calls, err)
	}
}

func replaceDocument(document string) func(context.Context, store.Tx, store.Record) error {
	return func(ctx context.Context, tx store.Tx, room store.Record) error {
		room.Document = []byte(document)
		return tx.Put(ctx, "rooms", []store.Write{{Record: room, Expected: room.Revision}})
	}
}

// serve returns a server with the floor "ground", and its store.
func serve(t *testing.T) (*marquee.Server, store.Store) {
	t.Helper()
	own, err := sqlite.Open(t.Context(), sqlite.Options{Path: t.TempDir() + "/marquee.db"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { own.Close() })
	server, err := marquee.New(marquee.Options{Store: own, Schemas: rooms, First: marquee.First{Network: "house", Password: "correct horse battery"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	if _, err := server.Write(t.Context(), "house", "floors", map[string]any{"id": "ground"}); err != nil {
		t.Fatal(err)
	}
	return server, own
}
