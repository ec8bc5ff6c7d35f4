package mongo

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"marquee/engine/store/mongo/record"
)

const (
	// blockedAfter is for how long a write has conflicts before its server looks, and
	// lookFor how long it goes on doing so.
	blockedAfter = time.Second
	lookFor      = 15 * time.Second
)

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

// listedTransaction is an open transaction as MongoDB lists it.
type listedTransaction struct {
	Session bson.Raw
	Number  int64
	// Active reports whether a command runs in it, and Micros for how long it has been
	// open. Server ends with the name of its server.
	Active bool
	Micros int64
	Server string
}

// name returns the name of the server, "" where it has none.
func (l *listedTransaction) name() string {
	_, name, _ := strings.Cut(l.Server, "|")
	return name
}

func (s *Store) listTransactions(ctx context.Context) (listed []listedTransaction, err error) {
	admin := s.client.Database("admin", options.Database().SetReadPreference(readpref.Primary()).SetReadConcern(readconcern.Local()))
	cursor, err := admin.Aggregate(ctx, mongo.Pipeline{
		{{Key: "$currentOp", Value: bson.D{{Key: "allUsers", Value: false}, {Key: "idleSessions", Value: true}}}},
		{{Key: "$match", Value: bson.D{{Key: "transaction.parameters.txnNumber", Value: bson.D{{Key: "$exists", Value: true}}}}}},
		{{Key: "$project", Value: bson.D{{Key: "session", Value: "$lsid"}, {Key: "number", Value: "$transaction.parameters.txnNumber"},
			{Key: "active", Value: 1}, {Key: "micros", Value: "$transaction.timeOpenMicros"}, {Key: "server", Value: "$clientMetadata.driver.version"}}}},
	})
	if err != nil {
		return nil, err
	}
	err = cursor.All(ctx, &listed)
	return slices.DeleteFunc(listed, func(open listedTransaction) bool {
		name := open.name()
		return name != "" && !strings.HasPrefix(name, s.presence.scope)
	}), err
}
