package turn

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// waiters are requests that have not been decided, by name.
type waiters struct {
	t        *testing.T
	p        *Places
	requests map[string]*request
}

func newWaiters(t *testing.T, limits Limits) *waiters {
	return &waiters{t, NewPlaces(limits), map[string]*request{}}
}

// ask makes requests for one place, whose names are the caller and a number.
func (w *waiters) ask(names ...string) {
	for _, name := range names {
		w.heavy(name, 1)
	}
}

func (w *waiters) heavy(name string, n int64) {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	w.requests[name] = &request{n: n, decided: make(chan struct{})}
	w.p.join(name[:1], w.requests[name])
}

// expect compares the requests that have been granted and those that were refused
// since the last call.
func (w *waiters) expect(granted, refused string) {
	w.t.Helper()
	var got, full []string
	for name, r := range w.requests {
		select {
		case <-r.decided:
			delete(w.requests, name)
			if r.err == nil {
				got = append(got, name)
			} else {
				full = append(full, name)
			}
		default:
		}
	}
	slices.Sort(got)
	slices.Sort(full)
	if strings.Join(got, " ") != granted || strings.Join(full, " ") != refused {
		w.t.Errorf("granted %q, refused %q; want %q, %q", got, full, granted, refused)
	}
}

func TestPlacesAreTakenInTurns(t *testing.T) {
	w := newWaiters(t, Limits{Total: 1})
	w.ask("a1", "a2", "a3", "b1", "b2", "c1")
	w.expect("a1", "")
	for _, next := range []string{"a2", "b1", "c1", "a3", "b2"} {
		w.p.Leave(holder(w.p), 1)
		w.expect(next, "")
	}
}

func holder(p *Places) string {
	for caller := range p.by {
		return caller
	}
	return ""
}

func TestSparePlacesAreForCallersWhoHoldNone(t *testing.T) {
	w := newWaiters(t, Limits{Total: 3, Spare: 1})
	w.ask("a1", "a2", "a3", "a4")
	w.expect("a1 a2", "")
	w.ask("b1", "b2")
	w.expect("b1", "")
	w.p.Leave("a", 1)
	w.expect("", "")
	w.ask("c1")
	w.expect("c1", "")
}

func TestHalfOfThePlacesWhileOthersWait(t *testing.T) {
	w := newWaiters(t, Limits{Total: 4})
	w.ask("a1", "a2", "a3", "a4", "a5", "a6")
	w.expect("a1 a2 a3 a4", "") // nobody else waits
	w.ask("b1", "b2", "b3")
	w.p.Leave("a", 1)
	w.expect("b1", "")
	w.p.Leave("a", 1)
	w.expect("b2", "")
	w.p.Leave("a", 1)
	w.expect("a5", "")
	w.p.Leave("b", 1)
	w.expect("b3", "")
	w.p.Leave("b", 2)
	w.expect("a6", "")
}

func TestNobodyPassesARequestWithoutRoom(t *testing.T) {
	w := newWaiters(t, Limits{Total: 4})
	w.heavy("a1", 3)
	w.heavy("b1", 2)
	w.ask("c1")
	w.expect("a1", "")
	w.p.Leave("a", 3)
	w.expect("b1 c1", "")
}

func TestTheLastRequestOfTheLongestLineIsRefused(t *testing.T) {
	w := newWaiters(t, Limits{Total: 1, MaxWaiting: 3, MaxCallerWaiting: 3})
	w.ask("x1", "a1", "a2", "a3", "a4")
	w.expect("x1", "a4")
	w.ask("b1")
	w.expect("", "a3")
	w.ask("b2")
	w.expect("", "b2")
	w.ask("c1")
	w.expect("", "a2")
	w.ask("d1")
	w.expect("", "d1")
}

func TestEnterEndsWithItsContext(t *testing.T) {
	p := NewPlaces(Limits{Total: 1})
	if err := p.Enter(t.Context(), "a", 5); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Enter(ended, "b", 1); !errors.Is(err, context.Canceled) || p.Waiting() != 0 {
		t.Errorf("%v, %d wait", err, p.Waiting())
	}
	p.Leave("a", 5)
	if len(p.by) != 0 || p.held != 0 {
		t.Errorf("%d places are held, by %v", p.held, p.by)
	}
	p.Close()
	if err := p.Enter(t.Context(), "b", 1); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestCloseRefusesThoseWhoWait(t *testing.T) {
	w := newWaiters(t, Limits{Total: 1})
	w.ask("a1", "a2", "b1")
	w.p.Close()
	w.expect("a1", "a2 b1")
}
