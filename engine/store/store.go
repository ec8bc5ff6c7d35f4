// Package store is the port through which the engine keeps its records: what
// every store promises, and the types of what it stores. It imports query,
// document, histogram and message only. Begin with Store; package storetest proves the promise of the
// adapters sqlite and mongo.
//
// Every method may return an *Error with CodeUnavailable, CodeFull,
// CodeDamaged, CodeBusy, CodeDeadline or CodeInternal; other codes are listed
// with the method. An error of another library occurs only as a cause.
//
// A value passed to a yield function is valid until that function returns,
// unless stated otherwise: the store reuses its memory. An error that a yield
// function returns ends the call, which returns it unchanged.
package store

import (
	"context"
	"io"
	"time"

	"marquee/engine/query"
)

// Store keeps records in collections, with blobs beside them.
//
// A read-write transaction sees one snapshot and its own writes. Of two
// transactions that write the same record or claim the same value, one is
// retried. A store may run transactions side by side, so a transaction that
// relies on what it has only read must lock (Tx.Lock) or claim something that
// every transaction which could change the result locks, claims or writes, too.
// Transactions that do so are serializable.
type Store interface {
	// EnsureCollections creates collections and their indexes, and drops
	// indexes that are no longer listed. Reads continue meanwhile; writes may
	// wait. A collection must not be used before, and a transaction must not
	// call it.
	EnsureCollections(ctx context.Context, collections []Collection) error

	// Read runs fn on one snapshot of the whole store. Fn must not keep the
	// Snapshot. When the snapshot becomes unreadable, for example because an
	// index has changed, fn runs again on a newer one and must forget what it
	// has read.
	Read(ctx context.Context, fn func(Snapshot) error) error

	// Write runs fn in one transaction, and returns nil only when the writes
	// are durable. After a transient conflict fn runs again on a newer
	// snapshot, so it must have no other effects. An error of fn, including
	// ErrRollback, rolls back and is returned unchanged. Codes: CodeConflict
	// when retries are exhausted, CodeTooLarge, CodeUncertain.
	Write(ctx context.Context, fn func(Tx) error) error

	// Serial reports whether the store belongs to one process, in which writes run
	// one at a time, so that all others wait while fn runs.
	Serial() bool

	// Forget drops all terms with the keys, and all claims of the properties,
	// from a collection. It works in many small transactions, between which
	// writes continue. After an error, call it again to drop the rest.
	Forget(ctx context.Context, collection string, termKeys, properties []string) error

	// Wipe overwrites data that transactions and Forget have replaced or dropped, as
	// far as the store controls where it was kept and need not block writes for long.
	// It returns the number of bytes that it has rewritten while writes waited. With
	// CodeConflict, a read still needs some of the data, which is overwritten after it;
	// another call makes sure of that.
	Wipe(ctx context.Context) (rewritten int64, err error)

	// Settle returns when every Write that was running at a time, which has passed,
	// has ended, in all processes.
	Settle(ctx context.Context, at time.Time) error

	// Recent returns a value that changes whenever one of the collections
	// changes: before a Write of this process returns, and within Freshness
	// after a Write of another process has returned; ok is false when the
	// store cannot guarantee that at present. It does not wait, and ok may be
	// false for the first calls. The results of reads with Effort.Latest that
	// began after the call stay valid while the value is the same.
	Recent(collections ...string) (revision string, ok bool)

	// Changes returns at most limit changes after a position in commit order,
	// and the position after the last; "" is the beginning. With collections,
	// it skips changes of others, and the returned position is valid only with
	// the same collections. It returns fewer when they are large (MaxChangesBytes).
	//
	// No change is ever inserted before one that was returned. Unless the changes
	// are Full, they include those of every Write that had returned before the
	// call, in any process. A position can be followed by changes that were
	// returned before it if the store no longer knows their order; none is left
	// out. Codes: CodeBadPosition, also for a position in the future; CodeTooOld for
	// one behind which changes have been removed (Tx.RemoveChanges) that it cannot
	// return any more.
	Changes(ctx context.Context, after string, limit int, collections ...string) ([]Change, string, error)

	// End returns a position at the end of the changes of all collections. A
	// Read that begins later sees every change before it. Changes committed
	// later come after it, and so may some that were committed just before.
	End(ctx context.Context) (string, error)

	// Now returns the time of a clock that all processes with the store share. It may be
	// some seconds late.
	Now(ctx context.Context) (time.Time, error)

	// Check returns an error when the store cannot serve reads and writes at
	// present. It is cheap and changes no record.
	Check(ctx context.Context) error

	Close() error
}

// Freshness is how late Store.Recent may notice a Write of another process.
const Freshness = time.Second

