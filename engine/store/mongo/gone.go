package mongo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"sync"
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
	// blockedAfter is for how long a write has conflicts before its server looks, and
	// lookFor how long it goes on doing so.
	blockedAfter = time.Second
	lookFor      = 15 * time.Second
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

// release lets transactions end whose servers have gone, because they may be what keeps
// this server from writing.
func (s *Store) release() {
	p := &s.presence
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = time.Now()
	if !p.looking {
		p.looking = true
		go s.keepLooking()
	}
}

func (s *Store) keepLooking() {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), goneAfter)
		s.logGone(s.endGone(ctx))
		cancel()
		time.Sleep(lookEvery)
		p := &s.presence
		p.mu.Lock()
		if p.looking = time.Since(p.asked) < lookFor && !s.closed.Load(); !p.looking {
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
	}
}

func (s *Store) logGone(ended int, err error) {
	if ended > 0 {
		s.log.Info("transactions of servers that have gone were ended", slog.Int("transactions", ended))
	}
	if !hasCode(err, codesForbidden...) {
		return // whoever waits meets other errors, too
	}
	p := &s.presence
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.refused {
		p.refused = true
		s.log.Warn("the database user may not see or end the transactions of servers that have gone: MongoDB ends each after a minute or more", slog.String("cause", scrub(err).Error()))
	}
}

// endGone ends the transactions of servers that have gone, and returns their number.
func (s *Store) endGone(ctx context.Context) (int, error) {
	now, err := s.beat(ctx, writeconcern.W1())
	if err != nil {
		return 0, err
	}
	listed, err := s.listTransactions(ctx)
	if err != nil {
		return 0, err
	}
	sessions, ids := map[string]bson.A{}, bson.A{}
	for _, open := range listed {
		name := open.name()
		if open.Active || open.Micros < goneAfter.Microseconds() || name == s.presence.name || name == "" {
			continue
		}
		if sessions[name] == nil {
			ids = append(ids, serverID(name))
		}
		sessions[name] = append(sessions[name], bson.D{{Key: "id", Value: open.Session.Lookup("id")}})
	}
	if len(ids) == 0 {
		return 0, nil
	}
	alive, err := s.alive(ctx, ids, now)
	if err != nil {
		return 0, err
	}
	var gone bson.A
	for name, some := range sessions {
		if !alive[name] {
			gone = append(gone, some...)
		}
	}
	if len(gone) == 0 {
		return 0, nil
	}
	return len(gone), s.client.Database("admin").RunCommand(ctx, bson.D{{Key: "killSessions", Value: gone}}).Err()
}

// alive returns those of some servers that have shown that they live.
func (s *Store) alive(ctx context.Context, ids bson.A, now bson.Timestamp) (map[string]bool, error) {
	servers := s.db.Collection(serversCollection, options.Collection().SetReadPreference(readpref.Primary()).SetReadConcern(readconcern.Local()))
	cursor, err := servers.Find(ctx, bson.D{{Key: record.FieldID, Value: bson.D{{Key: "$in", Value: ids}}}})
	if err != nil {
		return nil, err
	}
	var found []struct {
		Key  struct{ ID string } `bson:"_id"`
		Seen bson.Timestamp
	}
	if err := cursor.All(ctx, &found); err != nil {
		return nil, err
	}
	alive := map[string]bool{}
	for _, server := range found {
		alive[server.Key.ID] = time.Duration(int64(now.T)-int64(server.Seen.T))*time.Second < goneAfter
	}
	return alive, nil
}
