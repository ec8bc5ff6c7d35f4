package sqlite

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"marquee/engine/store"
)

// hold keeps the writer busy until release is called, which waits for the end.
func hold(t *testing.T, s *Store) (release func()) {
	t.Helper()
	began, end, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	begin := sync.OnceFunc(func() { close(began) }) // it may run again
	go func() {
		ended <- s.Write(context.Background(), func(store.Tx) error {
			begin()
			<-end
			return nil
		})
	}()
	<-began
	return func() {
		t.Helper()
		close(end)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestQueueLeft checks that a transaction whose context ends while it waits for
// the writer returns then, and does not run.
func TestQueueLeft(t *testing.T) {
	s := openTest(t, Options{})
	ensureThings(t, s)
	release := hold(t, s)
	put := func(ctx context.Context, number int) error {
		return s.Write(ctx, func(tx store.Tx) error { return tx.Put(ctx, "things", batch(number, 1, 10)) })
	}
	late, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if code, _ := store.CodeOf(put(late, 1)); code != store.CodeBusy {
		t.Errorf("who waits until the deadline gets code %d", code)
	}
	gone, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() { left <- put(gone, 2) }()
	waitFor(t, s, 1)
	leave()
	if code, _ := store.CodeOf(<-left); code != store.CodeBusy {
		t.Errorf("who has left gets code %d", code)
	}
	if n := s.writer.queue.len(); n != 0 {
		t.Errorf("%d wait", n)
	}
	release()
	if err := put(t.Context(), 3); err != nil {
		t.Error(err)
	}
	if n := stored(t, s); n != 1 {
		t.Errorf("%d are stored", n)
	}
}

// waitFor returns when n transactions wait.
func waitFor(t *testing.T, s *Store, n int) {
	t.Helper()
	for s.writer.queue.len() < n {
		select {
		case <-t.Context().Done():
			t.Fatal("no transaction waits")
		case <-time.After(time.Millisecond): // there is no signal that a job was queued
		}
	}
}

// TestQueueOrder checks that short transactions pass extensive ones, but not
// twice, and that callers take turns, however many transactions each has.
func TestQueueOrder(t *testing.T) {
	const short, extensive = false, true
	type call struct {
		caller    string
		extensive bool
	}
	for name, c := range map[string]struct {
		calls []call
		want  string
	}{
		"short ones pass": {[]call{{"a", extensive}, {"a", extensive}, {"a", extensive}, {"a", short}, {"a", short}, {"a", short}},
			"extensive a0, short a3, extensive a1, short a4, extensive a2, short a5"},
		"turns of short ones": {[]call{{"a", short}, {"a", short}, {"a", short}, {"b", short}, {"b", short}, {"c", short}},
			"short a0, short b3, short c5, short a1, short b4, short a2"},
		"turns of extensive ones": {[]call{{"a", extensive}, {"a", extensive}, {"a", extensive}, {"b", extensive}, {"b", short}},
			"extensive a0, short b4, extensive b3, extensive a1, extensive a2"},
	} {
		t.Run(name, func(t *testing.T) {
			s := openTest(t, Options{})
			s.writer.groupTime = -1 // each group is one transaction
			release := hold(t, s)
			var ran []string
			done := make(chan error)
			for i, call := range c.calls {
				ctx, kind := store.WithEffort(t.Context(), store.Effort{Caller: call.caller, Extensive: call.extensive}), "short"
				if call.extensive {
					kind = "extensive"
				}
				go func() {
					done <- s.Write(ctx, func(store.Tx) error {
						ran = append(ran, fmt.Sprint(kind, " ", call.caller, i))
						return nil
					})
				}()
				waitFor(t, s, i+1)
			}
			release()
			for range c.calls {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
			if got := strings.Join(ran, ", "); got != c.want {
				t.Errorf("they ran as %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestStatementsEnd checks that a transaction that runs past its deadline ends
// at its next statement, or in the middle of a long read, and that those that
// share its commit are stored.
func TestStatementsEnd(t *testing.T) {
	s := openTest(t, Options{})
	ensureThings(t, s)
	s.writer.groupTime = time.Minute
	release := hold(t, s)
	done := make(chan error)
	runs := 0
	go func() {
		done <- s.Write(t.Context(), func(tx store.Tx) error {
			runs++
			return tx.Put(t.Context(), "things", batch(1, 1, 10))
		})
	}()
	waitFor(t, s, 1)
	for i, end := range map[int]func(ctx context.Context, cancel func(), tx *transaction) error{
		2: func(ctx context.Context, cancel func(), tx *transaction) error {
			cancel()
			return tx.Put(ctx, "things", batch(20, 1, 10))
		},
		3: func(ctx context.Context, cancel func(), tx *transaction) error {
			return tx.query(ctx, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT i FROM n", nil, func(row *stmt) error {
				if row.ColumnInt64(0) == 1000 {
					cancel()
				}
				return nil
			})
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		n := s.writer.queue.len()
		go func() {
			err := s.Write(ctx, func(tx store.Tx) error {
				if err := tx.Put(ctx, "things", batch(i, 1, 10)); err != nil {
					return err
				}
				return end(ctx, cancel, tx.(*transaction))
			})
			if code, _ := store.CodeOf(err); code != store.CodeDeadline {
				t.Errorf("transaction %d: %v", i, err)
			}
			done <- nil
		}()
		waitFor(t, s, n+1)
	}
	release()
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := stored(t, s); n != 1 || runs > 2 {
		t.Errorf("%d are stored, after %d runs", n, runs)
	}
}
