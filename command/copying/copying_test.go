package copying

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"marquee/auth/seal"
	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/store"
	"marquee/engine/store/mongo"
	"marquee/engine/store/sqlite"
	"marquee/integration/mongodb"
	"marquee/integration/process"
	"marquee/integration/service"
)

// place is a place for a store.
type place struct {
	uri string
	// path is that of an SQLite file.
	path string
}

func (p place) open(loading bool) (store.Portable, error) {
	if p.path != "" {
		return sqlite.Open(context.Background(), sqlite.Options{Path: p.path, Loading: loading})
	}
	return mongo.Open(context.Background(), mongo.Options{URI: p.uri, Loading: loading})
}

func (p place) mustOpen(t *testing.T, loading bool) store.Portable {
	t.Helper()
	s, err := p.open(loading)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// eachPair runs a test with a source and a function that makes targets, of each kind.
func eachPair(t *testing.T, test func(t *testing.T, from place, to func() place)) {
	kinds := map[string]func(t *testing.T) place{
		"sqlite":  func(t *testing.T) place { return place{path: filepath.Join(t.TempDir(), "marquee.db")} },
		"mongodb": func(t *testing.T) place { return place{uri: mongodb.URI(t)} },
	}
	for from, source := range kinds {
		for to, target := range kinds {
			t.Run(from+" to "+to, func(t *testing.T) {
				for _, kind := range []string{from, to} {
					if kind == "mongodb" {
						service.NeedStore(t, "mongodb")
						mongodb.Need(t)
					}
				}
				test(t, source(t), func() place { return target(t) })
			})
		}
	}
}

// failing fails in one of its transactions, before or after it, as if the process had been
// killed.
type failing struct {
	store.Portable
	left  atomic.Int64
	after bool
}

func unserved(context.Context) error { return nil }

var errKilled = errors.New("killed")

func (f *failing) fails(do func() error) error {
	due := f.left.Add(-1) < 0
	if due && !f.after {
		return errKilled
	}
	if err := do(); err != nil || !due {
		return err
	}
	return errKilled
}

func (f *failing) Load(ctx context.Context, p *store.Portion, l store.Loading) error {
	return f.fails(func() error { return f.Portable.Load(ctx, p, l) })
}

func (f *failing) Write(ctx context.Context, fn func(store.Tx) error) error {
	return f.fails(func() error { return f.Portable.Write(ctx, fn) })
}

// secrets are values that are encrypted with the key of the source, at the places of their
// records.
const secrets = 3

// many is the number of records and of changes, which fill more than one portion.
const many = 600

func keyOf(b byte) []byte {
	key := make([]byte, 32)
	key[0] = b
	return key
}

func sealer(t *testing.T, keys ...[]byte) *seal.Sealer {
	t.Helper()
	s, err := seal.New(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fill stores records with secrets, with internal documents that are not in canonical form, and
// an open follow-up, with more than one portion.
func fill(t *testing.T, s store.Store, key *seal.Sealer) {
	t.Helper()
	ctx, at := t.Context(), time.Now().UTC().Truncate(time.Millisecond)
	if err := s.EnsureCollections(ctx, []store.Collection{{Name: "safes"}, {Name: "auth_keys"}, {Name: "engine_followups"}, {Name: "engine_backup"}}); err != nil {
		t.Fatal(err)
	}
	err := s.Write(ctx, func(tx store.Tx) error {
		var writes []store.Write
		var changes []store.Change
		text := strings.Repeat("n", store.PortionBytes/500)
		for i := range many {
			id := fmt.Sprint("s", i)
			content := fmt.Sprintf(`{"n":%q}`, text)
			if i < secrets {
				sealed, err := key.Seal("geheim", catalog.SecretPlace("safes", "main", id, document.Pointer{}.At("pin")))
				if err != nil {
					return err
				}
				content = fmt.Sprintf(`{"pin":%q}`, sealed)
			}
			writes = append(writes, store.Write{Record: store.Record{Key: store.Key{Network: "main", ID: id}, State: "ACTIVE", CreateTime: at, UpdateTime: at, Document: []byte(content)}, Last: 4,
				AddClaims: []store.Claim{{Collection: "safes", Network: "main", Property: "n", Value: id}}})
			changes = append(changes, store.Change{Time: at, Network: "main", Collection: "safes", ID: id, Version: 5, Revision: 5, Fields: fmt.Appendf(nil, `[%q]`, text), FeedOnly: i%3 == 0})
		}
		if err := tx.Put(ctx, "safes", writes); err != nil {
			return err
		}
		sealed, err := key.Seal("geheim", "auth_keys\x00k")
		if err != nil {
			return err
		}
		for collection, content := range map[string]string{"auth_keys": fmt.Sprintf(`{"z":%q,"a":"\u003c"}`, sealed), "engine_followups": `{"after":"x"}`, "engine_backup": `{}`} {
			w := store.InternalWrite(store.Record{Key: store.Key{ID: "k"}}, "ACTIVE", []byte(content), at)
			if err := tx.Put(ctx, collection, []store.Write{w}); err != nil {
				return err
			}
		}
		return tx.Append(ctx, changes)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestInterruptedAtEveryStep interrupts copies before and after each of their transactions. The
// target cannot be opened then, and the next run completes it.
func TestInterruptedAtEveryStep(t *testing.T) {
	process.SkipLong(t)
	eachPair(t, func(t *testing.T, from place, to func() place) {
		old, both, own := sealer(t, keyOf(1)), sealer(t, keyOf(2), keyOf(1)), sealer(t, keyOf(2))
		source := from.mustOpen(t, false)
		defer source.Close()
		fill(t, source, old)
		stride := 1
		if from.path == "" || to().path == "" {
			stride = 3
		}
		for step := 0; ; step += stride {
			at := to()
			target := &failing{Portable: at.mustOpen(t, true), after: step%2 > 0}
			target.left.Store(int64(step / 2))
			job := func(s store.Portable) *Job {
				return &Job{From: source, To: s, Without: []string{"engine_backup"}, Sealer: both, Unserved: unserved, Say: func(string, int64) {}}
			}
			_, err := job(target).Run(t.Context())
			if closed := target.Close(); closed != nil {
				t.Fatal(closed)
			}
			done := err == nil
			if !done && !errors.Is(err, errKilled) {
				t.Fatal(step, err)
			}
			s, err := at.open(false)
			if code, _ := store.CodeOf(err); code == store.CodeNotUsable {
				s = at.mustOpen(t, true)
				sums, err := job(s).Run(t.Context())
				if err != nil || sums["safes"].Items != many || sums[store.ChangesPart].Items != many || sums[store.ClaimsPart].Items != many {
					t.Fatalf("step %d: %v %v", step, sums, err)
				}
			} else if err != nil {
				t.Fatal(step, err)
			}
			if empty, err := store.IsEmpty(t.Context(), s); err != nil || empty {
				t.Fatalf("step %d: empty: %t, %v", step, empty, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			expectCopy(t, source, at.mustOpen(t, false), own)
			if done {
				if step < 10 {
					t.Errorf("a copy took %d transactions", step/2)
				}
				return
			}
		}
	})
}

// expectCopy checks that a target is like the source, but for secrets, which a key opens, and for
// what is not copied.
func expectCopy(t *testing.T, source, target store.Portable, key *seal.Sealer) {
	t.Helper()
	defer target.Close()
	from, err := Sums(t.Context(), source, []string{"engine_backup", "safes", "auth_keys"})
	if err != nil {
		t.Fatal(err)
	}
	to, err := Sums(t.Context(), target, []string{"safes", "auth_keys"})
	if err != nil || !maps.Equal(from, to) {
		t.Errorf("%v instead of %v: %v", to, from, err)
	}
	opened := 0
	err = target.Dump(t.Context(), "", func(p *store.Portion) error {
		for _, w := range p.Records {
			if key.Outdated(w.Document) {
				t.Errorf("%s %s is encrypted with another key", p.Part, w.ID)
			}
			if key.Holds(w.Document) {
				opened++
			}
			if p.Part == "safes" && (w.Revision != 5 || w.Version != 5) {
				t.Errorf("%s has the revision %d", w.ID, w.Revision)
			}
		}
		return nil
	})
	if err != nil || opened != secrets+1 {
		t.Errorf("%d secrets: %v", opened, err)
	}
}

// TestChangedSource: a source that is changed between two runs is found at the end, and the
// target stays incomplete.
func TestChangedSource(t *testing.T) {
	from, to := place{path: filepath.Join(t.TempDir(), "from.db")}, place{path: filepath.Join(t.TempDir(), "to.db")}
	source := from.mustOpen(t, false)
	defer source.Close()
	key := sealer(t, keyOf(1))
	fill(t, source, key)
	target := &failing{Portable: to.mustOpen(t, true)}
	target.left.Store(5)
	job := &Job{From: source, To: target, Sealer: key, Unserved: unserved, Say: func(string, int64) {}}
	if _, err := job.Run(t.Context()); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	err := source.Write(t.Context(), func(tx store.Tx) error {
		var was store.Record
		err := tx.Get(t.Context(), "safes", []store.Key{{Network: "main", ID: "s7"}}, func(r *store.Record) error {
			was = *r.Clone()
			return nil
		})
		if err != nil {
			return err
		}
		return tx.Put(t.Context(), "safes", []store.Write{{Record: was, Expected: was.Revision}})
	})
	if err != nil {
		t.Fatal(err)
	}
	target.left.Store(1 << 30)
	if _, err := job.Run(t.Context()); !errors.Is(err, ErrDiffers) {
		t.Error(err)
	}
	if err := target.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := to.open(false); err == nil {
		t.Error("the target can be opened")
	}
}

// TestServedAtTheEnd: the copy of a source that somebody serves at the end is not completed until
// nobody does.
func TestServedAtTheEnd(t *testing.T) {
	from, to := place{path: filepath.Join(t.TempDir(), "from.db")}, place{path: filepath.Join(t.TempDir(), "to.db")}
	source, target := from.mustOpen(t, false), to.mustOpen(t, true)
	defer source.Close()
	key := sealer(t, keyOf(1))
	fill(t, source, key)
	served := errors.New("served")
	job := &Job{From: source, To: target, Sealer: key, Unserved: func(context.Context) error { return served }, Say: func(string, int64) {}}
	if _, err := job.Run(t.Context()); err != served {
		t.Error(err)
	}
	if err := target.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := to.open(false); err == nil {
		t.Error("the target can be opened")
	}
	job.To, job.Unserved = to.mustOpen(t, true), unserved
	defer job.To.Close()
	if _, err := job.Run(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestContinuedOtherwise: a run that was interrupted while it encrypted secrets is not continued
// with another key or another source, and can be continued with its own.
func TestContinuedOtherwise(t *testing.T) {
	eachPair(t, func(t *testing.T, from place, to func() place) {
		source, at := from.mustOpen(t, false), to()
		defer source.Close()
		fill(t, source, sealer(t, keyOf(1)))
		target := &failing{Portable: at.mustOpen(t, true)}
		job := func(from store.Portable, keys ...[]byte) *Job {
			return &Job{From: from, To: target, Without: []string{"engine_backup"}, Sealer: sealer(t, keys...), Unserved: unserved, Say: func(string, int64) {}}
		}
		for step := int64(1); ; step++ { // until some secrets are encrypted
			target.left.Store(step)
			if _, err := job(source, keyOf(2), keyOf(1)).Run(t.Context()); !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			resealed := false
			err := target.Dump(t.Context(), "", func(p *store.Portion) error {
				for _, w := range p.Records {
					resealed = resealed || sealer(t, keyOf(2)).Holds(w.Document)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if resealed {
				break
			}
		}
		target.left.Store(1 << 30)
		for _, keys := range [][][]byte{{keyOf(3), keyOf(1)}, {keyOf(1)}} {
			if _, err := job(source, keys...).Run(t.Context()); !errors.Is(err, ErrOtherKey) {
				t.Error("another key:", err)
			}
		}
		other := to().mustOpen(t, false)
		defer other.Close()
		fill(t, other, sealer(t, keyOf(1)))
		if _, err := job(other, keyOf(2), keyOf(1)).Run(t.Context()); !errors.Is(err, ErrDiffers) {
			t.Error("another source:", err)
		}
		if _, err := job(source, keyOf(2), keyOf(1)).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := target.Close(); err != nil {
			t.Fatal(err)
		}
		expectCopy(t, source, at.mustOpen(t, false), sealer(t, keyOf(2)))
	})
}
