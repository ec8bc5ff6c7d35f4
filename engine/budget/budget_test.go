package budget

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"marquee/engine/message"
)

// The tests' budget: shares up to 100 bytes are small, up to 800 medium. Large
// ones have 5200 bytes together, and 5600 with the medium ones; 800 are spared.
const total = 6400

func take(t *testing.T, b *Budget, caller string, n int64) *Share {
	t.Helper()
	s, err := b.Take(t.Context(), caller, n)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// waiter takes a share in the background.
type waiter struct {
	done  chan struct{}
	share *Share
	err   error
}

func wait(ctx context.Context, b *Budget, caller string, n int64) *waiter {
	w := &waiter{done: make(chan struct{})}
	go func() {
		w.share, w.err = b.Take(ctx, caller, n)
		close(w.done)
	}()
	synctest.Wait()
	return w
}

// granted reports whether the share was granted.
func (w *waiter) granted() bool {
	select {
	case <-w.done:
		return w.err == nil
	default:
		return false
	}
}

func (w *waiter) check(t *testing.T, granted bool) {
	t.Helper()
	if w.granted() != granted {
		t.Fatalf("granted: %v", !granted)
	}
}

// empty checks that nothing is held any more, and nothing remembered.
func (b *Budget) empty(t *testing.T) {
	t.Helper()
	if b.all() != 0 || b.from(large) != 0 || len(b.accounts) != 0 || b.waiting != 0 || len(b.lines[0])+len(b.lines[1])+len(b.lines[2]) != 0 || b.overdrawn != nil || len(b.growing) != 0 {
		t.Errorf("something is left: %+v", b)
	}
}

func TestSharesWaitForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(total)
		first := take(t, b, "a", 3000)
		second := wait(t.Context(), b, "b", 2300)
		second.check(t, false)
		first.Shrink(2800)
		synctest.Wait()
		second.check(t, true)
		first.Release()
		first.Release()
		second.share.Release()
		b.empty(t)
	})
}

func TestMoreThanTheBudgetIsTheLargestShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(total)
		one := take(t, b, "a", 1<<40)
		if one.Bytes() != b.Most() {
			t.Errorf("the share has %d bytes", one.Bytes())
		}
		next := wait(t.Context(), b, "b", 801)
		next.check(t, false)
		one.Release()
		synctest.Wait()
		next.check(t, true)
		next.share.Release()
		b.empty(t)
	})
}

// Callers take turns, whoever has more requests in the line.
func TestCallersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(total)
		holder := take(t, b, "x", 5200)
		callers := []string{"a", "a", "a", "a", "b", "c", "b"}
		var waiters []*waiter
		for _, caller := range callers {
			waiters = append(waiters, wait(t.Context(), b, caller, 5200))
		}
		var order []string
		for next := holder; next != nil; {
			next.Release()
			synctest.Wait()
			next = nil
			for i, w := range waiters {
				if w != nil && w.granted() {
					order, next = append(order, callers[i]), w.share
					waiters[i] = nil
				}
			}
		}
		if expected := []string{"a", "b", "c", "a", "b", "a", "a"}; !slices.Equal(order, expected) {
			t.Errorf("the order is %v, not %v", order, expected)
		}
		b.empty(t)
	})
}

// A large request is not passed by smaller ones for ever.
func TestALargeRequestIsNotPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(total)
		holder := take(t, b, "a", 1200)
		larger := wait(t.Context(), b, "b", 5200)
		after := wait(t.Context(), b, "c", 900)
		larger.check(t, false)
		after.check(t, false)
		holder.Release()
		synctest.Wait()
		larger.check(t, true)
		after.check(t, false)
		larger.share.Release()
		synctest.Wait()
		after.check(t, true)
		after.share.Release()
		b.empty(t)
	})
}

