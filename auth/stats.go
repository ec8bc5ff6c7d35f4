package auth

import (
	"sync/atomic"

	"marquee/auth/cache"
)

// signIns counts answers of the token endpoint to passwords and refresh tokens.
type signIns struct{ accepted, refused, limited atomic.Int64 }

// Stats are what a Service has done.
type Stats struct {
	// Accepted, Refused and Limited are the numbers of sign-ins and refreshed sessions, of
	// those that were refused, and of those that were refused because too many had failed.
	Accepted, Refused, Limited int64
	// Users, Sessions and Tokens are the caches of callers.
	Users, Sessions, Tokens cache.Stats
}

// Stats returns the numbers so far.
func (s *Service) Stats() Stats {
	return Stats{Accepted: s.signIns.accepted.Load(), Refused: s.signIns.refused.Load(), Limited: s.signIns.limited.Load(),
		Users: s.callers.Stats(), Sessions: s.Sessions.Stats(), Tokens: s.Tokens.Stats()}
}
