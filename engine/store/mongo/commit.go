package mongo

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"marquee/engine/store"
	"marquee/engine/store/mongo/record"
)

const (
	// maxConflicts is the number of retries after conflicts. They take some
	// seconds, because a write may conflict with several servers that follow up
	// a change.
	maxConflicts = 32
	// maxRefused is the number of retries of a transaction that its own
	// snapshot refused. A function that reads what it relies on needs none.
	maxRefused = 2
	// maxUnexplained is the number of retries after errors of no class. Before the last one, the
	// driver has had about a tenth of a second to learn of another primary.
	maxUnexplained = 3
	// maxCommits is the minimum number of attempts of a commit with an unknown
	// outcome, and committing their minimum duration, before the outcome is
	// looked up.
	maxCommits = 3
	committing = 5 * time.Second
	// copied is the minimum number of bytes per second that a busy majority
	// replicates. A commit waits for it.
	copied = 2 << 20
	// maxLeft is the number of failed transactions that are ended while their calls
	// return, because two attempts were too few. MongoDB itself ends them after a minute.
	maxLeft = 1000
)

// writeAlone runs a function in a transaction of its own. While a client waits, it does not
// give up after conflicts that may be due to too many writes at once, nor, if the call has a
// deadline, after those with other writes of the same records.
func (s *Store) writeAlone(ctx context.Context, fn func(store.Tx) error) (err error) {
	effort := store.EffortOf(ctx)
	patient := effort.Records > 0
	_, limited := ctx.Deadline()
	p := s.admission.place(effort.Caller, effort.Records)
	defer p.end()
	begun, tries, crowded := time.Now(), map[retry]int{}, false
	answered := begun
	for n := 0; ; n++ {
		if n > 0 {
			s.measured.again.Add(1)
		}
		admitted := s.measured.waits(effort)
		entered := p.enter(ctx)
		admitted()
		if !entered {
			return waitedFor(ctx)
		}
		again, err := s.attempt(ctx, fn, p)
		tries[again]++
		code, _ := store.CodeOf(err)
		switch {
		case err == nil:
			p.committed()
		case again == conflict && (p.conflicted() || limited && code == store.CodeConflict) && patient:
			crowded, tries[conflict] = true, 0
		case crowded && code == store.CodeDeadline:
			return waitedFor(ctx)
		default:
			crowded = false
		}
		if again != lost {
			answered = time.Now()
		}
		if again == conflict && time.Since(begun) > blockedAfter {
			s.release()
		}
		switch {
		case again == final,
			again == conflict && tries[conflict] > maxConflicts,
			again == refused && tries[refused] > maxRefused,
			again == unexplained && tries[unexplained] > maxUnexplained,
			again == lost && time.Since(answered) > maxLost:
			return err
		case pause(ctx, n, again):
		case crowded:
			return waitedFor(ctx)
		default:
			return err
		}
	}
}

// attempt runs the function in one transaction.
func (s *Store) attempt(ctx context.Context, fn func(store.Tx) error, p *admitted) (again retry, err error) {
	t, again, err := s.transact(ctx, p)
	if err != nil {
		return again, err
	}
	defer t.end(ctx)
	if !s.sharded && !p.apart { // a sharded cluster has $lookup in transactions from MongoDB 8 on
		t.ahead.announced = store.EffortOf(ctx).Reads
		t.ahead.wanted = t.ahead.announced
	}
	return t.finish(ctx, run(fn, t))
}

// transact begins a transaction, which end must end.
func (s *Store) transact(ctx context.Context, p *admitted) (*transaction, retry, error) {
	if err := s.open(ctx); err != nil {
		return nil, final, err
	}
	session, err := s.client.StartSession()
	if err == nil {
		err = session.StartTransaction(options.Transaction().SetReadConcern(readconcern.Snapshot()).
			SetWriteConcern(writeconcern.Majority()).SetReadPreference(readpref.Primary()))
		if err != nil {
			session.EndSession(ctx)
		}
	}
	if err != nil {
		again, err := translate(ctx, err)
		return nil, again, err
	}
	term, done := s.leader.follow()
	ended := s.opened()
	return &transaction{view: view{s: s, session: session, ctx: ctx, term: term}, done: func() { done(); ended() }, id: newID(), calls: 1, touched: map[string]map[string]bool{}, place: p}, final, nil
}

