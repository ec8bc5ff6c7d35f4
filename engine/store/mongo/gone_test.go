package mongo

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"marquee/engine/store"
	"marquee/integration/mongodb"
)

// TestGoneServers: the transaction of a server that has gone is ended by one that is kept
// from writing, and that of a living server is not, however long it is open.
func TestGoneServers(t *testing.T) {
	t.Parallel()
	uri := mongodb.URI(t)
	gone, living, other := openTest(t, Options{URI: uri}), openTest(t, Options{URI: uri}), openTest(t, Options{URI: uri})
	if err := other.EnsureCollections(t.Context(), []store.Collection{{Name: faultThings}}); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	tx, _, err := gone.transact(t.Context(), gone.admission.place("", 0))
	if err == nil {
		err = countUp(t.Context(), tx, numbered(0))
	}
	if err != nil {
		t.Fatal(err)
	}
	tx.done() // it no longer shows that it lives

	var runs atomic.Int64
	proceed, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- living.Write(t.Context(), func(tx store.Tx) error {
			runs.Add(1)
			err := countUp(t.Context(), tx, numbered(1))
			<-proceed
			return err
		})
	}()
	ctx, cancel := context.WithTimeout(store.WithEffort(t.Context(), store.Effort{Records: 1}), 4*goneAfter)
	defer cancel()
	err = other.Write(ctx, func(tx store.Tx) error { return countUp(ctx, tx, numbered(0)) })
	if took := time.Since(begun); err != nil || took < goneAfter {
		t.Errorf("after %v: %v", took, err)
	}
	// By now, the other transaction has been open for as long.
	ctx, cancel = context.WithTimeout(ctx, 4*blockedAfter)
	defer cancel()
	err = other.Write(ctx, func(tx store.Tx) error { return countUp(ctx, tx, numbered(1)) })
	if code, _ := store.CodeOf(err); code != store.CodeBusy {
		t.Errorf("a record that a living server writes: %v", err)
	}
	close(proceed)
	if err := <-ended; err != nil || runs.Load() != 1 {
		t.Errorf("the transaction of a living server ran %d times: %v", runs.Load(), err)
	}
}
