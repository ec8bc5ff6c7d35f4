package mongo

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"marquee/engine/store"
	"marquee/integration/mongodb"
)

// meeting applies a mishap to the first commands of a step.
func (f *faulty) meeting(at step, happens mishap, times int, then func(), do func()) {
	f.Helper()
	f.proxy.on(func(s step) (mishap, func()) {
		if s != at || times == 0 {
			return arrives, nil
		}
		times--
		return happens, then
	})
	defer f.proxy.on(nil)
	do()
}

const always = 1 << 20

// TestConnectionsBreak breaks the connection at each step of a write, before
// the command takes effect and after it.
func TestConnectionsBreak(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, mongodb.Lend(t))
	for _, at := range append(slices.Clone(statements), commitStep) {
		for _, happens := range []mishap{unsent, unanswered} {
			for _, times := range []int{1, 3} {
				if testing.Short() && times > 1 {
					continue
				}
				what := fmt.Sprintf("%s: %s %d times", at, happens, times)
				f.meeting(at, happens, times, nil, func() {
					want := times + 1
					if at == commitStep {
						want = 1 // only the commit is sent again
					}
					if runs, err := f.write(t.Context()); err != nil || runs != want {
						t.Errorf("%s: after %d runs: %v", what, runs, err)
					}
				})
				f.settled(what, true)
				f.nothingOpen(what, time.Second)
			}
		}
	}
}

// TestConnectionsBreakAlways makes each step of a write fail until its caller
// gives up, which is some time after the first failure: on a busy machine, a
// deadline could pass before the step.
func TestConnectionsBreakAlways(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, mongodb.Lend(t))
	for _, at := range append(slices.Clone(statements), commitStep) {
		for _, happens := range []mishap{unsent, unanswered} {
			what := fmt.Sprintf("%s: %s always", at, happens)
			ctx, cancel := context.WithCancel(t.Context())
			givesUp := sync.OnceFunc(func() { time.AfterFunc(2*short, cancel) })
			f.meeting(at, happens, always, givesUp, func() {
				_, err := f.write(ctx)
				code, _ := store.CodeOf(err)
				// The commit is detected although no answer arrived.
				stored := at == commitStep && happens == unanswered
				if stored != (err == nil) || !stored && code != store.CodeUnavailable && code != store.CodeDeadline {
					t.Errorf("%s: %v", what, err)
				}
				f.settled(what, stored)
			})
			cancel()
			f.nothingOpen(what, time.Second)
		}
	}
}

// TestAbortsAreLost drops the abort of a transaction, or its answer.
func TestAbortsAreLost(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, mongodb.Lend(t))
	for _, happens := range []mishap{unsent, unanswered, silent, stuck} {
		for _, times := range []int{1, always} {
			what := fmt.Sprintf("%s %d times", happens, times)
			f.meeting(abortStep, happens, times, nil, func() {
				begun := time.Now()
				if runs, err := f.giveUp(t.Context()); err != errOwn || runs != 1 {
					t.Errorf("%s: after %d runs: %v", what, runs, err)
				}
				if took := time.Since(begun); took > 3*ending+busy {
					t.Errorf("%s: took %v", what, took)
				}
				f.proxy.letGo()
			})
			f.settled(what, false)
			f.nothingOpen(what, time.Second)
		}
	}
}

// TestAbortsAreLostForLong loses everything that is sent after a function has failed, for
// longer than the call takes: its transaction is ended when the server can be reached.
func TestAbortsAreLostForLong(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, mongodb.Lend(t))
	lost := false
	f.proxy.on(func(s step) (mishap, func()) {
		if lost = lost || s == abortStep; lost {
			return unsent, nil
		}
		return arrives, nil
	})
	runs, err := f.giveUp(t.Context())
	f.proxy.on(nil) // from here on, no other goroutine touches lost
	if err != errOwn || runs != 1 || !lost {
		t.Errorf("after %d runs: %v", runs, err)
	}
	f.nothingOpen("the aborted transaction", time.Second)
}

// TestClientsGoAway cancels a write at each step: before the command arrives,
// after it took effect, and with a command that arrives when everything is
// over.
func TestClientsGoAway(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, mongodb.Lend(t))
	for _, at := range statements {
		for _, happens := range []mishap{unsent, unanswered, silent, stuck} {
			what := fmt.Sprintf("%s: %s", at, happens)
			ctx, cancel := context.WithCancel(t.Context())
			f.meeting(at, happens, 1, cancel, func() {
				begun := time.Now()
				runs, err := f.write(ctx)
				if code, _ := store.CodeOf(err); code != store.CodeDeadline || runs != 1 {
					t.Errorf("%s: after %d runs: %v", what, runs, err)
				}
				if took := time.Since(begun); took > 3*ending+busy {
					t.Errorf("%s: took %v", what, took)
				}
				f.proxy.letGo()
			})
			f.settled(what, false)
			f.nothingOpen(what, time.Second)
		}
	}
}

// TestClientsGoAwayAtCommits cancels a write during its commit, which is
// completed nevertheless.
func TestClientsGoAwayAtCommits(t *testing.T) {
	t.Parallel()
	for _, happens := range []mishap{unsent, unanswered, silent, stuck} {
		t.Run(happens.String(), func(t *testing.T) {
			t.Parallel()
			if testing.Short() && (happens == silent || happens == stuck) {
				t.Skip("waits for an answer")
			}
			f := newFaulty(t, mongodb.Lend(t))
			ctx, cancel := context.WithCancel(t.Context())
			stored := happens != stuck
			f.meeting(commitStep, happens, 1, cancel, func() {
				begun := time.Now()
				runs, err := f.write(ctx)
				if code, _ := store.CodeOf(err); stored != (err == nil) || !stored && code != store.CodeDeadline || runs != 1 {
					t.Errorf("after %d runs: %v", runs, err)
				}
				if took := time.Since(begun); took > committing+settling+busy {
					t.Errorf("took %v", took)
				}
				f.settled("before the command arrives", stored)
				f.proxy.letGo()
			})
			f.nothingOpen("at the end", time.Second)
			f.settled("when the command has arrived", false)
		})
	}
}
