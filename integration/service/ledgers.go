package service

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"marquee/engine/query"
	"marquee/engine/store"
)

// Ledger is a store that notes what it is asked to do: a request that does the
// same work takes the same time.
type Ledger struct {
	store.Store
	mu    sync.Mutex
	calls []string
}

func (s *Ledger) note(what string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, fmt.Sprintf(what, args...))
}

// readAgain is how a request reads the signing keys, its session or its caller again,
// whatever it asks for, when the store does not know whether they have changed.
var readAgain = regexp.MustCompile(`read, (find in auth_keys|get 2 of auth_sessions|get 1 of users, get 1 of auth_credentials, get 1 of networks, get 1 of roles, find in teams)(, |$)`)

// Taken returns what has been noted but for what is read again, and forgets it.
func (s *Ledger) Taken() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := strings.Join(s.calls, ", ")
	s.calls = nil
	return readAgain.ReplaceAllString(calls, "")
}

// Read implements store.Store.
func (s *Ledger) Read(ctx context.Context, fn func(store.Snapshot) error) error {
	s.note("read")
	return s.Store.Read(ctx, func(r store.Snapshot) error { return fn(noted{r, s}) })
}

// Write implements store.Store.
func (s *Ledger) Write(ctx context.Context, fn func(store.Tx) error) error {
	s.note("write")
	return s.Store.Write(ctx, func(tx store.Tx) error { return fn(notedTx{tx, noted{tx, s}}) })
}

// noted notes the queries of a snapshot; those of a transaction too.
type noted struct {
	store.Snapshot
	s *Ledger
}

func (r noted) Get(ctx context.Context, collection string, keys []store.Key, yield func(*store.Record) error) error {
	r.s.note("get %d of %s", len(keys), collection)
	return r.Snapshot.Get(ctx, collection, keys, yield)
}

func (r noted) Find(ctx context.Context, q query.Query, yield func(*store.Record) error) error {
	r.s.note("find in %s", q.Collection)
	return r.Snapshot.Find(ctx, q, yield)
}

func (r noted) Count(ctx context.Context, q query.Query) (int64, error) {
	r.s.note("count in %s", q.Collection)
	return r.Snapshot.Count(ctx, q)
}

func (r noted) History(ctx context.Context, q store.HistoryQuery, yield func(*store.Change) error) error {
	r.s.note("history")
	return r.Snapshot.History(ctx, q, yield)
}

type notedTx struct {
	store.Tx
	reads noted
}

func (tx notedTx) Get(ctx context.Context, collection string, keys []store.Key, yield func(*store.Record) error) error {
	return tx.reads.Get(ctx, collection, keys, yield)
}

func (tx notedTx) Find(ctx context.Context, q query.Query, yield func(*store.Record) error) error {
	return tx.reads.Find(ctx, q, yield)
}

func (tx notedTx) Count(ctx context.Context, q query.Query) (int64, error) {
	return tx.reads.Count(ctx, q)
}
