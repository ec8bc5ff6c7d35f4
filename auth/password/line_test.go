package password

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	"marquee/engine/message"
)

// queue enters a line from these origins, in this order, and leaves each seat at once.
// It returns the origins in the order of their seats, and how many were refused.
func queue(t *testing.T, l line, from ...string) (served []string, refused map[string]int) {
	refused = map[string]int{}
	synctest.Test(t, func(t *testing.T) {
		if err := l.enter(t.Context(), "before"); err != nil { // the only seat
			t.Fatal(err)
		}
		for _, name := range from {
			go func() {
				if err := l.enter(t.Context(), name); err != nil {
					if !message.AttemptsTooMany.Is(err) {
						t.Error(err)
					}
					refused[name]++
					return
				}
				served = append(served, name) // by who has the seat
				l.leave(name)
			}()
			synctest.Wait()
		}
		l.leave("before")
		synctest.Wait()
	})
	free(t, l, 1)
	return served, refused
}

// free checks that a line has all its seats, and that nobody waits.
func free(t *testing.T, l line, seats int) {
	t.Helper()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range seats {
		if err := l.enter(ended, fmt.Sprint(i)); err != nil {
			t.Errorf("after %d of %d seats: %v", i, seats, err)
		}
	}
	if err := l.enter(ended, "another"); err == nil {
		t.Errorf("there are more than %d seats", seats)
	}
	if n := l.Waiting(); n != 0 {
		t.Errorf("%d wait", n)
	}
}

func TestLineIsFairBetweenOrigins(t *testing.T) {
	served, refused := queue(t, newLine(1, 64, 64), "a", "a", "a", "a", "b", "b", "c")
	if want := []string{"a", "b", "c", "a", "b", "a", "a"}; !slices.Equal(served, want) || len(refused) > 0 {
		t.Errorf("%v, refused %v, want %v", served, refused, want)
	}
}

func TestLineIsBounded(t *testing.T) {
	for _, c := range []struct {
		title   string
		l       line
		from    []string
		refused map[string]int
	}{
		{"of one origin", newLine(1, 3, 64), []string{"a", "a", "a", "a", "a", "b"}, map[string]int{"a": 2}},
		{"in total, by those who have most", newLine(1, 8, 4), []string{"a", "a", "a", "b", "b", "c", "d", "e"}, map[string]int{"a": 2, "b": 1, "e": 1}},
	} {
		t.Run(c.title, func(t *testing.T) {
			served, refused := queue(t, c.l, c.from...)
			unserved := 0
			for _, n := range c.refused {
				unserved += n
			}
			if !maps.Equal(refused, c.refused) || len(served) != len(c.from)-unserved {
				t.Errorf("served %v, refused %v", served, refused)
			}
		})
	}
}

func TestLineIsLeftWithItsContext(t *testing.T) {
	l := newLine(1, 64, 64)
	synctest.Test(t, func(t *testing.T) {
		if err := l.enter(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		for range 10 {
			go func() {
				if err := l.enter(ctx, "a"); !message.DeadlineExceeded.Is(err) || !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}()
		}
		synctest.Wait()
		if n := l.Waiting(); n != 10 {
			t.Errorf("%d wait", n)
		}
		cancel()
		synctest.Wait()
		if n := l.Waiting(); n != 0 {
			t.Errorf("%d still wait", n)
		}
		l.leave("a")
		if err := l.enter(t.Context(), "b"); err != nil {
			t.Error(err)
		}
	})
}

// A seat is not lost if the context ends while it is given.
func TestLineKeepsItsSeats(t *testing.T) {
	const seats = 2
	l := newLine(seats, 1000, 1000)
	done := make(chan struct{})
	for i := range 200 {
		go func() {
			defer func() { done <- struct{}{} }()
			ctx, cancel := context.WithCancel(t.Context())
			go cancel()
			if from := fmt.Sprint(i % 3); l.enter(ctx, from) == nil {
				l.leave(from)
			}
		}()
	}
	for range 200 {
		<-done
	}
	free(t, l, seats)
}

func TestOrigins(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1", "192.0.2.1", true},
		{"192.0.2.1", "192.0.2.2", false},
		{"192.0.2.1", "::ffff:192.0.2.1", true},
		{"2001:db8::1", "2001:db8::ffff:0:0:2", true},
		{"2001:db8::1", "2001:db8:0:1::1", false},
		{"fe80::1%eth0", "fe80::2%eth1", true},
		{"", "192.0.2.1", false},
	} {
		if (originOf(c.a) == originOf(c.b)) != c.same {
			t.Errorf("%q is of %q, %q of %q", c.a, originOf(c.a), c.b, originOf(c.b))
		}
	}
}