// Snapshot reads a fixed state of the store. A yield function must not use the
// snapshot.
type Snapshot interface {
	// Get yields the records of keys that exist, in any order. A duplicate key
	// is yielded once or twice.
	Get(ctx context.Context, collection string, keys []Key, yield func(*Record) error) error

	// Labels returns the results of queries in their order: the text of the
	// property for the records that exist and meet the condition, "" where it is
	// absent. It does not read their documents if there is neither a property nor a
	// condition. A store for which a round trip takes long reads them together.
	Labels(ctx context.Context, queries ...LabelQuery) ([]map[Key]string, error)

	// Lacking returns, of the terms of entries, those that the records do not
	// have. Records that do not exist are left out.
	Lacking(ctx context.Context, collection string, entries []Entry) ([]Entry, error)

	// OrderedTerms returns the terms under ordered keys (query.OrderedKey) of the
	// records that exist and have any.
	OrderedTerms(ctx context.Context, collection string, keys []Key) (map[Key][]Term, error)

	// Find yields a page in order. Absent values sort before all others, and
	// query.Null holds for an empty array. With a position, the page begins
	// after it and the offset is ignored.
	Find(ctx context.Context, q query.Query, yield func(*Record) error) error

	// Count returns the number of records that match, regardless of the page.
	// It is exact for the snapshot.
	Count(ctx context.Context, q query.Query) (int64, error)

	// Claims returns the owners of the claims that are taken.
	Claims(ctx context.Context, claims []Claim) (map[Claim]string, error)

	// ClaimsAfter yields the claims of a range that are taken, with their owners, in the
	// order of the bytes of their values.
	ClaimsAfter(ctx context.Context, r ClaimRange, yield func(claim Claim, owner string) error) error

	// History yields the changes that match, newest first, except FeedOnly
	// ones; for a query of notices, a change for each notice, those of one change in
	// order, also of FeedOnly ones. With a position, the page begins after it and the
	// offset is ignored. Codes: CodeBadPosition.
	History(ctx context.Context, q HistoryQuery, yield func(*Change) error) error

	// HistoryCount returns their number, regardless of the page.
	HistoryCount(ctx context.Context, q HistoryQuery) (int64, error)

	// ScanHistory returns at most limit changes of a collection, in all
	// networks, after the position of a change that it returned; "" is the
	// beginning. Each change committed before the first call is returned once.
	ScanHistory(ctx context.Context, collection, after string, limit int) ([]Change, error)

	// Scan yields at most limit records of a collection, in all networks, in
	// the order of their keys, after a key.
	Scan(ctx context.Context, collection string, after Key, limit int, yield func(*Record) error) error

	// Blob yields at most length bytes of a blob from an offset, in pieces, and
	// returns the size of the blob. A length of 0 only asks for the size.
	Blob(ctx context.Context, key Key, offset, length int64, yield func([]byte) error) (size int64, found bool, err error)

	// Blobs yields at most limit blobs, in all networks, in the order of their
	// keys, after a key.
	Blobs(ctx context.Context, after Key, limit int, yield func(Blob) error) error
}

// Ahead is implemented by a Tx that can read the records of Effort.Reads together.
type Ahead interface {
	// ReadAhead yields those of them that it has read so far without being asked for
	// each, and that exist, in any order. There may be none.
	ReadAhead(yield func(collection string, r *Record) error) error
}

// Tx is a read-write transaction, used by one goroutine. An error of a method
// ends it: fn must return that error, and later calls fail.
type Tx interface {
	Snapshot

	// Put writes records of one collection; either all of them are written or
	// none. Claims are dropped before others are added. Codes: CodeConflict
	// when a record is not at its expected revision or a claim belongs to
	// another record; the store then retries the transaction.
	Put(ctx context.Context, collection string, writes []Write) error

	// Remove deletes records of one collection with their terms and claims; either all of
	// them are removed or none. Of each Write it uses the key, Expected, Was, and DropTerms
	// and DropClaims, which list everything that the record has. With Expected 0, the record
	// is removed at any revision, and ignored if it does not exist (see Drop). It counts as a
	// write: of a transaction that removes a record and one that puts it, one is retried.
	// Codes: CodeConflict when a record is not at its expected revision, and as with Put.
	Remove(ctx context.Context, collection string, writes []Write) error

	// Lock counts as a write of records for conflicts and changes nothing: of two
	// transactions that lock, put or remove the same record, one is retried.
	// Records that do not exist are not locked. Codes: CodeConflict as with Put.
	Lock(ctx context.Context, collection string, keys []Key) error

	// Append adds changes to the change feed and, unless they are FeedOnly, to
	// the history. The store sets their positions.
	Append(ctx context.Context, changes []Change) error

	// Rewrite replaces the Documents of records by equivalent ones and leaves
	// the rest unchanged. Codes: CodeConflict when a record is not at its
	// revision.
	Rewrite(ctx context.Context, collection string, records []Record) error

	// RewriteHistory replaces the Fields and Notices of changes that ScanHistory or
	// History returned, also in what Changes returns from then on. A change that has notices
	// keeps an array of them, which can be empty.
	RewriteHistory(ctx context.Context, changes []Change) error

	// RemoveChanges removes the oldest changes, at most limit, up to the first whose Time is
	// not before a time, and returns how many. The last change of the store stays. It
	// requires that the transactions which have appended changes from before that time
	// have ended (Store.Settle).
	RemoveChanges(ctx context.Context, before time.Time, limit int) (int, error)

	// Index adds terms and claims to records without changing them. Existing
	// ones stay. An entry with claims counts as a write of its record: of this
	// transaction and one that puts the record, one is retried. Codes:
	// CodeConflict when a record does not exist or a claim belongs to another.
	Index(ctx context.Context, collection string, entries []Entry) error

	// PutBlob stores size bytes from a reader under a key. If the blob exists,
	// its bytes stay and open is not called. It still counts as written, so of
	// a transaction that puts a blob and one that drops it, one is retried. To
	// refer to a blob, put it in the same transaction; to drop it, check that
	// no record refers to it.
	//
	// Open is called at most once, and the store closes the reader. Neither may
	// use the transaction or wait for another. Their errors are returned
	// unchanged. Codes: CodeConflict as with Put; CodeTooLarge; CodeInternal
	// also when the reader yields fewer or more bytes than size.
	PutBlob(ctx context.Context, key Key, size int64, open func() (io.ReadCloser, error)) error

	// DropBlobs drops the blobs that exist. Codes: CodeConflict as with Put.
	DropBlobs(ctx context.Context, keys []Key) error
}
