package rest

import (
	"errors"
	"sync"
	"time"

	"marquee/engine/store"
)

// unreadyInterval is how often the reason for a 503 of /readyz is logged while it lasts.
const unreadyInterval = time.Minute

// unready is the last reason for a 503 of /readyz that was logged: load balancers ask every
// second.
type unready struct {
	mu     sync.Mutex
	reason string
	logged time.Time
}

// repeats reports whether a reason, nil for none, was logged already.
func (u *unready) repeats(cause error) bool {
	reason := ""
	var known *store.Error
	if errors.As(cause, &known) { // whose cause may be another text each time
		reason = known.Text
	} else if cause != nil {
		reason = cause.Error()
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if reason != "" && reason == u.reason && time.Since(u.logged) < unreadyInterval {
		return true
	}
	u.reason, u.logged = reason, time.Now()
	return false
}
