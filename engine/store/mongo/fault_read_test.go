package mongo

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"marquee/engine/query"
	"marquee/engine/store"
	"marquee/integration/mongodb"
)

// reads returns the calls of a store that write no records, by the commands
// that they send.
func (f *faulty) reads() map[string]func(context.Context) error {
	hot := query.Query{Collection: faultThings, Network: faultNetwork, Limit: 1}
	read := func(fn func(context.Context, store.Snapshot) error) func(context.Context) error {
		return func(ctx context.Context) error {
			return f.s.Read(ctx, func(s store.Snapshot) error { return fn(ctx, s) })
		}
	}
	return map[string]func(context.Context) error{
		"find " + faultThings: read(func(ctx context.Context, s store.Snapshot) error {
			return s.Find(ctx, hot, func(*store.Record) error { return nil })
		}),
		"find " + claimsCollection: read(func(ctx context.Context, s store.Snapshot) error {
			_, err := s.Claims(ctx, []store.Claim{hotClaim(1)})
			return err
		}),
		"find " + changesCollection: read(func(ctx context.Context, s store.Snapshot) error {
			return s.History(ctx, store.HistoryQuery{Network: faultNetwork, Limit: 1}, func(*store.Change) error { return nil })
		}),
		"aggregate " + faultThings: read(func(ctx context.Context, s store.Snapshot) error {
			// Another filter avoids the cached count.
			f.at++
			_, err := s.Count(ctx, query.Query{Collection: faultThings, Network: faultNetwork,
				Where: query.Compare{Field: query.Field{System: query.ID}, Op: query.Equal, Value: fmt.Sprint(f.at)}})
			return err
		}),
		"find " + blobsCollection: read(func(ctx context.Context, s store.Snapshot) error {
			return s.Blobs(ctx, store.Key{}, 1, func(store.Blob) error { return nil })
		}),
		"ping": f.s.Check,
		"aggregate " + changesCollection: func(ctx context.Context) error {
			_, _, err := f.s.Changes(ctx, "", 1<<20)
			return err
		},
		"createIndexes " + faultThings: func(ctx context.Context) error {
			return f.s.EnsureCollections(ctx, []store.Collection{{Name: faultThings}})
		},
		"listIndexes " + faultThings: func(ctx context.Context) error {
			return f.s.EnsureCollections(ctx, []store.Collection{{Name: faultThings}})
		},
		"delete " + claimsCollection: func(ctx context.Context) error {
			return f.s.Forget(ctx, faultThings, nil, []string{"unknown"})
		},
		"update " + faultThings: func(ctx context.Context) error {
			return f.s.Forget(ctx, faultThings, []string{"unknown"}, nil)
		},
	}
}

// once are the steps whose callers ask again anyway: of the second, only errors of no class are
// tried again.
var once = map[step]bool{{"ping", ""}: true, {"aggregate", changesCollection}: true}

// TestFaultPointsOfReads makes reads fail in every way that MongoDB has: they
// are retried where that may help, and their errors have documented codes.
func TestFaultPointsOfReads(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, mongodb.Lend(t))
	for name, call := range f.reads() {
		var at step
		fmt.Sscan(name, &at.command, &at.collection)
		f.must(call(t.Context()))
		try := func(p failPoint, c class) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*short)
			defer cancel()
			f.failing(p, func() {
				err := call(ctx)
				code, known := store.CodeOf(err)
				switch {
				case err == nil && (p.times == 0 || c.runs == 1):
					t.Errorf("%v: no error", p)
				case err == nil:
				case !known, c != isBug && code == store.CodeInternal,
					!slices.Contains([]store.Code{store.CodeUnavailable, store.CodeFull, store.CodeDeadline, store.CodeInternal}, code):
					t.Errorf("%v: code %d: %v", p, code, err)
				case p.times > 0 && c.runs > p.times && (!once[at] || c == isBug && at.command != "ping"):
					t.Errorf("%v: was not tried again: %v", p, err)
				}
			})
		}
		for code, class := range codeClasses {
			if testing.Short() && !slices.Contains(representatives, code) {
				continue
			}
			if class == refuses || class == tooLarge || class == conflicts {
				continue // of transactions
			}
			if slices.Contains(representatives, code) {
				try(failPoint{at, faultCode(code), 0}, class)
			}
			// The driver takes half a second to accept a primary again.
			if class != loses {
				try(failPoint{at, faultCode(code), 1}, class)
			}
		}
		begun := time.Now()
		try(failPoint{at, faultCode(9001), 1}, loses)
		try(failPoint{at, faultCode(9001), 0}, loses)
		if took := time.Since(begun); took > 10*short+busy {
			t.Errorf("%s: took %v", name, took)
		}
	}
	f.nothingOpen("at the end", time.Second)
}
