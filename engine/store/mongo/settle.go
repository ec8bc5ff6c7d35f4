package mongo

import (
	"context"
	"log/slog"
	"time"
)

// settleLogAfter is the time after which Settle logs that it waits, and from then on asks
// no more often than every settleSlowly.
const (
	settleLogAfter = 2 * time.Second
	settleSlowly   = 500 * time.Millisecond
)

// Settle implements store.Store. It asks the servers which transactions are open, and
// for how long; MongoDB ends each in time, and release ends those of servers that
// have gone earlier. Without the permission to ask, Settle waits as long as MongoDB may
// let a transaction last. Ended transactions may not be on a majority yet, and are then
// not readable; a commit of the store's own, which comes after them, waits for that.
func (s *Store) Settle(ctx context.Context, at time.Time) error {
	var first map[openTransaction]bool
	begun := time.Now()
	answered, logged := begun, false
	for n := 0; first == nil || len(first) > 0; n++ {
		if err := s.open(ctx); err != nil {
			return err
		}
		term, done := s.leader.follow()
		open, err := s.openTransactions(ctx, at)
		if err == nil {
			answered = time.Now()
		}
		again, translated := s.translate(ctx, term, err)
		done()
		switch {
		case err == nil && first == nil:
			first = open
		case err == nil:
			for id := range first {
				if !open[id] {
					delete(first, id)
				}
			}
		case hasCode(err, 13, 8000): // not 18, with which every command fails
			if !wait(ctx, horizonSeconds*time.Second-time.Since(at)) {
				return deadline(ctx)
			}
			first = map[openTransaction]bool{}
		case again == final, time.Since(answered) > maxLost:
			return translated
		}
		if time.Since(begun) > blockedAfter {
			s.release()
		}
		if !logged && time.Since(begun) > settleLogAfter {
			logged = true
			s.log.Info("waiting for open transactions; MongoDB ends each after a minute", slog.Int("open", len(first)))
		}
		if len(first) > 0 && logged && !wait(ctx, settleSlowly) {
			return deadline(ctx)
		}
		if len(first) > 0 && !pause(ctx, n, conflict) || first == nil && !pause(ctx, n, lost) {
			return deadline(ctx)
		}
	}
	return s.commitNothing(ctx)
}

// openTransaction identifies a transaction of a session, which is BSON.
type openTransaction struct {
	session string
	number  int64
}

// listings is the number of listings that are combined. A server lists active
// transactions before idle ones, so it misses one that becomes active in between:
// in about 1 of 40 listings if the transaction sends one command after another.
const listings = 6

// openTransactions returns the transactions that were open at a time, of all clients with
// this database user, except those of servers that use another database.
func (s *Store) openTransactions(ctx context.Context, at time.Time) (map[openTransaction]bool, error) {
	open := map[openTransaction]bool{}
	for range listings {
		since := time.Since(at)
		listed, err := s.listTransactions(ctx)
		if err != nil {
			return nil, err
		}
		for _, one := range listed {
			if one.Micros < since.Microseconds() {
				continue // it has begun later
			}
			open[openTransaction{string(one.Session), one.Number}] = true
		}
	}
	return open, nil
}

// Serial implements store.Store.
func (s *Store) Serial() bool { return false }
