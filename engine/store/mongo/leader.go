package mongo

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"marquee/engine/store"
)

// leader tracks which member of a replica set is primary. A primary that hangs
// keeps its connections open, so operations sent to it wait for answers that
// never come; the driver moves only new operations to the next primary. So
// operations in flight are cancelled when another primary is elected, and run
// again there.
type leader struct {
	// patience is how long a working server may be silent: it answers the
	// driver's heartbeats.
	patience time.Duration

	mu sync.Mutex
	// primary is the last known primary, known whether it is one now.
	primary string
	known   bool
	// term ends, by calling end, when another member becomes primary.
	term context.Context
	end  context.CancelCauseFunc
	// heard is when each server last answered.
	heard map[string]time.Time
	// seen is the newest time of the cluster that a client may have seen: that of a
	// confirmed commit, or of a snapshot that was read.
	seen bson.Timestamp
	// required is what a snapshot of the current primary must have reached, or zero
	// after one has. A new primary does not know at once which of its predecessor's
	// commits are on a majority, and its snapshots leave out those that it does not know.
	required bson.Timestamp
}

// heartbeat is the interval of the driver's heartbeats unless the connection
// string sets one, and late how much later an answer may come.
const (
	heartbeat = 5 * time.Second
	late      = 3 * time.Second
)

// errReplaced is the cause of the end of a term.
var errReplaced = errors.New("another member of the replica set has become primary")

func newLeader(interval time.Duration) *leader {
	l := &leader{patience: interval + late, heard: map[string]time.Time{}}
	l.term, l.end = context.WithCancelCause(context.Background())
	return l
}

// monitor passes what the driver observes to the leader, and what members say of themselves
// to a function.
func (l *leader) monitor(heard func(server string, reply event.ServerDescription)) *event.ServerMonitor {
	return &event.ServerMonitor{
		TopologyDescriptionChanged: func(e *event.TopologyDescriptionChangedEvent) {
			primary := ""
			for _, server := range e.NewDescription.Servers {
				if server.Kind == "RSPrimary" {
					primary = server.Addr.String()
				}
			}
			l.found(primary)
		},
		ServerHeartbeatSucceeded: func(e *event.ServerHeartbeatSucceededEvent) {
			server, _, _ := strings.Cut(e.ConnectionID, "[")
			l.mu.Lock()
			l.heard[server] = time.Now()
			l.mu.Unlock()
			heard(server, e.Reply)
		},
	}
}

// found records the current primary, "" for none.
func (l *leader) found(primary string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.known
	l.known = primary != ""
	if !l.known || before && primary == l.primary {
		return
	}
	l.required = l.seen
	if primary == l.primary {
		return
	}
	if l.primary != "" {
		l.end(errReplaced)
		l.term, l.end = context.WithCancelCause(context.Background())
	}
	l.primary = primary
}

// follow returns a context that ends with the term of the primary. Call done
// when it is no longer needed.
func (l *leader) follow() (term context.Context, done context.CancelFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return context.WithCancel(l.term)
}

// saw records the time of a confirmed commit.
func (l *leader) saw(at *bson.Timestamp) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at != nil && at.After(l.seen) {
		l.seen = *at
	}
}

// shows reports whether a snapshot of the primary, read in a term, has all that clients
// have seen. If not, it will when the primary has committed something of its own.
func (l *leader) shows(at bson.Timestamp, term context.Context) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.required.After(at) {
		return false
	}
	if term.Err() == nil {
		l.required = bson.Timestamp{}
	}
	if at.After(l.seen) {
		l.seen = at
	}
	return true
}

// changing reports whether there is no primary, or another one than in a term.
func (l *leader) changing(term context.Context) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.primary != "" && (!l.known || term.Err() != nil)
}

// during returns a context that also ends with a term.
func during(ctx, term context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	context.AfterFunc(term, func() { cancel(context.Cause(term)) })
	return ctx
}

// led returns a context for an operation that is cancelled when another primary
// is elected. Call the returned function when it is done.
func (l *leader) led(ctx context.Context) (context.Context, context.CancelFunc) {
	term, done := l.follow()
	return during(ctx, term), done
}

// silent reports whether the server that accepts writes has not answered
// lately.
func (l *leader) silent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.primary != "" {
		return !l.known || time.Since(l.heard[l.primary]) > l.patience
	}
	for _, at := range l.heard {
		if time.Since(at) <= l.patience {
			return false
		}
	}
	return true
}

// explain distinguishes a deadline that passed because MongoDB did not answer
// from one that was too short for the work.
func (l *leader) explain(ctx context.Context, err error) error {
	code, known := store.CodeOf(err)
	if !known || code != store.CodeDeadline && code != store.CodeBusy || errors.Is(ctx.Err(), context.Canceled) || !l.silent() {
		return err
	}
	return &store.Error{Code: store.CodeUnavailable, Text: "MongoDB did not answer before the deadline of the request: check that its members run, and that a primary is elected", Cause: ctx.Err()}
}
