package mongo

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"marquee/engine/store"
)

// retry is how a failed operation may be retried.
type retry int

const (
	final retry = iota
	// conflict means a conflict with another transaction: retry on a newer
	// snapshot.
	conflict
	// refused means a conflict with the transaction's own snapshot.
	refused
	// lost means that a server cannot be reached or is no longer primary.
	lost
	// unexplained means an error of no class: retry a few times, because a server that ceases
	// to be primary answers with much that no specification lists, and perhaps before the
	// driver knows.
	unexplained
)

// Labels of errors, from the driver's specifications.
const (
	labelTransient  = "TransientTransactionError"
	labelUnknown    = "UnknownTransactionCommitResult"
	labelOverloaded = "SystemOverloadedError"
)

// Codes of the server (error_codes.yml).
var (
	codesTooLarge  = []int{388, 257, 10334, 17419, 17420, 17280, 290}
	codesFull      = []int{14031}
	codesForbidden = []int{13, 18, 8000}
	codesStopped   = []int{11601}
	codesLate      = []int{50}
	codesConflict  = []int{112, 251, 225, 24, 46, 117, 244, 267, 272, 276, 285, 356, 363, 12586, 12587}
	codesOutdated  = []int{246, 239, 250, 341, 175, 43, 237, 314}
	codesLost      = slices.Concat(codesState, codesNetwork, codesBusy)
	// codesState are those of a server that is no primary, is about to be none, or has just
	// become one; codesNetwork those of connections between servers; codesBusy those of a
	// server with too much to do.
	codesState   = []int{91, 94, 95, 133, 134, 189, 206, 210, 211, 216, 217, 228, 234, 279, 281, 282, 303, 310, 355, 358, 372, 10058, 10107, 11600, 11602, 13435, 13436}
	codesNetwork = []int{6, 7, 63, 64, 79, 89, 90, 100, 145, 150, 202, 249, 317, 384, 9001, 13388}
	codesBusy    = []int{262, 365, 402, 406, 407, 412, 433, 449}
)

const (
	codeDuplicate     = 11000
	codeNoTransaction = 251
)

func hasCode(err error, codes ...int) bool {
	var server mongo.ServerError
	return errors.As(err, &server) && slices.ContainsFunc(codes, server.HasErrorCode)
}

func hasLabel(err error, label string) bool {
	var labeled mongo.LabeledError
	return errors.As(err, &labeled) && labeled.HasErrorLabel(label)
}

// translate converts an error of the driver into a *store.Error, and returns
// whether to retry. Codes are examined before labels, because a transaction
// that failed for good keeps failing with a label.
func translate(ctx context.Context, err error) (retry, error) {
	if err == nil {
		return final, nil
	}
	var known *store.Error
	if errors.As(err, &known) {
		return final, err
	}
	fail := func(code store.Code, text string) error {
		return &store.Error{Code: code, Text: text, Cause: scrub(err)}
	}
	var selection topology.ServerSelectionError
	switch {
	case hasCode(err, codesTooLarge...), errors.Is(err, driver.ErrDocumentTooLarge):
		return final, fail(store.CodeTooLarge, "the transaction is too large for MongoDB: send less at once, or give its servers a larger cache")
	case hasCode(err, codeDuplicate):
		return refused, fail(store.CodeConflict, "a record already exists, or a unique value is taken")
	case hasCode(err, codesFull...):
		return final, fail(store.CodeFull, "a disk of MongoDB is full: free space on it")
	case hasCode(err, codesForbidden...):
		return final, fail(store.CodeUnavailable, "the database user lacks a permission: grant it the role readWrite on the database")
	case errors.As(err, &selection):
		return lost, fail(store.CodeUnavailable, "no server of MongoDB that can run the operation is reachable: check that its members run, and that a primary is elected")
	case errors.Is(context.Cause(ctx), errReplaced), errors.Is(err, context.Canceled) && !over(ctx):
		return lost, fail(store.CodeUnavailable, "the primary of MongoDB changed")
	case over(ctx), errors.Is(err, driver.ErrDeadlineWouldBeExceeded), hasCode(err, codesLate...):
		return final, deadline(ctx)
	case hasCode(err, codesStopped...):
		return final, fail(store.CodeUnavailable, "an operator of MongoDB killed the operation")
	case errors.Is(err, mongo.ErrClientDisconnected):
		return final, errClosed
	case isUnknownHint(err):
		return conflict, fail(store.CodeUnavailable, "an index was dropped by another server")
	case hasCode(err, codesConflict...):
		return conflict, fail(store.CodeConflict, "the transaction conflicts with another one")
	case hasCodeWith(err, 246, "No committed OpTime"):
		return lost, fail(store.CodeUnavailable, "MongoDB has no majority yet")
	case hasCode(err, codesOutdated...):
		return conflict, fail(store.CodeUnavailable, "the snapshot is no longer readable")
	case mongo.IsNetworkError(err), mongo.IsTimeout(err), hasCode(err, codesLost...), isPoolError(err), hasLabel(err, labelOverloaded):
		return lost, fail(store.CodeUnavailable, "the connection to MongoDB was lost, its primary changed, or it is overloaded")
	case hasLabel(err, labelTransient):
		return conflict, fail(store.CodeConflict, "the transaction conflicts with another one")
	}
	return final, fail(store.CodeInternal, "MongoDB failed")
}

