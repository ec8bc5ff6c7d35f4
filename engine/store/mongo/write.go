package mongo

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"runtime/debug"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"marquee/engine/store"
)

const (
	// maxConflicts is how often a transaction runs again that met others.
	maxConflicts = 20
	// maxRefused is how often one runs again whose own snapshot refused it: a
	// function that reads what it relies on does not come here.
	maxRefused = 2
	// maxLost is for how long a transaction without a deadline waits for a
	// primary.
	maxLost = 60 * time.Second
	// settling is how long the outcome of a commit is asked for, also of a
	// client that has gone.
	settling = 10 * time.Second
)

// pause waits before another try: longer each time, and by chance, so that
// those who met do not meet again. It returns false when the context ends.
func pause(ctx context.Context, n int, why retry) bool {
	longest := min(2*time.Millisecond<<min(n, 7), 250*time.Millisecond)
	if why == lost {
		longest = min(20*time.Millisecond<<min(n, 5), 500*time.Millisecond)
	}
	timer := time.NewTimer(time.Duration(mathrand.Int64N(int64(longest)) + 1))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Write implements store.Store.
func (s *Store) Write(ctx context.Context, fn func(store.Tx) error) error {
	begun, tries := time.Now(), map[retry]int{}
	for n := 0; ; n++ {
		err, again := s.attempt(ctx, fn)
		tries[again]++
		switch {
		case again == final,
			again == conflict && tries[conflict] > maxConflicts,
			again == refused && tries[refused] > maxRefused,
			again == lost && time.Since(begun) > maxLost,
			!pause(ctx, n, again):
			return err
		}
	}
}

// attempt runs the function in one transaction.
func (s *Store) attempt(ctx context.Context, fn func(store.Tx) error) (err error, again retry) {
	if err := s.open(ctx); err != nil {
		return err, final
	}
	session, err := s.client.StartSession()
	if err != nil {
		return translate(ctx, err)
	}
	// Ending the session ends a transaction that is open, also for a client
	// that has gone.
	defer func() {
		detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), settling)
		defer cancel()
		session.EndSession(detached)
	}()
	err = session.StartTransaction(options.Transaction().SetReadConcern(readconcern.Snapshot()).
		SetWriteConcern(writeconcern.Majority()).SetReadPreference(readpref.Primary()))
	if err != nil {
		return translate(ctx, err)
	}
	t := &transaction{view: view{s: s, session: session, ctx: ctx}, id: newID(), touched: map[string]map[string]bool{}}
	defer func() { t.broken = errEnded }()
	if err = t.run(fn); err == nil {
		err = t.broken
	}
	if err != nil {
		if t.broken == nil {
			return err, final
		}
		return err, t.again
	}
	if len(t.touched) == 0 {
		return nil, final
	}
	marker, err := t.mark(ctx)
	if err != nil {
		return err, t.again
	}
	return t.commit(ctx, marker)
}

// newID names a transaction.
func newID() string {
	var id [8]byte
	rand.Read(id[:])
	return hex.EncodeToString(id[:])
}

// run calls the function, whose panic is an error like others.
func (t *transaction) run(fn func(store.Tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &store.Error{Code: store.CodeInternal, Text: "the function of a transaction panicked", Cause: fmt.Errorf("%v\n%s", p, debug.Stack())}
		}
	}()
	return fn(t)
}

// commit ends the transaction. It goes on for a client that has gone, so that
// nothing is left open, and what became of it is known.
func (t *transaction) commit(ctx context.Context, marker bson.Raw) (error, retry) {
	detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), settling)
	defer cancel()
	unknown := false
	for n := 0; ; n++ {
		err := t.session.CommitTransaction(detached)
		if err == nil {
			return nil, final
		}
		if !hasLabel(err, labelUnknown) && detached.Err() == nil {
			if unknown {
				return t.settle(ctx, marker, err)
			}
			return translate(detached, err)
		}
		unknown = true
		if !pause(detached, n, lost) {
			return t.settle(ctx, marker, err)
		}
	}
}

// settle finds out whether a transaction was committed, by its marker. Where
// the marker is not, a fence is put into its place, after which the
// transaction cannot be committed any more, and may run again.
func (t *transaction) settle(ctx context.Context, marker bson.Raw, cause error) (error, retry) {
	detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), settling)
	defer cancel()
	commits := t.s.db.Collection(commitsCollection)
	for n := 0; ; n++ {
		// A transaction that is still open would hold the marker's place.
		kill := bson.D{{Key: "killSessions", Value: bson.A{t.session.ID()}}}
		_ = t.s.client.Database("admin").RunCommand(detached, kill).Err() // the fence tells
		_, err := commits.InsertOne(detached, bson.D{{Key: fieldID, Value: marker}, {Key: "time", Value: bson.NewDateTimeFromTime(time.Now())}, {Key: "fence", Value: true}})
		if err == nil {
			return lostCommit(cause), lost
		}
		if hasCode(err, codeDuplicate) {
			var found struct{ Fence bool }
			err = commits.FindOne(detached, bson.D{{Key: fieldID, Value: marker}}, options.FindOne()).Decode(&found)
			switch {
			case err == nil && found.Fence:
				return lostCommit(cause), lost
			case err == nil:
				return nil, final
			case errors.Is(err, mongo.ErrNoDocuments): // not yet with the majority
			}
		}
		if !pause(detached, n, lost) {
			return &store.Error{Code: store.CodeUnavailable, Cause: scrub(cause),
				Text: "MongoDB was lost while a transaction was committed, and whether it was is not known: read what was to be written"}, final
		}
	}
}

func lostCommit(cause error) error {
	return &store.Error{Code: store.CodeUnavailable, Cause: scrub(cause), Text: "the connection to MongoDB was lost before a transaction was committed"}
}
