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
// ones have 4800 bytes together, and 5600 with the medium ones; 800 are spared. First
// shares have 200 besides.
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
	if b.Used() != 0 || b.from(large) != 0 || len(b.accounts) != 0 || b.waits(small) || b.waits(medium) || b.waits(large) || b.parked != [classes]int64{} {
		t.Errorf("something is left: %+v", b)
	}
}

func TestSharesWaitForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(total)
		first := take(t, b, "a", 3000)
		second := wait(t.Context(), b, "b", 2300)
		second.check(t, false)
		first.Shrink(2400)
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

// Callers take turns, even if one has more requests in the line.
func TestCallersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(total)
		holder := take(t, b, "x", 4800)
		callers := []string{"a", "a", "a", "a", "b", "c", "b"}
		var waiters []*waiter
		for _, caller := range callers {
			waiters = append(waiters, wait(t.Context(), b, caller, 4800))
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
		larger := wait(t.Context(), b, "b", 4800)
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

// The second of two requests is served before the first, or waits behind it.
func TestWhichRequestsArePassed(t *testing.T) {
	type shares struct {
		caller string
		n      int64
		times  int
	}
	for _, c := range []struct {
		rule          string
		held          []shares
		first, second shares
		passed        bool
	}{
		{"small, of a caller who holds much", []shares{{"x", 4800, 1}, {"y", 700, 1}, {"b", 50, 1}, {"a", 100, 8}}, shares{"a", 100, 1}, shares{"b", 50, 1}, true},
		{"small, of a caller who holds little", []shares{{"x", 4800, 1}, {"y", 700, 1}, {"b", 50, 1}, {"a", 100, 4}, {"c", 100, 4}}, shares{"a", 100, 1}, shares{"b", 50, 1}, false},
		{"medium, of a caller who holds much", []shares{{"x", 4800, 1}, {"y", 500, 1}, {"a", 100, 8}}, shares{"a", 400, 1}, shares{"b", 300, 1}, true},
		{"medium, of a caller who holds little", []shares{{"x", 4800, 1}, {"y", 500, 1}}, shares{"a", 400, 1}, shares{"b", 300, 1}, false},
		{"large, with room for it but for what its caller spares", []shares{{"x", 100, 9}, {"a", 100, 1}}, shares{"a", 4800, 1}, shares{"b", 4600, 1}, true},
		{"large, without room", []shares{{"x", 1200, 1}}, shares{"a", 4800, 1}, shares{"b", 900, 1}, false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := New(total)
				for _, held := range c.held {
					for range held.times {
						defer take(t, b, held.caller, held.n).Release()
					}
				}
				ctx, cancel := context.WithCancel(t.Context())
				first, second := wait(ctx, b, c.first.caller, c.first.n), wait(ctx, b, c.second.caller, c.second.n)
				first.check(t, false)
				second.check(t, c.passed)
				cancel()
				<-first.done
				<-second.done
				second.share.Release()
			})
		})
	}
}

// Small and medium shares have parts of their own, which is all that they get
// while larger ones wait.
func TestSmallSharesDoNotWaitForLargeOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(total)
		held := []*Share{take(t, b, "a", 4800)}
		larger := wait(t.Context(), b, "b", 4800)
		held = append(held, take(t, b, "c", 800))
		mediumOne := wait(t.Context(), b, "d", 800)
		for i := range 8 {
			held = append(held, take(t, b, string(rune('e'+i)), 100))
		}
		// Those of callers who hold nothing come on top of it, up to a limit.
		held = append(held, take(t, b, "x", 100), take(t, b, "y", 100))
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

