package mongo

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"marquee/engine/store"
)

// Each transaction leaves markers of the collections that it wrote to
// (transaction.mark). While somebody asks, a goroutine follows them in a change
// stream, and counts them for each collection. Transactions of this process are
// counted when they end, too.
//
// The counts are up to date as of a moment when a read that was confirmed by a
// majority (linearizable) began after it, and the stream has passed the time of
// that read. Only the monotonic clock of this process and the time of the
// cluster are compared with themselves, so that clocks need not agree.

const (
	// tailWait is how long the server waits for markers before it answers, and the least
	// time from one proof to the next: each costs the primary about as much as a write.
	tailWait = 200 * time.Millisecond
	// tailIdle is how long the stream is followed after the last question.
	tailIdle = 10 * time.Second
	// tailPause is the pause after an error.
	tailPause = 250 * time.Millisecond
)

// recent counts the transactions that wrote to each collection.
type recent struct {
	mu sync.Mutex
	// epoch is the number of streams: markers between two are unknown.
	epoch  uint64
	counts map[string]uint64
	// term is that of the primary that is followed, and proved the moment as of
	// which the counts are known to be up to date.
	term   context.Context
	proved time.Time
	// asked is when Recent was last called.
	asked time.Time
	// cancel ends the goroutine, which closes ended; nil when there is none.
	cancel context.CancelFunc
	ended  chan struct{}
	closed bool
}

// Recent implements store.Store.
func (s *Store) Recent(collections ...string) (string, bool) {
	r := &s.recent
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = time.Now()
	if r.cancel == nil && !r.closed {
		var ctx context.Context
		ctx, r.cancel = context.WithCancel(context.Background())
		r.ended = make(chan struct{})
		go s.tail(ctx, r.ended)
	}
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

// count notes transactions that wrote to collections.
func (r *recent) count(collections ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[string]uint64{}
	}
	for _, name := range collections {
		r.counts[name]++
	}
}

// begin starts an epoch, in which nothing is known yet.
func (r *recent) begin(term context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.epoch++
	r.term, r.proved = term, time.Time{}
}

func (r *recent) prove(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.proved = at
}

// rest ends the goroutine if nobody has asked for a while, or the store is
// closed.
func (r *recent) rest() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed && time.Since(r.asked) < tailIdle {
		return false
	}
	r.proved = time.Time{}
	r.cancel()
	r.cancel = nil
	return true
}

// stop ends the goroutine for good.
func (r *recent) stop() {
	r.mu.Lock()
	r.closed = true
	cancel, ended := r.cancel, r.ended
	if cancel != nil {
		cancel()
	}
	r.mu.Unlock()
	if cancel != nil {
		<-ended
	}
}

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
		{{Key: "$project", Value: bson.D{{Key: "fullDocument.collections", Value: 1}}}},
	}, options.ChangeStream().SetMaxAwaitTime(tailWait).SetStartAtOperationTime(&now))
	if err != nil {
		return err
	}
	defer closeStream(ctx, session, stream)
	s.recent.begin(term)
	for {
		asked := time.Now()
		if now, err = s.confirmed(within, session); err != nil {
			return err
		}
		if err := s.countMarkers(within, stream, now); err != nil {
			return err
		}
		s.recent.prove(asked)
		s.recent.mu.Lock()
		idle := s.recent.closed || time.Since(s.recent.asked) >= tailIdle
		s.recent.mu.Unlock()
		if idle || !wait(ctx, tailWait-time.Since(asked)) {
			return nil
		}
	}
}

// countMarkers counts the markers of a stream until all of those before a time
// have been counted.
func (s *Store) countMarkers(ctx context.Context, stream *mongo.ChangeStream, now bson.Timestamp) error {
	after := bson.Timestamp{T: now.T, I: now.I + 1}
	for {
		if !stream.TryNext(ctx) {
			switch {
			case stream.Err() != nil:
				return stream.Err()
			case stream.ID() == 0:
				return &store.Error{Code: store.CodeInternal, Text: "MongoDB ended the stream of changes"}
			case reaches(stream.ResumeToken(), now):
				return nil
			}
			continue
		}
		var marker struct {
			FullDocument struct{ Collections []string } `bson:"fullDocument"`
		}
		if err := bson.Unmarshal(stream.Current, &marker); err != nil {
			return err
		}
		s.recent.count(marker.FullDocument.Collections...)
		// Markers of one transaction have the same time.
		if reaches(stream.ResumeToken(), after) {
			return nil
		}
	}
}

// confirmed returns the cluster's time, after a majority has confirmed that the
// server is the primary: one that was cut off would not know of later commits.
func (s *Store) confirmed(ctx context.Context, session *mongo.Session) (bson.Timestamp, error) {
	read := bson.D{{Key: "find", Value: storeCollection}, {Key: "filter", Value: bson.D{{Key: fieldID, Value: metaID}}},
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
