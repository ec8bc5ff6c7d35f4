package mongo

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"marquee/engine/store"
	"marquee/engine/store/mongo/record"
)

// MongoDB ends the transactions of a server that has gone after a minute or more, and
// until then nobody else can write their records. Servers therefore end them for each
// other. Each has a name, which MongoDB shows with its transactions. While one of them
// has been open for some seconds, the server stores the cluster's time under its name,
// again and again. A server that is kept from writing looks for transactions that have
// been open for long, and ends those whose server has not done so.
//
// No clocks are compared: MongoDB says for how long a transaction has been open, and
// whoever looks compares two times of the cluster. A server that was only paused finds
// that its transaction has ended, and runs it again.

const (
	// beatEvery is for how long a transaction is open before its server shows that it
	// lives, and how often it does so.
	beatEvery = 2 * time.Second
	// goneAfter is for how long the server of an open transaction has shown nothing
	// when it counts as gone, and lookEvery how often others look. Together, they are
	// less than the 15 s after which the transaction is to have ended.
	goneAfter = 10 * time.Second
	lookEvery = 2 * time.Second
)

// presence is what a server does to show that it lives, and to find those that do not.
type presence struct {
	// name is the name of the server. It begins with scope, which the servers of the
	// database have in common.
	name, scope string

	mu sync.Mutex
	// long is the number of transactions that have been open for beatEvery, and beating
	// whether a goroutine shows that the server lives.
	long    int
	beating bool
	// asked is when the server was last kept from writing, and looking whether a
	// goroutine looks for transactions of servers that have gone.
	asked   time.Time
	looking bool
	// refused reports whether it was logged that the server may not look.
	refused bool
}

func newPresence(database string) presence {
	sum := sha256.Sum256([]byte(database))
	scope := hex.EncodeToString(sum[:8]) + "."
	return presence{scope: scope, name: scope + newID()}
}

// newID returns an id for a transaction.
func newID() string {
	var id [8]byte
	rand.Read(id[:])
	return hex.EncodeToString(id[:])
}

// opened notes that a transaction begins. Call ended when it has ended.
func (s *Store) opened() (ended func()) {
	timer := time.AfterFunc(beatEvery, func() { s.addLong(1) })
	return func() {
		if !timer.Stop() {
			s.addLong(-1)
		}
	}
}

func (s *Store) addLong(n int) {
	p := &s.presence
	p.mu.Lock()
	defer p.mu.Unlock()
	p.long += n
	if p.long > 0 && !p.beating {
		p.beating = true
		go s.keepBeating()
	}
}

func (s *Store) keepBeating() {
	for {
		_, _ = s.beat(context.Background(), writeconcern.W1()) // its transactions meet the same error
		time.Sleep(beatEvery)
		p := &s.presence
		p.mu.Lock()
		if p.beating = p.long > 0; !p.beating {
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
	}
}

// beat shows that the server lives, and returns the cluster's time.
func (s *Store) beat(ctx context.Context, concern *writeconcern.WriteConcern) (now bson.Timestamp, err error) {
	ctx, cancel := context.WithTimeout(ctx, goneAfter/2)
	defer cancel()
	ctx, done := s.leader.led(ctx)
	defer done()
	session, err := s.client.StartSession(options.Session().SetCausalConsistency(false))
	if err != nil {
		return now, err
	}
	defer session.EndSession(context.WithoutCancel(ctx))
	servers := s.db.Collection(serversCollection, options.Collection().SetWriteConcern(concern))
	_, err = servers.UpdateOne(mongo.NewSessionContext(ctx, session), bson.D{{Key: record.FieldID, Value: serverID(s.presence.name)}},
		mongo.Pipeline{{{Key: "$set", Value: bson.D{{Key: "time", Value: "$$NOW"}, {Key: "seen", Value: "$$CLUSTER_TIME"}}}}}, options.UpdateOne().SetUpsert(true))
	if at := session.OperationTime(); at != nil {
		now = *at
	}
	return now, err
}

func serverID(name string) bson.Raw { return record.ID(store.Key{ID: name}) }

// Check implements store.Store. It succeeds when a primary answers. After a write that
// failed, it writes, too, because only that shows whether all writes fail: a primary
// answers while no majority follows it, and to a user who may only read.
func (s *Store) Check(ctx context.Context) error {
	err := s.client.Ping(ctx, readpref.Primary())
	failure := s.failing.Load()
	if err == nil && failure != nil {
		if _, err = s.beat(ctx, writeconcern.Majority()); err == nil {
			s.failing.CompareAndSwap(failure, nil)
		}
	}
	_, err = translate(ctx, err)
	return s.leader.explain(ctx, err)
}

// noteFailure remembers an error because of which all writes may fail.
func (s *Store) noteFailure(err error) {
	switch code, _ := store.CodeOf(err); code {
	case store.CodeUnavailable, store.CodeFull, store.CodeUncertain:
		s.failing.Store(&err)
	}
}
