package sqlite

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"marquee/engine/store"
)

// TestReadsPassExtensiveOnes checks that reads of single objects do not wait
// for long lists, however many there are.
func TestReadsPassExtensiveOnes(t *testing.T) {
	s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "s.db"), Readers: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var wait sync.WaitGroup
	begun, end := make(chan struct{}, 20), make(chan struct{})
	for range cap(begun) {
		wait.Go(func() {
			err := s.Read(store.WithEffort(t.Context(), store.Effort{Extensive: true}), func(store.Snapshot) error {
				begun <- struct{}{}
				<-end
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	<-begun
	<-begun
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for range 1000 { // lets all others arrive
		if err := s.Read(ctx, func(store.Snapshot) error { return nil }); err != nil {
			t.Errorf("a read beside long ones: %v", err)
			break
		}
	}
	close(end)
	wait.Wait()
}

// TestListsTakeTurnsByCaller checks that the lists of one caller leave readers for
// those of others, and that those who wait take turns.
func TestListsTakeTurnsByCaller(t *testing.T) {
	s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "s.db"), Readers: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var wait sync.WaitGroup
	begun, end := make(chan struct{}), make(chan struct{})
	list := func(caller string, fn func()) {
		wait.Go(func() {
			ctx := store.LongRunning(store.WithEffort(t.Context(), store.Effort{Caller: caller}))
			if err := s.Read(ctx, func(store.Snapshot) error { fn(); return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	for range 20 {
		list("busy", func() {
			select {
			case begun <- struct{}{}:
				<-end
			case <-end:
			}
		})
	}
	<-begun
	<-begun
	ctx, cancel := context.WithTimeout(store.LongRunning(store.WithEffort(t.Context(), store.Effort{Caller: "other"})), 20*time.Second)
	defer cancel()
	for range 10 {
		if err := s.Read(ctx, func(store.Snapshot) error { return nil }); err != nil {
			t.Errorf("a list beside those of a busy caller: %v", err)
			break
		}
	}
	close(end)
	wait.Wait()
}
