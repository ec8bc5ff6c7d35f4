package mongo

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"marquee/engine/store"
	"marquee/engine/store/mongo/plan"
	"marquee/engine/store/mongo/record"
)

const (
	// keptStreams is the maximum number of change streams that are kept open between calls of
	// Changes, and keptFor the time after which one that nobody continued is closed.
	keptStreams = 16
	keptFor     = 5 * time.Second
)

// feedStream is a change stream.
type feedStream struct {
	stream  *mongo.ChangeStream
	session *mongo.Session
	// batch is the maximum number of changes of an answer, and wait how long MongoDB waits for some.
	batch int
	wait  time.Duration
	// term is that of the primary at which the stream was opened.
	term context.Context
	end  context.CancelFunc
	// tokens are those with which a stream that is kept can be found, and idle closes it.
	tokens []string
	idle   *time.Timer
}

// open opens a stream at the position.
func (f *follower) open(ctx context.Context, session *mongo.Session) (*feedStream, error) {
	s := &feedStream{session: session, batch: min(f.limit, 1000), wait: f.patience()}
	opts := options.ChangeStream().SetMaxAwaitTime(s.wait).SetBatchSize(int32(s.batch)) // #nosec G115 -- 1000 is the largest
	if f.at.token != nil {
		opts.SetResumeAfter(f.at.token)
	} else {
		from := f.at.horizon
		opts.SetStartAtOperationTime(&from)
	}
	wanted := bson.D{{Key: "operationType", Value: "insert"}}
	if len(f.collections) > 0 {
		wanted = append(wanted, record.OfCollections("fullDocument.", f.collections))
	}
	s.term, s.end = f.s.leader.follow()
	var err error
	s.stream, err = f.s.db.Collection(changesCollection).Watch(mongo.NewSessionContext(ctx, session), mongo.Pipeline{{{Key: "$match", Value: wanted}}}, opts)
	if err != nil {
		s.end()
		session.EndSession(context.WithoutCancel(ctx))
	}
	return s, err
}

func (s *feedStream) close(ctx context.Context) {
	closeStream(ctx, s.session, s.stream)
	s.end()
	s.session.EndSession(context.WithoutCancel(ctx))
}

// feedStreams keeps streams of the changes of all collections for calls that continue where they
// are, because opening one costs MongoDB more than reading from it.
type feedStreams struct {
	mu     sync.Mutex
	kept   []*feedStream
	closed bool
}

// take returns a stream that is kept and continues where a follower is, as one that it opens would,
// or nil.
func (k *feedStreams) take(f *follower) *feedStream {
	if f.at.token == nil || len(f.collections) > 0 {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.kept, func(s *feedStream) bool {
		return s.batch <= f.limit && s.wait == f.patience() && slices.Contains(s.tokens, string(f.at.token))
	})
	if i < 0 {
		return nil
	}
	s := k.kept[i]
	if k.kept = slices.Delete(k.kept, i, i+1); !s.idle.Stop() {
		return nil // it is being closed
	}
	if s.term.Err() != nil { // a former primary does not know what the present one has confirmed
		go s.close(context.Background())
		return nil
	}
	return s
}

// keep keeps a stream behind tokens, or closes it. A stream that has read more than it has returned
// is closed.
func (k *feedStreams) keep(s *feedStream, tokens ...bson.Raw) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed || len(k.kept) == keptStreams || s.stream.ID() == 0 || s.stream.RemainingBatchLength() > 0 {
		go s.close(context.Background())
		return
	}
	s.tokens = nil
	for _, token := range tokens {
		s.tokens = append(s.tokens, string(token))
	}
	k.kept = append(k.kept, s)
	s.idle = time.AfterFunc(keptFor, func() {
		k.mu.Lock()
		k.kept = slices.DeleteFunc(k.kept, func(one *feedStream) bool { return one == s })
		k.mu.Unlock()
		s.close(context.Background())
	})
}

// stop closes the streams that are kept, and lets no other be kept.
func (k *feedStreams) stop() {
	k.mu.Lock()
	kept := k.kept
	k.kept, k.closed = nil, true
	k.mu.Unlock()
	for _, s := range kept {
		if s.idle.Stop() {
			s.close(context.Background())
		}
	}
}

// streamed reads changes from the stream that were committed when it began, or waits for some.
func (f *follower) streamed(ctx context.Context) error {
	from, now, err := f.resume(ctx)
	if err != nil {
		return err
	}
	last, err := f.follow(ctx, from, now)
	if err != nil || len(f.collections) > 0 {
		from.close(ctx)
		return f.failed(err)
	}
	f.s.streams.keep(from, last, f.at.token)
	return nil
}

