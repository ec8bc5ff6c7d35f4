package budget

import (
	"context"
	"time"
)

// Share is the part of the budget that a request holds. It is not safe for
// concurrent use.
type Share struct {
	b     *Budget
	a     *account
	bytes int64
	// extra reports whether it came on top of the budget.
	extra bool
	// parked reports whether it waits to grow, or has given up.
	parked bool
	// waited is the time that Grow has waited.
	waited time.Duration
}

// Waited returns the time that the share has waited to grow. A nil share has not.
func (s *Share) Waited() time.Duration {
	if s == nil {
		return 0
	}
	return s.waited
}

// takeExtra reports whether a share that was not granted yet can come on top of the
// budget with n bytes, and notes it.
func (s *Share) takeExtra(n int64) bool {
	b := s.b
	s.extra = b.class(n) == small && s.a.shares == 0 && b.extra+n <= b.Total()/extraPart
	return s.extra
}

// leaveExtra counts a share that came on top of the budget as part of it.
func (s *Share) leaveExtra() {
	if !s.extra {
		return
	}
	b := s.b
	s.extra = false
	b.extra -= s.bytes
	b.held[b.class(s.bytes)] += s.bytes
}

// park notes that a share does not use what it holds, until unpark.
func (s *Share) park() {
	if s.parked {
		return
	}
	s.leaveExtra()
	s.parked = true
	s.b.parked[s.b.class(s.bytes)] += s.bytes
}

func (s *Share) unpark() {
	if s.parked {
		s.parked = false
		s.b.parked[s.b.class(s.bytes)] -= s.bytes
	}
}

// add changes the size of a share, which may change its class. A share that grows is
// part of the budget.
func (s *Share) add(n int64) {
	b := s.b
	if s.parked {
		s.unpark()
		defer s.park()
	}
	if s.bytes > 0 && n > 0 {
		s.leaveExtra()
	}
	s.a.held += n
	if s.extra {
		s.bytes += n
		b.extra += n
		return
	}
	b.held[b.class(s.bytes)] -= s.bytes
	s.bytes += n
	b.held[b.class(s.bytes)] += s.bytes
}

// Bytes returns the size of the share.
func (s *Share) Bytes() int64 { return s.bytes }

// Grow adds n bytes to the share, or as many as make it the largest, and waits for
// them if there is no room. Meanwhile the caller must not hold anything
// that others need to go on, and should use little of the share. After an error, which
// is one of Take, the share is unchanged.
func (s *Share) Grow(ctx context.Context, n int64) error {
	b := s.b
	if n = min(n, b.Most()-s.bytes); n <= 0 {
		return nil
	}
	b.mu.Lock()
	if s.grow(n) {
		b.mu.Unlock()
		return nil
	}
	r, class := &request{share: s, bytes: n, granted: make(chan struct{})}, b.class(s.bytes+n)
	b.growing[class].Push(s.a.caller, r)
	s.park()
	b.grant() // the others may grow beside a share that waits
	b.mu.Unlock()
	began := time.Now()
	defer func() { s.waited += time.Since(began) }()
	return b.await(ctx, &b.growing[class], r)
}

// grow adds n bytes if it need not wait.
func (s *Share) grow(n int64) bool {
	b, class := s.b, s.b.class(s.bytes+n)
	gaveUp := s.parked
	s.unpark()
	if b.growing[class].Len() > 0 || !b.roomToGrow(s, n) {
		if gaveUp {
			s.park()
		}
		return false
	}
	s.add(n)
	b.grew[class] = true
	return true
}

// Shrink reduces the share to n bytes, unless it is smaller.
func (s *Share) Shrink(n int64) {
	b := s.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if n >= s.bytes {
		return
	}
	s.add(max(n, 0) - s.bytes)
	b.grant()
}

// Release returns the share to the budget. It has no effect on a released or nil
// share.
func (s *Share) Release() {
	if s == nil || s.a == nil {
		return
	}
	b := s.b
	b.mu.Lock()
	defer b.mu.Unlock()
	s.add(-s.bytes)
	s.a.shares--
	b.forget(s.a)
	s.a = nil
	b.grant()
}

type contextKey struct{}

// With returns a context with a share, for Reserve.
func With(ctx context.Context, s *Share) context.Context {
	return context.WithValue(ctx, contextKey{}, s)
}

// Reserve grows the share of a context to n bytes, or to the maximum size if that
// is less. Without a share, it has no effect. Errors are those of Grow.
func Reserve(ctx context.Context, n int64) error {
	s, more := lacking(ctx, n)
	if more <= 0 {
		return nil
	}
	return s.Grow(ctx, more)
}

// TryReserve is Reserve for work that must not wait. It reports false, and reserves
// nothing, if it would have to.
func TryReserve(ctx context.Context, n int64) bool {
	s, more := lacking(ctx, n)
	if more <= 0 {
		return true
	}
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	return s.grow(more)
}

// Held returns the size of the share of a context, 0 without one.
func Held(ctx context.Context) int64 {
	if s, _ := ctx.Value(contextKey{}).(*Share); s != nil {
		return s.bytes
	}
	return 0
}

// Return shrinks the share of a context to n bytes, unless it is smaller.
func Return(ctx context.Context, n int64) {
	if s, _ := ctx.Value(contextKey{}).(*Share); s != nil {
		s.Shrink(n)
	}
}

// lacking returns the share of a context, and how many bytes less than n it has.
func lacking(ctx context.Context, n int64) (s *Share, more int64) {
	if s, _ = ctx.Value(contextKey{}).(*Share); s == nil {
		return nil, 0
	}
	return s, min(n, s.b.Most()) - s.bytes
}
