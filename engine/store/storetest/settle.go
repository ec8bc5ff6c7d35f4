package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"marquee/engine/store"
)

func (c *checked) Settle(ctx context.Context, at time.Time) error {
	err := c.Store.Settle(ctx, at)
	fault(c.t, "Settle", err)
	return err
}

func (c *checked) Now(ctx context.Context) (time.Time, error) {
	now, err := c.Store.Now(ctx)
	fault(c.t, "Now", err)
	return now, err
}

// testNow proves that the clock of the store advances, also with writes.
func testNow(t *testing.T, h Harness) {
	f := open(t, h)
	var last time.Time
	for i := range 3 {
		now, err := f.s.Now(f.ctx)
		f.must(err)
		if now.Before(last) || now.Before(time.Now().Add(-time.Minute)) || now.After(time.Now().Add(time.Minute)) {
			f.Errorf("it is %v after %v", now, last)
		}
		last = now
		f.put(things, newRecord(fmt.Sprint(i), `{}`))
	}
	if now, err := f.s.Now(f.ctx); !now.After(last) || err != nil {
		f.Errorf("after a write it is %v, after %v, %v", now, last, err)
	}
}

// testSettle proves that Settle waits for running transactions, and that their
// writes are readable afterwards.
func testSettle(t *testing.T, h Harness) {
	f := open(t, h)
	f.must(f.s.Settle(f.ctx, time.Now()))

	open, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var written, settled sync.WaitGroup
	written.Go(func() {
		err := f.s.Write(f.ctx, func(tx store.Tx) error {
			err := tx.Put(f.ctx, things, []store.Write{newRecord("late", `{}`)})
			once.Do(func() { close(open) })
			<-release
			return err
		})
		if err != nil {
			f.Error(err)
		}
	})
	<-open
	done := make(chan struct{})
	settled.Go(func() {
		defer close(done)
		if err := f.s.Settle(f.ctx, time.Now()); err != nil {
			f.Error(err)
		}
	})
	select {
	case <-done:
		f.Error("Settle returned while a transaction was open")
	case <-time.After(300 * time.Millisecond):
	}
	close(release)
	settled.Wait()
	if _, found := f.get(things, "late"); !found {
		f.Error("a write of an ended transaction is not readable")
	}
	written.Wait()

	ended, cancel := context.WithCancel(f.ctx)
	cancel()
	f.code(f.s.Settle(ended, time.Now()), store.CodeDeadline)
}