// end releases what a finished transaction has.
func (t *transaction) end(ctx context.Context) {
	t.broken = errEnded
	t.done()
	if t.left {
		go t.leave() // #nosec G118 -- the context of the call may have ended already
		return
	}
	t.session.EndSession(ctx)
}

// finish commits the transaction, or rolls it back after an error.
func (t *transaction) finish(ctx context.Context, err error) (again retry, _ error) {
	if awaited := t.await(ctx); err == nil { // even of an unfinished bulk
		err = awaited
	}
	refused := err != nil && t.locked // which must leave no trace in what it has locked
	if t.broken == nil && len(t.touched) == 0 && !refused && t.session.OperationTime() != nil {
		if again, unconfirmed := t.confirm(ctx); unconfirmed != nil {
			return again, unconfirmed
		}
		return final, err
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
	defer t.count()
	return t.commit(ctx, marker)
}

// confirm commits a transaction that has only read or locked. It may have seen writes
// that are not on a majority yet, and could be lost; the commit waits until they are.
func (t *transaction) confirm(ctx context.Context) (retry, error) {
	err := t.session.CommitTransaction(during(ctx, t.term))
	if err == nil {
		return final, nil
	}
	t.forget()
	t.left = t.locked
	return t.notCommitted(ctx, err)
}

// count notes what the transaction has written, or may have.
func (t *transaction) count() {
	for _, collections := range t.touched {
		t.s.recent.count(slices.Collect(maps.Keys(collections))...)
	}
}

// run calls the function, and converts a panic into an error.
func run(fn func(store.Tx) error, tx store.Tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &store.Error{Code: store.CodeInternal, Text: "the function of a transaction panicked", Cause: fmt.Errorf("%v\n%s", p, debug.Stack())}
		}
	}()
	return fn(tx)
}

// abort rolls back the transaction. The abort may be lost, or arrive before a
// cancelled statement. So a newer write of the session, which changes nothing,
// makes the server end what is open and refuse what arrives late.
func (t *transaction) abort(ctx context.Context) {
	if t.session.OperationTime() == nil && t.broken == nil {
		return // nothing was sent
	}
	first, cancel := patient(ctx, ending)
	defer cancel()
	err := t.s.client.Database("admin").RunCommand(mongo.NewSessionContext(first, t.session), bson.D{{Key: "abortTransaction", Value: 1}}).Err()
	t.forget()
	code, _ := store.CodeOf(t.broken)
	ended := err == nil || t.broken != nil && hasCode(err, codeNoTransaction)
	if ended && t.again != lost && code != store.CodeDeadline {
		return
	}
	second, cancel := patient(ctx, ending)
	defer cancel()
	t.left = !t.supersede(second)
}

// leave goes on ending a transaction of which the server has not heard that it failed: it
// would keep others from its records. The session is not used for another one meanwhile.
func (t *transaction) leave() {
	defer t.s.left.Add(-1)
	ctx, cancel := patient(context.Background(), horizonSeconds*time.Second)
	defer cancel()
	if t.s.left.Add(1) <= maxLeft {
		t.supersede(ctx)
	}
	t.session.EndSession(ctx)
}

// supersede sends a newer write of the session until the server answers.
func (t *transaction) supersede(ctx context.Context) bool {
	commits := t.s.db.Collection(commitsCollection, options.Collection().SetWriteConcern(writeconcern.W1()))
	for n := 0; ; n++ {
		_, err := commits.UpdateOne(mongo.NewSessionContext(ctx, t.session), bson.D{{Key: record.FieldID, Value: record.ID(store.Key{ID: t.id})}}, bson.D{{Key: "$set", Value: bson.D{{Key: "fence", Value: true}}}})
		if err == nil {
			return true
		}
		if t.s.closed.Load() || !pause(ctx, n, lost) {
			return false
		}
	}
}