// Small and medium shares have parts of their own, which is all that they get
// while larger ones wait.
func TestSmallSharesDoNotWaitForLargeOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(total)
		held := []*Share{take(t, b, "a", 5200)}
		larger := wait(t.Context(), b, "b", 5200)
		held = append(held, take(t, b, "c", 400))
		mediumOne := wait(t.Context(), b, "d", 400)
		for i := range 8 {
			held = append(held, take(t, b, string(rune('e'+i)), 100))
		}
		smallOne := wait(t.Context(), b, "z", 100)
		for _, w := range []*waiter{larger, mediumOne, smallOne} {
			w.check(t, false)
		}
		held[1].Release()
		synctest.Wait()
		mediumOne.check(t, true)
		smallOne.check(t, false)
		held[2].Release()
		synctest.Wait()
		smallOne.check(t, true)
		larger.check(t, false)
		held[0].Release()
		synctest.Wait()
		larger.check(t, true)
		for _, s := range append(held, larger.share, mediumOne.share, smallOne.share) {
			s.Release()
		}
		b.empty(t)
	})
}

// A caller who holds much leaves something for the others.
func TestCallersSpareSomething(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(total)
		var held []*Share
		for range 56 {
			held = append(held, take(t, b, "a", 100))
		}
		more := wait(t.Context(), b, "a", 100)
		more.check(t, false)
		for i := range 8 {
			held = append(held, take(t, b, string(rune('b'+i)), 100))
		}
		other := wait(t.Context(), b, "b", 100)
		other.check(t, false)
		held[63].Release() // leaves room for b, and nothing that a may have
		synctest.Wait()
		other.check(t, true)
		more.check(t, false)
		for _, s := range held[:9] {
			s.Release()
		}
		synctest.Wait()
		more.check(t, true)
		for _, s := range append(held, more.share, other.share) {
			s.Release()
		}
		b.empty(t)
	})
}

// However many medium shares a caller asks for, others get theirs at once.
func TestCallersSpareMediumShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(total)
		var held []*Share
		for range 12 {
			held = append(held, take(t, b, "a", 400))
		}
		more := wait(t.Context(), b, "a", 400)
		more.check(t, false)
		for range 2 {
			other := wait(t.Context(), b, "b", 400)
			other.check(t, true)
			held = append(held, other.share)
		}
		held[0].Release()
		synctest.Wait()
		more.check(t, false) // what two others have is still missing
		for _, s := range held {
			s.Release()
		}
		synctest.Wait()
		more.check(t, true)
		more.share.Release()
		b.empty(t)
	})
}

func TestTheLineIsLeftWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(total)
		holder := take(t, b, "a", 3500)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		leaving := wait(ctx, b, "b", 5200)
		behind := wait(t.Context(), b, "c", 900)
		behind.check(t, false)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		<-leaving.done
		refused(t, leaving.err)
		behind.check(t, true)
		holder.Release()
		behind.share.Release()
		b.empty(t)
	})
}

func refused(t *testing.T, err error) {
	t.Helper()
	var e *message.Error
	if !message.ServerBusy.Is(err) || !errors.As(err, &e) || e.RetryAfter == 0 || e.Kind != message.Unavailable {
		t.Fatalf("the error is %v", err)
	}
}

func TestTheLineIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(total)
		holder := take(t, b, "x", 5200)
		ctx, cancel := context.WithCancel(t.Context())
		for i := range MaxWaiting {
			go b.Take(ctx, string(rune('a'+i/MaxCallerWaiting)), 5200)
		}
		synctest.Wait()
		_, err := b.Take(t.Context(), "a", 5200)
		refused(t, err)
		_, err = b.Take(t.Context(), "z", 5200)
		refused(t, err)
		if _, ok := b.Try("z", 5200); ok {
			t.Error("Try passed those who wait")
		}
		cancel()
		synctest.Wait()
		holder.Release()
		b.empty(t)
	})
}

// Shares that grow do not wait for each other: one of them may go beyond the
// budget.
func TestSharesGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(total)
		first, second, third := take(t, b, "a", 2400), take(t, b, "b", 2300), take(t, b, "c", 50)
		for _, grown := range []int64{4000, 3000} {
			if err := first.Grow(t.Context(), grown); err != nil {
				t.Fatal(err)
			}
		}
		order := make(chan string, 3)
		grow := func(name string, s *Share, n int64) {
			go func() {
				if err := s.Grow(t.Context(), n); err == nil {
					order <- name
				}
			}()
			synctest.Wait()
		}
		grow("second", second, 5000)
		grow("third", third, 3000)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		newcomer := wait(t.Context(), b, "d", 50)
		refused(t, take0(t, b).Grow(ctx, 1)) // nothing is free, so it waits
		newcomer.check(t, false)
		first.Release()
		synctest.Wait()
		if next := <-order; next != "second" {
			t.Errorf("%s grew first", next)
		}
		select {
		case name := <-order:
			t.Errorf("%s grew beyond the budget beside another", name)
		default:
		}
		second.Release()
		synctest.Wait()
		if next := <-order; next != "third" {
			t.Errorf("%s grew", next)
		}
		newcomer.check(t, true)
		third.Release()
		newcomer.share.Release()
	})
}

