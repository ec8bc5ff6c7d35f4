package parallel

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
)

// Every number is visited once, however many goroutines share them.
func TestDo(t *testing.T) {
	for _, n := range []int{0, 1, together, 100 * together} {
		visits := make([]atomic.Int32, n)
		var workers atomic.Int32
		err := Do(n, func() func(int) error {
			workers.Add(1)
			return func(i int) error { visits[i].Add(1); return nil }
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range visits {
			if v := visits[i].Load(); v != 1 {
				t.Errorf("of %d, %d was visited %d times", n, i, v)
			}
		}
		if w := workers.Load(); int(w) > n/together+1 {
			t.Errorf("%d calls have %d workers", n, w)
		}
	}
}

// An error ends the work before all of it is done.
func TestDoEndsWithAnError(t *testing.T) {
	const n = 1 << 20
	failure := errors.New("the third failed")
	var calls atomic.Int64
	err := Do(n, func() func(int) error {
		return func(i int) error {
			if i == 2 {
				return failure
			}
			calls.Add(1)
			return nil
		}
	})
	if !errors.Is(err, failure) {
		t.Errorf("the error is %v", err)
	}
	if calls.Load() == n-1 {
		t.Error("all other calls were made")
	}
}

// A panic would end the program, as nothing recovers in a goroutine of Do.
func TestDoReturnsPanics(t *testing.T) {
	const n = 100 * together
	err := Do(n, func() func(int) error {
		return func(i int) error {
			if i == n/2 {
				panic("a worker's fault")
			}
			return nil
		}
	})
	if err == nil || !strings.Contains(err.Error(), "a worker's fault") || !strings.Contains(err.Error(), "parallel_test.go") {
		t.Errorf("the error is %v", err)
	}
}
