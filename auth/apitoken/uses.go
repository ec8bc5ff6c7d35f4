package apitoken

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"marquee/auth/cache"
	"marquee/engine/generations"
	"marquee/engine/store"
)

// useCollection has a record for each API token that has been used, whose UpdateTime is
// when it was last used. It is apart from the tokens, whose versions it leaves alone.
const useCollection = "auth_token_uses"

// useInterval is the precision of the last use of an API token.
const useInterval = time.Minute

// Uses remembers which API tokens have been used, until that is stored.
type Uses struct {
	store store.Store

	mu sync.Mutex
	// noted is when the use of a token was last noted, pending what is not stored yet.
	noted   generations.Map[store.Key, time.Time]
	pending map[store.Key]time.Time
	// waiting has an item while something is pending.
	waiting chan struct{}
}

func newUses(s store.Store) *Uses {
	u := &Uses{store: s, pending: map[store.Key]time.Time{}, waiting: make(chan struct{}, 1)}
	u.noted.Most = cache.Most
	return u
}

// note remembers a use, unless it is less than useInterval after one that was noted. With
// cache.Most of them pending, it is forgotten.
func (u *Uses) note(token store.Key, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	last, known := u.noted.Get(token)
	if known && now.Sub(last) < useInterval || len(u.pending) >= cache.Most {
		return
	}
	u.noted.Put(token, now)
	u.pending[token] = now
	select {
	case u.waiting <- struct{}{}:
	default:
	}
}

// take returns at most usesAtOnce pending uses, which are pending no longer.
func (u *Uses) take() map[store.Key]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	some := map[store.Key]time.Time{}
	for token, at := range u.pending {
		if len(some) == usesAtOnce {
			break
		}
		some[token] = at
		delete(u.pending, token)
	}
	return some
}

// giveBack makes uses pending again that could not be stored.
func (u *Uses) giveBack(failed map[store.Key]time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for token, at := range failed {
		if at.After(u.pending[token]) {
			u.pending[token] = at
		}
	}
}

// usesAtOnce is the maximum number of uses that a transaction stores, useTime how long it may take, and
// lastUseTime how long all of them may take when the server stops.
const (
	usesAtOnce  = 500
	useTime     = 10 * time.Second
	lastUseTime = 500 * time.Millisecond
)

// Record stores when API tokens were last used, until the context ends. What cannot
// be stored is stored with the next use, or by Store.
func (u *Uses) Record(ctx context.Context, log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastUseTime)
			defer cancel()
			_ = u.Store(last)
			return
		case <-u.waiting:
		}
		if err := u.Store(ctx); err != nil && ctx.Err() == nil {
			log.Warn("the last uses of API tokens could not be stored", slog.String("cause", err.Error()))
		}
	}
}

// Store stores all pending uses.
func (u *Uses) Store(ctx context.Context) error {
	for {
		some := u.take()
		if len(some) == 0 {
			return nil
		}
		if err := u.storeSome(ctx, some); err != nil {
			u.giveBack(some)
			return err
		}
	}
}

func (u *Uses) storeSome(ctx context.Context, some map[store.Key]time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, useTime)
	defer cancel()
	keys := slices.Collect(maps.Keys(some))
	return u.store.Write(ctx, func(tx store.Tx) error {
		stored := map[store.Key]store.Record{}
		err := tx.Get(ctx, useCollection, keys, func(r *store.Record) error {
			stored[r.Key] = store.Record{Key: r.Key, Revision: r.Revision, CreateTime: r.CreateTime, UpdateTime: r.UpdateTime}
			return nil
		})
		if err != nil {
			return err
		}
		var writes []store.Write
		for token, at := range some {
			was, known := stored[token]
			if known && at.Sub(was.UpdateTime) < useInterval { // by another server
				continue
			}
			was.Key = token
			writes = append(writes, store.InternalWrite(was, "ACTIVE", []byte("{}"), at))
		}
		if len(writes) == 0 {
			return nil
		}
		return tx.Put(ctx, useCollection, writes)
	})
}
