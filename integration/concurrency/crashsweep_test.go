package concurrency

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"marquee/engine/document"
	"marquee/engine/store"
	"marquee/integration/process"
	"marquee/integration/service"
)

// crashKinds are the types that are written under load or at the first start.
var crashKinds = []string{"advertisers", "orders", "tiers", "lineitems", "articles", "networks", "roles", "users"}

var crashReferences = []struct{ from, property, to string }{
	{"orders", "advertiser", "advertisers"}, {"lineitems", "order", "orders"}, {"lineitems", "tier", "tiers"}}

var crashUnique = map[string]string{"articles": "url", "users": "username"}

// crashSweep looks at the whole store when no process has it open: each record
// has its history, which says no more; the owner of a unique value is the
// record that has it; what is referred to is there.
func crashSweep(t *testing.T, uri string) {
	ctx := context.Background()
	s, err := service.OpenStore(t, uri)
	if err != nil {
		t.Fatal(err)
	}
	history := process.CrashHistory(t, s)
	there, referred, claimed := map[string]bool{}, map[string]string{}, map[store.Claim]string{}
	err = s.Read(ctx, func(r store.Snapshot) error {
		clear(there)
		for _, kind := range crashKinds {
			err := r.Scan(ctx, kind, store.Key{}, 1<<20, func(r *store.Record) error {
				key := service.CrashKey(kind, r.Network, r.ID)
				there[key] = true
				if got, want := history[key], r.Revision; int64(len(got)) != want || got[want] != 1 {
					t.Errorf("%s is at revision %d, and its changes have %v", key, want, got)
				}
				object, err := document.DecodeObject(r.Document, document.Limits{})
				for _, reference := range crashReferences {
					if target, ok := object[reference.property].(string); ok && kind == reference.from {
						referred[service.CrashKey(reference.to, r.Network, target)] = key
					}
				}
				if value, ok := object[crashUnique[kind]].(string); ok {
					claimed[store.Claim{Collection: kind, Network: r.Network, Property: crashUnique[kind], Value: string(document.AppendString(nil, value))}] = r.ID
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		var claims []store.Claim
		for claim := range claimed {
			claims = append(claims, claim)
		}
		owners, err := r.Claims(ctx, claims)
		for claim, id := range claimed {
			if owners[claim] != id {
				t.Errorf("%v is of %s, and %q owns it", claim, id, owners[claim])
			}
		}
		return err
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	for key := range history {
		if kind, _, _ := strings.Cut(key, "/"); slices.Contains(crashKinds, kind) && !there[key] {
			t.Errorf("there is a history of %s, which is not there", key)
		}
	}
	for key, from := range referred {
		if !there[key] {
			t.Errorf("%s refers to %s, which is not there", from, key)
		}
	}
	if len(referred) == 0 || len(claimed) == 0 {
		t.Errorf("%d references and %d unique values: the sweep does not see them", len(referred), len(claimed))
	}
	t.Logf("%d records", len(there))
	if strings.HasPrefix(uri, "sqlite:") {
		crashSweepFile(t, service.SQLiteFile(uri))
	}
}

// crashSweepFile looks for what is left in an SQLite file of records that are
// not there.
func crashSweepFile(t *testing.T, path string) {
	db, err := sqlite3.OpenFlags("file:"+path, sqlite3.OPEN_READONLY|sqlite3.OPEN_URI)
	if err != nil {
		t.Fatal(err)
	}
	none := func(what, sql string) {
		s, _, err := db.Prepare(sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		for s.Step() {
			t.Errorf("%s: %s", what, s.ColumnText(0))
		}
		if err := errors.Join(s.Err(), s.Close()); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	none("the file", "SELECT * FROM pragma_integrity_check WHERE integrity_check <> 'ok'")
	for _, kind := range crashKinds {
		none(kind+": a term without its record", fmt.Sprintf(`SELECT * FROM t_%[1]s WHERE record NOT IN (SELECT seq FROM r_%[1]s)`, kind))
	}
	for kind, property := range crashUnique {
		none(kind+": a claim without its record", fmt.Sprintf(`SELECT value FROM claims c WHERE collection='%[1]s' AND NOT EXISTS
(SELECT 1 FROM r_%[1]s r WHERE r.network = c.network AND r.id = c.id AND json_quote(r.doc->>'$.%[2]s') = c.value)`, kind, property))
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