// forget ends the transaction in the driver, but not on the server.
// An ended context prevents the command.
func (t *transaction) forget() {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = t.session.AbortTransaction(ended) // sends nothing
}

// copying returns the time limit of a commit: a large one takes longer than the
// minimum, and may take as long as the client waits.
func (t *transaction) copying(ctx context.Context, least time.Duration) time.Duration {
	limit := least + time.Duration(t.bytes/copied)*time.Second
	if at, limited := ctx.Deadline(); limited {
		limit = max(least, min(limit, time.Until(at)))
	}
	return limit
}

// commit commits the transaction. It continues when the client has
// disconnected, so that nothing stays open and the outcome is known.
func (t *transaction) commit(ctx context.Context, marker bson.Raw) (retry, error) {
	began := time.Now()
	patient, cancel := patient(ctx, t.copying(ctx, committing))
	defer cancel()
	for n := 0; ; n++ {
		err := t.session.CommitTransaction(during(patient, t.term))
		switch {
		case err == nil:
			t.s.leader.saw(t.session.OperationTime())
			t.s.measured.commits.Add(int64(time.Since(began)))
			t.s.measured.transactions.Add(t.calls)
			t.s.measured.groups.Add(t.calls)
			return final, nil
		case !hasLabel(err, labelUnknown), n == maxCommits, !pause(patient, n, lost):
			return t.settle(ctx, marker, err)
		}
	}
}

// settle finds out whether a transaction was committed. Not every error decides
// that: after some, the server has committed but cannot guarantee durability.
func (t *transaction) settle(ctx context.Context, marker bson.Raw, cause error) (retry, error) {
	patient, cancel := patient(ctx, t.copying(ctx, settling))
	defer cancel()
	for n := 0; ; n++ {
		committed, err := t.fence(patient, marker)
		switch {
		case err == nil && committed:
			return final, nil
		case err == nil:
			return t.notCommitted(ctx, cause)
		case !pause(patient, n, lost):
			return final, &store.Error{Code: store.CodeUncertain, Cause: scrub(cause),
				Text: "the connection to MongoDB was lost during a commit, and the outcome is unknown: read the records that were written"}
		}
	}
}

// fence looks for the transaction's marker. If there is none, it inserts one,
// which prevents a later commit, so that the transaction may run again.
func (t *transaction) fence(ctx context.Context, marker bson.Raw) (committed bool, err error) {
	ctx, done := t.s.leader.led(ctx)
	defer done()
	session, err := t.s.client.StartSession()
	if err != nil {
		return false, err
	}
	defer session.EndSession(context.WithoutCancel(ctx))
	ctx = mongo.NewSessionContext(ctx, session)
	// A transaction that is still open would block the marker for a minute.
	kill := bson.D{{Key: "killSessions", Value: bson.A{t.session.ID()}}}
	err = t.s.client.Database("admin").RunCommand(ctx, kill).Err()
	if again, _ := translate(ctx, err); again == lost {
		return false, err
	}
	commits := t.s.db.Collection(commitsCollection, options.Collection().SetReadPreference(readpref.Primary()))
	_, err = commits.InsertOne(ctx, bson.D{{Key: record.FieldID, Value: marker}, {Key: "time", Value: bson.NewDateTimeFromTime(time.Now())}, {Key: "fence", Value: true}})
	if !hasCode(err, codeDuplicate) {
		return false, err
	}
	// The marker counts as soon as it is on a majority.
	var found struct{ Fence bool }
	if err = commits.FindOne(ctx, bson.D{{Key: record.FieldID, Value: marker}}).Decode(&found); err == nil {
		t.s.leader.saw(session.OperationTime())
	}
	return !found.Fence, err
}
