package mongo

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"marquee/engine/store"
)

// retry says whether what failed may be tried again.
type retry int

const (
	final retry = iota
	// conflict is one with another transaction, which a newer snapshot may not
	// have.
	conflict
	// refused is a conflict with what the transaction's own snapshot holds.
	refused
	// lost is a server that cannot be reached, or is no primary any more.
	lost
)

// Labels of errors, from the driver's specifications.
const (
	labelTransient  = "TransientTransactionError"
	labelUnknown    = "UnknownTransactionCommitResult"
	labelOverloaded = "SystemOverloadedError"
)

// Codes of the server (error_codes.yml).
var (
	codesTooLarge   = []int{388, 257, 10334, 17419, 17420, 17280, 290}
	codesFull       = []int{14031}
	codesForbidden  = []int{13, 18, 8000}
	codesStopped    = []int{11601}
	codesLate       = []int{50}
	codesConflict   = []int{112, 251, 225, 24, 46, 244, 267}
	codesOutdated   = []int{246, 239, 341, 175, 43, 237}
	codesLost       = []int{6, 7, 89, 91, 189, 262, 9001, 10107, 10058, 11600, 11602, 13435, 13436, 133, 134, 150, 63, 234, 64, 79, 100}
	codesInProgress = []int{285, 12586, 12587, 117}
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

// translate turns an error of the driver into one of the port, and tells
// whether it may be tried again. What is certain comes before the labels: a
// transaction that has met such a fault goes on failing with a label.
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
		return final, fail(store.CodeTooLarge, "the transaction is larger than MongoDB takes: send less at once, or give its servers a larger cache")
	case hasCode(err, codeDuplicate):
		return refused, fail(store.CodeConflict, "a record is there already, or a unique value is taken")
	case hasCode(err, codesFull...):
		return final, fail(store.CodeFull, "a disk of MongoDB is full: make room on it")
	case hasCode(err, codesForbidden...):
		return final, fail(store.CodeUnavailable, "the database user may not do this: grant it the role readWrite on the database")
	case errors.As(err, &selection):
		return lost, fail(store.CodeUnavailable, "no server of MongoDB can be reached that takes the operation: check that its members run, and that a primary is elected")
	case over(ctx), errors.Is(err, driver.ErrDeadlineWouldBeExceeded), hasCode(err, codesLate...):
		return final, deadline(ctx)
	case hasCode(err, codesStopped...):
		return final, fail(store.CodeUnavailable, "an operator of MongoDB has ended the operation")
	case errors.Is(err, mongo.ErrClientDisconnected):
		return final, errClosed
	case isUnknownHint(err):
		return conflict, fail(store.CodeUnavailable, "an index was dropped by another server")
	case hasCode(err, codesConflict...):
		return conflict, fail(store.CodeConflict, "the transaction met another one")
	case hasCodeWith(err, 246, "No committed OpTime"):
		return lost, fail(store.CodeUnavailable, "a majority of MongoDB has not come back yet")
	case hasCode(err, codesOutdated...):
		return conflict, fail(store.CodeUnavailable, "the snapshot can be read no longer")
	case mongo.IsNetworkError(err), mongo.IsTimeout(err), hasCode(err, codesLost...), isPoolError(err), hasLabel(err, labelOverloaded):
		return lost, fail(store.CodeUnavailable, "the connection to MongoDB was lost, its primary changed, or it has too much to do")
	case hasLabel(err, labelTransient):
		return conflict, fail(store.CodeConflict, "the transaction met another one")
	}
	return final, fail(store.CodeInternal, "MongoDB failed")
}

// isPoolError reports whether an operation got no connection, because others
// broke, or the server was given up.
func isPoolError(err error) bool {
	var cleared driver.RetryablePoolError
	var pool topology.PoolError
	var connection topology.ConnectionError
	return errors.As(err, &cleared) || errors.As(err, &pool) || errors.As(err, &connection) || errors.Is(err, topology.ErrServerClosed)
}

// over reports whether a context has ended. The driver and the server may notice
// that its deadline has passed before the context itself does.
func over(ctx context.Context) bool {
	at, limited := ctx.Deadline()
	return ctx.Err() != nil || limited && !time.Now().Before(at)
}

// isUnknownHint reports whether a find named an index that is there no longer.
func isUnknownHint(err error) bool { return hasCodeWith(err, 2, "hint provided") }

func hasCodeWith(err error, code int, text string) bool {
	var server mongo.ServerError
	return errors.As(err, &server) && server.HasErrorCodeWithMessage(code, text)
}

// scrub keeps the driver's words about the way to the servers, which repeat
// the connection string, out of errors.
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