// take0 is a share of nothing, which is there although nothing is free.
func take0(t *testing.T, b *Budget) *Share {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &Share{b: b, a: b.account("e")}
	s.a.shares++
	return s
}

// TestBudgetAtRandom has callers take, grow, shrink, release and leave at random;
// what is held must stay within the budget but for one share that grew, and
// everybody must come to an end.
func TestBudgetAtRandom(t *testing.T) {
	b := New(total)
	var all sync.WaitGroup
	for worker := range 16 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 1))
			for range 2000 {
				ctx, cancel := context.WithCancel(t.Context())
				if random.IntN(8) == 0 {
					go cancel()
				}
				n := random.Int64N(200)
				if random.IntN(4) == 0 {
					n = random.Int64N(2 * total)
				}
				if s, err := b.Take(ctx, string(rune('a'+worker%5)), n); err == nil {
					if random.IntN(3) == 0 {
						_ = s.Grow(ctx, random.Int64N(2000))
					}
					s.Shrink(random.Int64N(total))
					b.within(t)
					s.Release()
				}
				cancel()
			}
		})
	}
	all.Wait()
	b.empty(t)
}

func (b *Budget) within(t *testing.T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.overdrawn == nil && b.all() > b.Total() || b.all() < 0 || b.from(large) < 0 {
		t.Errorf("%d bytes are held, %d in large shares", b.all(), b.from(large))
	}
}

// Reserve adds to the share of a context what it lacks.
func TestReserve(t *testing.T) {
	b := New(total)
	if err := Reserve(t.Context(), 1<<40); err != nil {
		t.Error(err)
	}
	s := take(t, b, "a", 100)
	ctx := With(t.Context(), s)
	for _, n := range []int64{300, 200, 400} {
		if err := Reserve(ctx, n); err != nil {
			t.Error(err)
		}
	}
	if s.Bytes() != 400 {
		t.Errorf("the share has %d bytes", s.Bytes())
	}
	if err := Reserve(ctx, 1<<40); err != nil || s.Bytes() != b.Most() {
		t.Errorf("%v; the share has %d bytes", err, s.Bytes())
	}
	s.Release()
	b.empty(t)
}

// TryReserve reserves nothing where it would have to wait.
func TestTryReserve(t *testing.T) {
	b := New(total)
	if !TryReserve(t.Context(), 1<<40) {
		t.Error("work without a share has to wait")
	}
	first, second := take(t, b, "a", total/2), take(t, b, "b", total/4)
	for _, s := range []*Share{first, second} {
		if !TryReserve(With(t.Context(), s), s.Bytes()) {
			t.Error("a share that holds enough has to wait")
		}
	}
	if !TryReserve(With(t.Context(), first), b.Most()) || b.Used() <= total {
		t.Errorf("the first beyond the budget has to wait; %d bytes are held", b.Used())
	}
	if TryReserve(With(t.Context(), second), total/2) || second.Bytes() != total/4 {
		t.Errorf("a second beyond the budget has %d bytes", second.Bytes())
	}
	first.Release()
	if !TryReserve(With(t.Context(), second), total/2) || second.Bytes() != total/2 {
		t.Errorf("behind the first, it has %d bytes", second.Bytes())
	}
	second.Release()
	b.empty(t)
}

func BenchmarkTake(b *testing.B) {
	budget := New(256 << 20)
	b.ReportAllocs()
	for b.Loop() {
		s, err := budget.Take(b.Context(), "a", 64<<10)
		if err != nil {
			b.Fatal(err)
		}
		s.Release()
	}
}
