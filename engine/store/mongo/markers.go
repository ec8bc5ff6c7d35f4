package mongo

import (
	"context"
	"log/slog"
	"math"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"marquee/engine/store"
	"marquee/engine/store/mongo/record"
)

const (
	// tailWait is the least time from one proof to the next, each of which costs the
	// primary about as much as a write, and tailAwait how long the server waits for
	// markers before it answers that there are none.
	tailWait  = 200 * time.Millisecond
	tailAwait = time.Millisecond
	// tailBusy is the time after the last question from which the stream is looked at
	// every tailRest only, and tailIdle how long it is followed at all.
	tailBusy = 10 * time.Second
	tailRest = 2 * time.Second
	tailIdle = 10 * time.Minute
	// tailPause is the pause after an error.
	tailPause = 250 * time.Millisecond
)

// tail follows the markers until nobody asks.
func (s *Store) tail(ctx context.Context, ended chan struct{}) {
	defer close(ended)
	for said := false; !s.recent.rest(); {
		err := s.followMarkers(ctx)
		switch {
		case err == nil:
			said = false
		case !said && ctx.Err() == nil:
			said = true
			s.log.Info("recent changes cannot be followed; what was kept in memory is read again", slog.String("cause", scrub(err).Error()))
		}
		if err != nil {
			wait(ctx, tailPause)
		}
	}
}

// followMarkers follows one stream until it fails, nobody asks, or another primary is
// elected.
func (s *Store) followMarkers(ctx context.Context) error {
	term, done := s.leader.follow()
	defer done()
	ctx, cancel := context.WithCancel(during(ctx, term))
	defer cancel()
	session, err := s.client.StartSession(options.Session().SetCausalConsistency(false))
	if err != nil {
		return err
	}
	defer session.EndSession(context.WithoutCancel(ctx))
	within := mongo.NewSessionContext(ctx, session)
	now, err := s.confirmed(within, session)
	if err != nil {
		return err
	}
	stream, err := s.db.Collection(commitsCollection).Watch(within, mongo.Pipeline{
		{{Key: "$match", Value: bson.D{{Key: "operationType", Value: "insert"}}}},
		{{Key: "$project", Value: bson.D{{Key: "clusterTime", Value: 1}, {Key: "fullDocument._id.network", Value: 1},
			{Key: "fullDocument.collections", Value: 1}, {Key: "fullDocument.tallies", Value: 1}}}},
	}, options.ChangeStream().SetMaxAwaitTime(tailAwait).SetStartAtOperationTime(&now))
	if err != nil {
		return err
	}
	defer closeStream(ctx, session, stream)
	s.recent.begin(term)
	defer s.recent.end()
	defer s.tallies.Clear(math.MaxUint64) // nothing is tallied that is not followed
	s.tallies.Clear(ordinalOf(now) - 1)
	m := markers{s: s, stream: stream}
	for {
		asked := time.Now()
		if now, err = s.confirmed(within, session); err != nil {
			return err
		}
		if err := m.pass(within, now); err != nil {
			return err
		}
		s.recent.prove(asked)
		if more, err := m.serve(within, asked); err != nil || !more {
			return err
		}
	}
}

// markers follows the markers of a stream.
type markers struct {
	s      *Store
	stream *mongo.ChangeStream
	// at is the time of the transaction whose changes of tallies are being collected:
	// it may have a marker in several networks.
	at      uint64
	changes store.TallyChanges
}

// ordinalOf returns a time of the cluster as the number of a commit.
func ordinalOf(at bson.Timestamp) uint64 { return uint64(at.T)<<32 | uint64(at.I) }