// translate is like the function of the same name, for an error of a command that was sent in a
// term. An error of no class is due to the election while the primary changes.
func (s *Store) translate(ctx, term context.Context, err error) (retry, error) {
	var server mongo.ServerError
	fromServer := errors.As(err, &server)
	again, err := translate(ctx, err)
	if code, known := store.CodeOf(err); again != final || !known || code != store.CodeInternal {
		return again, err
	}
	switch {
	case s.leader.changing(term):
		return lost, &store.Error{Code: store.CodeUnavailable, Text: "the primary of MongoDB changes", Cause: err}
	case fromServer:
		return unexplained, err
	}
	return final, err
}

// inUse replaces the error of a conflict outside of transactions: others were using a
// collection.
func inUse(err error, text string) error {
	if failed, ok := err.(*store.Error); ok && failed.Code == store.CodeConflict {
		return &store.Error{Code: store.CodeUnavailable, Text: text, Cause: failed.Cause}
	}
	return err
}

// isPoolError reports whether an operation got no connection, because others
// broke or the server was given up.
func isPoolError(err error) bool {
	var cleared driver.RetryablePoolError
	var pool topology.PoolError
	var connection topology.ConnectionError
	return errors.As(err, &cleared) || errors.As(err, &pool) || errors.As(err, &connection) || errors.Is(err, topology.ErrServerClosed)
}

// over reports whether a context has ended. The driver and the server may
// notice a deadline before the context does.
func over(ctx context.Context) bool {
	at, limited := ctx.Deadline()
	return ctx.Err() != nil || limited && !time.Now().Before(at)
}

// isUnknownHint reports whether a find named an index that no longer exists.
func isUnknownHint(err error) bool { return hasCodeWith(err, 2, "hint provided") }

func hasCodeWith(err error, code int, text string) bool {
	var server mongo.ServerError
	return errors.As(err, &server) && server.HasErrorCodeWithMessage(code, text)
}

// scrub removes the driver's descriptions of servers, which repeat the
// connection string, from an error.
func scrub(err error) error {
	text := err.Error()
	if at := strings.Index(text, "mongodb://"); at >= 0 {
		return errors.New(text[:at] + "…")
	}
	if at := strings.Index(text, "mongodb+srv://"); at >= 0 {
		return errors.New(text[:at] + "…")
	}
	return err
}

func deadline(ctx context.Context) error {
	return &store.Error{Code: store.CodeDeadline, Text: "the deadline of the request has passed, or its client has disconnected", Cause: ctx.Err()}
}

var errClosed = &store.Error{Code: store.CodeUnavailable, Text: "the store is closed"}

// waitedFor returns the error of a write whose time ran out while others had
// the store.
func waitedFor(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return deadline(ctx) // the client has disconnected
	}
	return &store.Error{Code: store.CodeBusy, Text: "the deadline of the request passed while other writes left no room for this one", Cause: ctx.Err()}
}

// notCommitted returns the error of a transaction that was not committed.
func (t *transaction) notCommitted(ctx context.Context, cause error) (retry, error) {
	switch {
	case over(ctx):
		return final, deadline(ctx)
	case hasLabel(cause, labelUnknown), errors.Is(cause, context.Canceled):
		return lost, &store.Error{Code: store.CodeUnavailable, Cause: scrub(cause), Text: "the connection to MongoDB was lost before a transaction was committed"}
	}
	return t.s.translate(ctx, t.term, cause)
}

var errEnded = &store.Error{Code: store.CodeInternal, Text: "a transaction was used after its function had returned"}

var errVersion = &store.Error{Code: store.CodeConflict, Text: "a record is not at its expected revision"}

var errNoTime = &store.Error{Code: store.CodeUnavailable, Text: "MongoDB does not report the time of its replica set: its primary has only just started"}

var errOutdated = &store.Error{Code: store.CodeUnavailable, Text: "the new primary of MongoDB does not know yet which writes a majority has"}

// pause waits before a retry, longer each time and with jitter. It returns
// false when the context ends.
func pause(ctx context.Context, n int, why retry) bool {
	longest := min(2*time.Millisecond<<min(n, 7), 250*time.Millisecond)
	if why == lost || why == unexplained {
		longest = min(20*time.Millisecond<<min(n, 5), 500*time.Millisecond)
	}
	return wait(ctx, time.Duration(rand.Int64N(int64(longest))+1)) // #nosec G404 -- the random time only spreads retries
}

const (
	// maxLost is how long a transaction without a deadline waits for a primary.
	maxLost = 60 * time.Second
	// settling is the minimum time for looking up the outcome of a commit:
	// longer than MongoDB takes to elect a primary.
	settling = 15 * time.Second
	// ending is the time limit for ending what has failed: a transaction, at each of
	// two attempts, or a cursor.
	ending = time.Second
)

// patient returns a context for work that must be done even for a client that
// has disconnected. It ends without a deadline: with one, the driver would
// retry without a pause until it passes.
func patient(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	timer := time.AfterFunc(limit, cancel)
	return ctx, func() {
		timer.Stop()
		cancel()
	}
}

// wait returns false when the context ends first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
