package session

import (
	"context"
	"time"

	"marquee/engine/store"
)

// A session begins with a password and consists of the access tokens and refresh
// tokens that follow from it, which name it: the family of RFC 9700, section 4.14.2.
//
// The session collection has a record for each session that was ended, in the state
// INACTIVE (or stateForgotten) until all of its tokens have expired; and a record for
// each user whose sessions were all ended, whose revision tokens must have been issued
// for.

// userPrefix distinguishes the ids of users from those of sessions.
const userPrefix = "user:"

const sessionCollection = "auth_sessions"

// state is what the store says about a session.
type state struct {
	ended bool
	// epoch is the number of times that all sessions of the user were ended.
	epoch int64
}

type sessionKey struct{ user, id string }

func readState(ctx context.Context, s store.Snapshot, user, id string) (state, error) {
	var found state
	keys := []store.Key{{ID: userPrefix + user}}
	if id != "" {
		keys = append(keys, store.Key{ID: id})
	}
	err := s.Get(ctx, sessionCollection, keys, func(r *store.Record) error {
		if r.ID == id {
			found.ended = true
		} else {
			found.epoch = r.Revision
		}
		return nil
	})
	return found, err
}

// putState stores the end of a session, or of all sessions of a user.
func putState(ctx context.Context, tx store.Tx, id, state string, now time.Time) error {
	was, err := store.ReadOne(ctx, tx, sessionCollection, store.Key{ID: id}, nil)
	if err != nil || was.Revision > 0 && state == "INACTIVE" { // it has ended already
		return err
	}
	return store.PutInternal(ctx, tx, sessionCollection, was, state, struct{}{}, now)
}
