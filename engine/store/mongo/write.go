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
	// maxCommits is how often a commit is tried again whose outcome is unknown,
	// and committing for how long, before the outcome is asked for.
	maxCommits = 3
	committing = 5 * time.Second
	// settling is how long the outcome of a commit is asked for: longer than
	// MongoDB takes to elect a primary.
	settling = 15 * time.Second
	// ending is how long the end of a transaction that failed is waited for, at
	// each of two tries. MongoDB itself ends it after a minute.
	ending = time.Second
)

// patient is a context for what has to be done for a client that has gone, too.
// It ends without a deadline: of an operation that has one, the driver would try
// again and again, without a pause, until it passes.
func patient(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	timer := time.AfterFunc(limit, cancel)
	return ctx, func() {
		timer.Stop()
		cancel()
	}
}

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
		again, err := s.attempt(ctx, fn)
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
func (s *Store) attempt(ctx context.Context, fn func(store.Tx) error) (again retry, err error) {
	if err := s.open(ctx); err != nil {
		return final, err
	}
	session, err := s.client.StartSession()
	if err != nil {
		return translate(ctx, err)
	}
	defer session.EndSession(ctx)
	err = session.StartTransaction(options.Transaction().SetReadConcern(readconcern.Snapshot()).
		SetWriteConcern(writeconcern.Majority()).SetReadPreference(readpref.Primary()))
	if err != nil {
		return translate(ctx, err)
	}
	t := &transaction{view: view{s: s, session: session, ctx: ctx}, id: newID(), touched: map[string]map[string]bool{}}
	defer func() { t.broken = errEnded }()
	err = t.run(fn)
	if landed := t.land(ctx); err == nil { // of a bulk that was not finished, too
		err = landed
	}
	if err != nil || len(t.touched) == 0 {
		t.abort(ctx)
		return t.again, err
	}
	marker, err := t.mark(ctx)
	if err != nil {
		t.abort(ctx)
		return t.again, err
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

// abort ends the transaction without its writes. The abort may be lost, or
// arrive before a statement that was given up: a newer write of the session,
// which changes nothing, makes the server end what is open, and refuse what
// arrives late.
func (t *transaction) abort(ctx context.Context) {
	if t.session.OperationTime() == nil && t.broken == nil {
		return // nothing was sent
	}
	first, cancel := patient(ctx, ending)
	defer cancel()
	err := t.s.client.Database("admin").RunCommand(t.in(first), bson.D{{Key: "abortTransaction", Value: 1}}).Err()
	t.forget()
	code, _ := store.CodeOf(t.broken)
	ended := err == nil || t.broken != nil && hasCode(err, codeNoTransaction)
	if ended && t.again != lost && code != store.CodeDeadline {
		return
	}
	second, cancel := patient(ctx, ending)
	defer cancel()
	commits := t.s.db.Collection(commitsCollection, options.Collection().SetWriteConcern(writeconcern.W1()))
	for n := 0; ; n++ {
		_, err := commits.UpdateOne(t.in(second), bson.D{{Key: fieldID, Value: idOf(store.Key{ID: t.id})}}, bson.D{{Key: "$set", Value: bson.D{{Key: "fence", Value: true}}}})
		if err == nil || !pause(second, n, lost) {
			return
		}
	}
}

// forget lets the driver know that the transaction has ended. In a context that
// has ended, too, it does not tell the server.
func (t *transaction) forget() {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = t.session.AbortTransaction(ended) // of one that has not begun, or has ended
}

// commit ends the transaction. It goes on for a client that has gone, so that
// nothing is left open, and what became of it is known.
func (t *transaction) commit(ctx context.Context, marker bson.Raw) (retry, error) {
	patient, cancel := patient(ctx, committing)
	defer cancel()
	for n := 0; ; n++ {
		err := t.session.CommitTransaction(patient)
		switch {
		case err == nil:
			return final, nil
		case !hasLabel(err, labelUnknown), n == maxCommits, !pause(patient, n, lost):
			return t.settle(ctx, marker, err)
		}
	}
}

// settle finds out whether a transaction was committed. Not all errors tell: of
// some, the server says that it has committed, and cannot promise that it is
// for ever.
func (t *transaction) settle(ctx context.Context, marker bson.Raw, cause error) (retry, error) {
	patient, cancel := patient(ctx, settling)
	defer cancel()
	for n := 0; ; n++ {
		committed, err := t.fence(patient, marker)
		switch {
		case err == nil && committed:
			return final, nil
		case err == nil:
			return notCommitted(ctx, cause)
		case !pause(patient, n, lost):
			return final, &store.Error{Code: store.CodeUncertain, Cause: scrub(cause),
				Text: "MongoDB was lost while a transaction was committed, and whether it was is not known: read what was to be written"}
		}
	}
}

// fence looks for the transaction's marker. Where it is not, it is put there,
// so that the transaction cannot be committed any more, and may run again.
func (t *transaction) fence(ctx context.Context, marker bson.Raw) (committed bool, err error) {
	// One that is still open would hold the marker's place for a minute.
	kill := bson.D{{Key: "killSessions", Value: bson.A{t.session.ID()}}}
	err = t.s.client.Database("admin").RunCommand(ctx, kill).Err()
	if again, _ := translate(ctx, err); again == lost {
		return false, err
	}
	commits := t.s.db.Collection(commitsCollection, options.Collection().SetReadPreference(readpref.Primary()))
	_, err = commits.InsertOne(ctx, bson.D{{Key: fieldID, Value: marker}, {Key: "time", Value: bson.NewDateTimeFromTime(time.Now())}, {Key: "fence", Value: true}})
	if !hasCode(err, codeDuplicate) {
		return false, err
	}
	// What is there counts as soon as it is with the majority.
	var found struct{ Fence bool }
	err = commits.FindOne(ctx, bson.D{{Key: fieldID, Value: marker}}).Decode(&found)
	return !found.Fence, err
}

// notCommitted is what becomes of a transaction that was not.
func notCommitted(ctx context.Context, cause error) (retry, error) {
	switch {
	case over(ctx):
		return final, deadline(ctx)
	case hasLabel(cause, labelUnknown), errors.Is(cause, context.Canceled):
		return lost, &store.Error{Code: store.CodeUnavailable, Cause: scrub(cause), Text: "the connection to MongoDB was lost before a transaction was committed"}
	}
	return translate(ctx, cause)
}
