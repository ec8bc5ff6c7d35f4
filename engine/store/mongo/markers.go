package mongo

import (
	"context"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"marquee/engine/store"
)

const (
	// tailWait is the least time from one proof to the next, each of which costs the
	// primary about as much as a write, and tailAwait how long the server waits for
	// markers before it answers that there are none.
	tailWait  = 200 * time.Millisecond
	tailAwait = time.Millisecond
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

// Recent implements store.Store.
func (s *Store) Recent(collections ...string) (string, bool) {
	r := &s.recent
	r.mu.Lock()
	defer r.mu.Unlock()
	s.ask()
	if r.proved.IsZero() || time.Since(r.proved) >= store.Freshness || r.term.Err() != nil {
		return "", false
	}
	var b strings.Builder
	b.WriteString(strconv.FormatUint(r.epoch, 36))
	for _, name := range collections {
		b.WriteByte('.')
		b.WriteString(strconv.FormatUint(r.counts[name], 36))
	}
	return b.String(), true
}

// ask makes the goroutine follow the markers. The lock must be held.
func (s *Store) ask() {
	r := &s.recent
	rested := time.Since(r.asked) > tailBusy
	r.asked = time.Now()
	if r.cancel == nil && !r.closed {
		var ctx context.Context
		ctx, r.cancel = context.WithCancel(context.Background())
		r.ended, r.wake = make(chan struct{}), make(chan struct{}, 1)
		go s.tail(ctx, r.ended)
	} else if rested {
		r.hurry()
	}
}