// serve passes markers that readers wait for, until the next proof is due. It reports
// whether the stream is to be followed further.
func (m *markers) serve(ctx context.Context, proved time.Time) (more bool, err error) {
	r := &m.s.recent
	for {
		r.mu.Lock()
		idle := time.Since(r.asked)
		closed, wanted := r.closed, r.wanted
		r.mu.Unlock()
		pause := tailWait
		if idle >= tailBusy {
			pause = tailRest
		}
		left := pause - time.Since(proved)
		switch {
		case closed, idle >= tailIdle, ctx.Err() != nil:
			return false, nil
		case left <= 0:
			return true, nil
		case m.s.tallies.Latest() < ordinalOf(wanted):
			if err := m.pass(ctx, wanted); err != nil {
				return false, err
			}
			continue
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-r.wake:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// pass passes the markers until all of those before a time have been counted.
func (m *markers) pass(ctx context.Context, now bson.Timestamp) error {
	defer m.s.recent.pass()
	after := bson.Timestamp{T: now.T, I: now.I + 1}
	for {
		if !m.stream.TryNext(ctx) {
			switch {
			case m.stream.Err() != nil:
				return m.stream.Err()
			case m.stream.ID() == 0:
				return &store.Error{Code: store.CodeInternal, Text: "MongoDB ended the stream of changes"}
			case reaches(m.stream.ResumeToken(), now):
				m.commit(ordinalOf(now))
				return nil
			}
			continue
		}
		if err := m.count(); err != nil {
			return err
		}
		// Markers of one transaction have the same time.
		if reaches(m.stream.ResumeToken(), after) {
			return nil
		}
	}
}

// count counts the current marker.
func (m *markers) count() error {
	var marker struct {
		ClusterTime  bson.Timestamp `bson:"clusterTime"`
		FullDocument struct {
			ID          struct{ Network string } `bson:"_id"`
			Collections []string
			Tallies     []talliedChange
		} `bson:"fullDocument"`
	}
	if err := bson.Unmarshal(m.stream.Current, &marker); err != nil {
		return err
	}
	written := marker.FullDocument
	m.s.recent.count(written.Collections...)
	if at := ordinalOf(marker.ClusterTime); at != m.at {
		m.commit(at - 1)
		m.at = at
	}
	if latest := m.s.tallies.Latest(); m.at <= latest || written.Tallies == nil && len(written.Collections) > 0 {
		m.s.tallies.Clear(max(latest, m.at)) // a marker of an earlier version, or one that comes late
	}
	for _, c := range written.Tallies {
		place := store.Place{Collection: c.Collection, Network: written.ID.Network}
		if c.N == nil {
			m.changes.Forget(place)
		} else {
			m.changes.Add(place, c.Label, *c.N)
		}
	}
	return nil
}

// commit applies what has been collected. All transactions up to a time have been passed.
func (m *markers) commit(upTo uint64) {
	if m.at <= upTo {
		m.s.tallies.Commit(m.at, m.changes)
		m.changes = nil
	}
	m.s.tallies.Commit(upTo, nil)
}

// talliedChange is a change of a tally in a marker. No N is an unknown change.
type talliedChange struct {
	Collection, Label string
	N                 *int64
}

// tallied returns the changes in a network. A marker has them even if there are none:
// those of earlier versions do not have the field.
func (t *transaction) tallied(network string) []talliedChange {
	changes := []talliedChange{}
	for _, c := range t.tallies {
		n := &c.N
		if c.Unknown {
			n = nil
		}
		if c.Network == network {
			changes = append(changes, talliedChange{c.Collection, c.Label, n})
		}
	}
	return changes
}

func later(a, b bson.Timestamp) bson.Timestamp {
	if a.After(b) {
		return a
	}
	return b
}

// reached waits until the markers of all transactions that a snapshot of a time sees have
// been passed. It is false if they cannot be.
func (s *Store) reached(ctx context.Context, at bson.Timestamp) bool {
	r, late := &s.recent, time.After(store.Freshness)
	for {
		r.mu.Lock()
		s.ask()
		passed := r.passed
		done := passed != nil && s.tallies.Latest() >= ordinalOf(at)
		if !done {
			r.wanted = later(r.wanted, at)
			r.hurry()
		}
		r.mu.Unlock()
		if done || passed == nil {
			return done
		}
		select {
		case <-passed:
		case <-late:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// confirmed returns the cluster's time, after a majority has confirmed that the
// server is the primary: one that was cut off would not know of later commits.
func (s *Store) confirmed(ctx context.Context, session *mongo.Session) (bson.Timestamp, error) {
	read := bson.D{{Key: "find", Value: storeCollection}, {Key: "filter", Value: bson.D{{Key: record.FieldID, Value: metaID}}},
		{Key: "limit", Value: 1}, {Key: "singleBatch", Value: true},
		{Key: "readConcern", Value: bson.D{{Key: "level", Value: "linearizable"}}}, {Key: "maxTimeMS", Value: store.Freshness.Milliseconds()}}
	if err := s.db.RunCommand(ctx, read).Err(); err != nil {
		return bson.Timestamp{}, err
	}
	at := session.OperationTime()
	if at == nil {
		return bson.Timestamp{}, &store.Error{Code: store.CodeUnavailable, Text: "MongoDB does not report the time of its replica set"}
	}
	return *at, nil
}