// A caller who holds nothing gets a small share at once, however many small ones the
// others have and whoever waits before. It counts like theirs as soon as it grows.
func TestFirstSharesDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(total)
		var held []*Share
		for i := range 64 {
			held = append(held, take(t, b, string(rune('a'+i%8)), 100))
		}
		second := wait(t.Context(), b, "a", 100)
		larger := wait(t.Context(), b, "b", 4800)
		second.check(t, false)
		larger.check(t, false)
		firsts := []*waiter{wait(t.Context(), b, "x", 100), wait(t.Context(), b, "y", 100)}
		for _, w := range firsts {
			w.check(t, true)
		}
		more := wait(t.Context(), b, "y", 100)
		third := wait(t.Context(), b, "z", 100)
		more.check(t, false)
		third.check(t, false)
		firsts[0].share.Release()
		synctest.Wait()
		third.check(t, true) // and not those that wait before it
		second.check(t, false)
		more.check(t, false)
		grows := grow(t.Context(), firsts[1].share, 100)
		if b.extra != 100 || b.all() != total+100 {
			t.Errorf("beside a share that grows, %d of %d are on top of the budget", b.extra, b.all())
		}
		for _, s := range held {
			s.Release()
		}
		synctest.Wait()
		for _, w := range []*waiter{second, larger, more} {
			w.check(t, true)
		}
		if b.extra != 100 {
			t.Errorf("%d are on top of the budget", b.extra)
		}
		<-grows.done
		for _, w := range []*waiter{second, larger, more, third, firsts[1]} {
			w.share.Release()
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
		leaving := wait(ctx, b, "b", 4800)
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
		holder := take(t, b, "x", 4800)
		ctx, cancel := context.WithCancel(t.Context())
		for i := range MaxWaiting {
			go b.Take(ctx, string(rune('a'+i/MaxCallerWaiting)), 4800)
		}
		synctest.Wait()
		_, err := b.Take(t.Context(), "a", 4800)
		refused(t, err)
		_, err = b.Take(t.Context(), "z", 4800)
		refused(t, err)
		if _, ok := b.Try("z", 4800); ok {
			t.Error("Try passed those who wait")
		}
		cancel()
		synctest.Wait()
		holder.Release()
		b.empty(t)
	})
}

func TestFirstSharesNeedNoPlaceInTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(total)
		for i := range 64 {
			defer take(t, b, string(rune('a'+i%8)), 100).Release()
		}
		for i := range MaxWaiting {
			go b.Take(t.Context(), string(rune('a'+i%8)), 100)
		}
		synctest.Wait()
		_, err := b.Take(t.Context(), "a", 100)
		refused(t, err)
		take(t, b, "z", 100).Release()
	})
}

// growth is a request to grow in the background.
type growth struct{ done chan error }

func grow(ctx context.Context, s *Share, n int64) *growth {
	g := &growth{done: make(chan error, 1)}
	go func() { g.done <- s.Grow(ctx, n) }()
	synctest.Wait()
	return g
}

func (g *growth) check(t *testing.T, granted bool) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-g.done:
		if err != nil || !granted {
			t.Fatalf("granted, %v", err)
		}
		g.done <- nil
	default:
		if granted {
			t.Fatal("not granted")
		}
	}
}

// Shares grow before requests without one get theirs, but only within the part of
// their class: smaller requests do not wait for them.
func TestSharesGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(total)
		first, second, third := take(t, b, "a", 2400), take(t, b, "b", 2000), take(t, b, "c", 50)
		grow(t.Context(), first, 400).check(t, true)
		growing, next := grow(t.Context(), second, 2700), grow(t.Context(), third, 3000)
		larger := wait(t.Context(), b, "d", 900)
		smaller := []*Share{take(t, b, "e", 50), take(t, b, "f", 400)}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		refused(t, smaller[0].Grow(ctx, 5000))
		if smaller[0].Bytes() != 50 {
			t.Errorf("the share has %d bytes", smaller[0].Bytes())
		}
		growing.check(t, false)
		larger.check(t, false)
		first.Release()
		growing.check(t, true)
		next.check(t, false)
		second.Release()
		next.check(t, true)
		larger.check(t, true)
		for _, s := range append(smaller, third, larger.share) {
			s.Release()
		}
		b.empty(t)
	})
}

// Shares that grow do not wait for each other. The part of small shares is left to
// them all the while.
func TestSharesThatGrowDoNotBlockEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(total)
		shares := []*Share{take(t, b, "a", 2400), take(t, b, "b", 2400)}
		first := grow(t.Context(), shares[0], 2000)
		first.check(t, false) // the other works, and will end
		second := grow(t.Context(), shares[1], 2000)
		first.check(t, true)
		second.check(t, false)
		for range 8 {
			shares = append(shares, take(t, b, "c", 100))
		}
		more := wait(t.Context(), b, "c", 100)
		more.check(t, false)
		shares[0].Release()
		second.check(t, true)
		for _, s := range shares[1:] {
			s.Release()
		}
		synctest.Wait()
		more.share.Release()
		b.empty(t)
	})
}

func TestCallersTakeTurnsToGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(total)
		holder := take(t, b, "x", 4800)
		callers := []string{"a", "a", "a", "b"}
		shares, waiters := make([]*Share, len(callers)), make([]*growth, len(callers))
		for i, caller := range callers {
			shares[i] = take(t, b, caller, 50)
			waiters[i] = grow(t.Context(), shares[i], 4500)
		}
		for _, next := range []int{0, 3, 1, 2} {
			waiters[next].check(t, false)
			holder.Release()
			waiters[next].check(t, true)
			holder = shares[next]
		}
		holder.Release()
		b.empty(t)
	})
}

// A caller who holds little gets a share however many shares of another wait to grow.
func TestGrowingSharesTakeTurnsWithOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(total)
		holder := take(t, b, "x", 4800)
		var shares []*Share
		var growing []*growth
		for range 8 {
			shares = append(shares, take(t, b, "a", 100))
		}
		for _, s := range shares {
			growing = append(growing, grow(t.Context(), s, 650))
		}
		growing[0].check(t, true)
		growing[1].check(t, false)
		small := take(t, b, "b", 100)
		page := wait(t.Context(), b, "b", 400)
		page.check(t, false)
		shares[0].Release()
		synctest.Wait()
		page.check(t, true)
		growing[1].check(t, false)
		page.share.Release()
		growing[1].check(t, true)
		growing[2].check(t, false)
		holder.Release()
		small.Release()
		for _, s := range shares[1:] {
			synctest.Wait()
			s.Release()
		}
		b.empty(t)
	})
}

// A share that gives up growing has lost its place to those that grew meanwhile, until it
// is released.
func TestSharesGiveUpGrowing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(total)
		first, second := take(t, b, "a", 1000), take(t, b, "b", 3800)
		waiting := grow(t.Context(), first, 1400)
		second.Shrink(2400)
		waiting.check(t, true) // so that the next turn is of the second
		ctx, cancel := context.WithCancel(t.Context())
		waiting = grow(ctx, first, 2000)
		waiting.check(t, false)
		grow(t.Context(), second, 2400).check(t, true)
		cancel()
		refused(t, <-waiting.done)
		b.within(t)
		if TryReserve(With(t.Context(), first), 2500) {
			t.Error("the share grows although there is no room")
		}
		b.within(t)
		first.Shrink(1000)
		b.within(t)
		second.Shrink(1000)
		grow(t.Context(), first, 2000).check(t, true)
		b.within(t)
		first.Release()
		second.Release()
		b.empty(t)
	})
}

// TestBudgetAtRandom has callers take, grow, shrink, release and leave at random;
// what works must stay within the budget, but for the part of small shares, and
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
	if b.running(small) > b.Total()+b.Total()/8 || b.running(large) > b.Most() || b.running(large) < 0 {
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
	if TryReserve(With(t.Context(), first), b.Most()) || first.Bytes() != total/2 {
		t.Errorf("more than there is room for: the first has %d bytes", first.Bytes())
	}
	second.Release()
	if !TryReserve(With(t.Context(), first), b.Most()) || first.Bytes() != b.Most() {
		t.Errorf("alone, the first has %d bytes", first.Bytes())
	}
	first.Release()
	b.empty(t)
}

// What was reserved is returned, but not what the share had before.
func TestReturn(t *testing.T) {
	b := New(total)
	Return(t.Context(), 1)
	s := take(t, b, "a", 100)
	ctx := With(t.Context(), s)
	held := Held(ctx)
	if err := Reserve(ctx, 5000); err != nil || held != 100 || Held(t.Context()) != 0 {
		t.Errorf("%v; %d bytes are held", err, held)
	}
	Return(ctx, held)
	take(t, b, "b", 5000).Release()
	if Return(ctx, 500); s.Bytes() != 100 {
		t.Errorf("the share has %d bytes", s.Bytes())
	}
	s.Release()
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