// resume returns a stream that continues behind the position, and the time that is to be reached.
func (f *follower) resume(ctx context.Context) (from *feedStream, to bson.Timestamp, err error) {
	if f.wait > 0 {
		if from = f.s.streams.take(f); from != nil {
			return from, to, nil
		}
	}
	session, now, err := f.s.present(ctx)
	if err != nil {
		return nil, to, f.failed(err)
	}
	if reached := timeOf(f.at.token); f.at.token != nil && reached.T > now.at.T {
		err = badPosition(nil)
	} else if !reached.IsZero() && reached.Before(now.afterRemoved()) { // as if the stream did not have them
		err = errRemoved
	}
	// Behind a later position, changes can have been removed as well, of a transaction that began
	// before the position and ended after it, or that has the position inside. The stream has all
	// of them: an insertion has its document from the oplog. Once the oplog lacks them, the fallback
	// begins before that transaction did, and finds that it was removed.
	if err == nil {
		from = f.s.streams.take(f)
	}
	if err != nil || from != nil {
		session.EndSession(context.WithoutCancel(ctx))
	} else if from, err = f.open(ctx, session); err != nil {
		err = f.failed(err)
	}
	f.lastRewritten = now.rewritten
	return from, now.at, err
}

// follow reads from a stream to a time, or until enough was found; one that waits until something
// was found. It returns the token of the last change.
func (f *follower) follow(ctx context.Context, from *feedStream, to bson.Timestamp) (last bson.Raw, err error) {
	stream, within := from.stream, mongo.NewSessionContext(ctx, from.session)
	last, f.inserted = f.at.token, map[string]int{}
	for !f.full() {
		if f.wait > 0 && len(f.found) > 0 && stream.RemainingBatchLength() == 0 {
			break
		}
		if !stream.TryNext(within) {
			if stream.Err() != nil || stream.ID() == 0 || f.wait > 0 || reaches(stream.ResumeToken(), to) {
				break
			}
			continue
		}
		raw, _ := stream.Current.Lookup("fullDocument").DocumentOK()
		c, err := record.Change(raw)
		if err != nil {
			return nil, err
		}
		last = stream.ResumeToken()
		f.pass(last)
		if !f.at.within(c.Position) {
			f.inserted[c.Position] = len(f.found)
			f.take(c)
		}
	}
	if token := stream.ResumeToken(); stream.Err() == nil && !f.full() && token != nil {
		f.pass(token) // after the changes of other collections, too
	}
	return last, stream.Err()
}

// rewritten gives changes from the stream that may have been rewritten the Fields and Notices that
// they have now: the oplog keeps the values that have been removed from the history. Whether they
// have been from a change that was removed itself is not known, so that it gets none.
func (f *follower) rewritten(ctx context.Context) error {
	if f.wait > 0 && len(f.inserted) > 0 { // since the wait began
		session, now, err := f.s.present(ctx)
		if err != nil {
			return err
		}
		session.EndSession(ctx)
		f.lastRewritten = now.rewritten
	}
	maps.DeleteFunc(f.inserted, func(id string, _ int) bool { return id > f.lastRewritten })
	if len(f.inserted) == 0 {
		return nil
	}
	filter := bson.D{{Key: record.KeyNetwork, Value: bson.D{{Key: "$gte", Value: ""}}},
		{Key: record.KeyID, Value: bson.D{{Key: "$in", Value: slices.Collect(maps.Keys(f.inserted))}}}}
	return f.s.Read(ctx, func(snapshot store.Snapshot) error {
		v := snapshot.(*view)
		v.latest = true
		for _, at := range f.inserted {
			f.found[at].Fields, f.found[at].Notices = []byte("[]"), nil
		}
		return v.rows(ctx, changesCollection, filter, func(raw bson.Raw) error {
			c, err := record.Change(raw)
			if at, wanted := f.inserted[c.Position]; err == nil && wanted {
				f.found[at].Fields, f.found[at].Notices = c.Fields, c.Notices
			}
			return err
		}, options.Find().SetHint(plan.OwnIndex+"feed").SetBatchSize(batchSize(len(f.inserted))))
	})
}

// patience is how long MongoDB waits for new changes at the end of a stream, unless the caller
// waits for some.
const patience = 5 * time.Millisecond

func (f *follower) patience() time.Duration { return max(patience, f.wait) }

// closeStream closes a stream. Errors do not matter once the changes were read.
func closeStream(ctx context.Context, session *mongo.Session, stream *mongo.ChangeStream) {
	patient, cancel := patient(ctx, ending)
	defer cancel()
	_ = stream.Close(mongo.NewSessionContext(patient, session))
}
