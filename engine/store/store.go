// Package store is the port behind which the engine keeps its records: what a
// store promises, whatever it is made of. Package storetest proves the promise
// of an adapter; sqlite and mongo are the adapters.
//
// Errors: every method may return an *Error with CodeUnavailable, CodeFull,
// CodeDeadline or CodeInternal; the codes that it returns besides are named
// with it. A library's own error is only ever the cause.
package store

import (
	"context"
	"io"
	"time"

	"marquee/engine/query"
)

// Store keeps records in collections, and blobs beside them.
//
// Transactions are serializable as far as the engine can tell: a read-write
// transaction sees one snapshot and its own writes, and of two that write the
// same record, or claim the same value, one runs again.
type Store interface {
	// EnsureCollections makes the collections and their indexes ready. Reads go
	// on meanwhile; writes may have to wait. What is there already stays; an
	// index that is named no longer is dropped. It must be called before a
	// collection is used, and is never part of a transaction.
	EnsureCollections(ctx context.Context, collections []Collection) error

	// Read runs fn on one snapshot of the whole store. Fn must not keep the
	// Snapshot, nor what it was lent. Fn is run again, on a newer snapshot,
	// when the store can read the first no longer, as after a change of a
	// collection's indexes; it must forget what it found before.
	Read(ctx context.Context, fn func(Snapshot) error) error

	// Write runs fn in one transaction, and returns nil only when its writes
	// are durable. Fn is run again, on a newer snapshot, when the transaction
	// met a transient conflict; it must have no effects besides. An error of
	// fn rolls back and is returned as it is; ErrRollback rolls back and is
	// returned as it is, too. Codes: CodeConflict when the retries ended,
	// CodeTooLarge, CodeUncertain.
	Write(ctx context.Context, fn func(Tx) error) error

	// Forget drops all terms of the keys, and all claims of the properties, of
	// a collection. It is not one transaction: after an error some are left,
	// which another call drops.
	Forget(ctx context.Context, collection string, termKeys, properties []string) error

	// Settle returns when every Write that was under way when it was called has
	// ended, also those of other processes.
	Settle(ctx context.Context) error

	// Revision is a value that differs whenever one of the collections has
	// changed since, also in another process; ok is false when the store
	// cannot tell without a read. What was computed from reads that began
	// after Revision was asked may be kept until it differs.
	Revision(collections ...string) (revision string, ok bool)

	// Changes yields the changes behind a position in commit order, at most
	// limit of them, and the position behind the last; "" is the beginning.
	// With collections, the changes of others are passed over, and the position
	// serves only who asks for the same ones. A change is never inserted before
	// one that was yielded. Fewer than limit are all that there are: those of
	// every Write that had returned before the call, also in another process,
	// are among them. Codes: CodeBadPosition.
	Changes(ctx context.Context, after string, limit int, collections ...string) ([]Change, string, error)

	// End is a position at the end of the changes, of whatever collections: a
	// Read that begins later sees all that stands before it. What is committed
	// later stands behind it, and some of what has just been committed may, too.
	End(ctx context.Context) (string, error)

	// Check tells why the store cannot serve at present, nil when it can.
	Check(ctx context.Context) error

	Close() error
}

// Snapshot reads a state of the store that does not change. A yield function
// must not use the snapshot; an error that it returns ends the call and is
// returned as it is.
type Snapshot interface {
	// Get yields those of the keys that exist, in any order. A key that stands
	// twice is yielded once or twice.
	Get(ctx context.Context, collection string, keys []Key, yield func(*Record) error) error

	// Labels gives the text of a top-level property for those of the keys that
	// exist: "" where it is absent.
	Labels(ctx context.Context, collection, property string, keys []Key) (map[Key]string, error)

	// Find yields a page in its order, in which absent values are less than all
	// others. With a position, the page begins behind it and the offset does not
	// count. An empty array counts as absent for query.Null. The record is lent: its memory is used
	// again after yield returns. An error of yield ends the page and is
	// returned as it is.
	Find(ctx context.Context, q query.Query, yield func(*Record) error) error

	// Count counts what the query finds without its page. The answer is exact
	// for the snapshot.
	Count(ctx context.Context, q query.Query) (int64, error)

	// Claims tells the owners of those of the unique values that are claimed.
	Claims(ctx context.Context, claims []Claim) (map[Claim]string, error)

	// History yields the changes that match, newest first.
	History(ctx context.Context, q HistoryQuery) ([]Change, error)

	// HistoryCount counts them, without their page.
	HistoryCount(ctx context.Context, q HistoryQuery) (int64, error)

	// Notices yields the notices of changes that match, those of the newest
	// change first, and those of one change in their order.
	Notices(ctx context.Context, q NoticeQuery) ([]Notice, error)

	// NoticeCount counts them, without their page.
	NoticeCount(ctx context.Context, q NoticeQuery) (int64, error)

	// Scan yields at most limit records of a collection, of all networks, in
	// the order of their keys, behind a key. The record is lent.
	Scan(ctx context.Context, collection string, after Key, limit int, yield func(*Record) error) error

	// Blob yields the bytes of a blob from an offset on, at most length of
	// them, in pieces that are lent, and tells the size of the whole. A length
	// of 0 only asks for it.
	Blob(ctx context.Context, key Key, offset, length int64, yield func([]byte) error) (size int64, found bool, err error)

	// Blobs yields at most limit blobs, of all networks, in the order of their
	// keys, behind a key.
	Blobs(ctx context.Context, after Key, limit int, yield func(Blob) error) error
}

// Tx is a read-write transaction, used by one goroutine. An error of any of
// its methods ends it: fn must return that error, and later calls fail.
type Tx interface {
	Snapshot

	// Put writes the records of one collection. All writes of a call take
	// effect or none. Codes: CodeConflict when a record is not at its expected
	// version, and when a claim is taken by another record; the store then
	// runs the transaction again. Claims are dropped before others are added.
	Put(ctx context.Context, collection string, writes []Write) error

	// Append adds to the changes, which are both the history and the change
	// feed. The store gives them their position.
	Append(ctx context.Context, changes []Change) error

	// Index adds terms and claims to records without changing them; what a
	// record has already stays. Codes: CodeConflict when a record is not there,
	// or a claim is taken by another.
	Index(ctx context.Context, collection string, entries []Entry) error

	// PutBlob keeps the bytes that open gives, size of them, under a key. A
	// blob that is there keeps its bytes, and open is not called; it counts as
	// written all the same, so that of a transaction that puts it and one that
	// drops it, one runs again. Who makes a record refer to a blob therefore
	// puts it in the same transaction, and who finds no such record may drop
	// it.
	//
	// Open is called at most once by a call, which closes the reader; neither
	// may use the transaction, or wait for another. Their errors are returned
	// as they are. Codes: CodeConflict when the blob meets another transaction,
	// as with Put; CodeTooLarge; CodeInternal also when there are fewer or more
	// bytes than size.
	PutBlob(ctx context.Context, key Key, size int64, open func() (io.ReadCloser, error)) error

	// DropBlobs drops those of the blobs that are there. Codes: CodeConflict
	// when one meets another transaction, as with Put.
	DropBlobs(ctx context.Context, keys []Key) error
}

// Collection is what the engine asks of the place of one type's records.
type Collection struct {
	// Name consists of a–z, digits and _.
	Name    string
	Indexes []Index
}

// Index asks that a query with an equality on each field of Equal, in the
// order of Order, is answered without walking more records than match. Every
// index is of one network, ends in the id, and covers the state, so that a
// count with the usual conditions need not read records. The store has those
// for each system field's order that it supports without being asked:
// createTime and updateTime.
type Index struct {
	Equal []query.Field
	Order query.Field
}

// Key names a record or a blob: Network is "" for a global one.
type Key struct{ Network, ID string }

// Record is a stored object: what the engine knows of it, and the document.
type Record struct {
	Key
	// Version is 1 for a new record and one more after each write.
	Version int64
	State   string
	// Times are in UTC with milliseconds.
	CreateTime, UpdateTime time.Time
	CreateUser, UpdateUser string
	// Warnings is a JSON array, or empty.
	Warnings []byte
	// Document is a JSON object in canonical form (document.Append), at most 101
	// levels deep. The store gives back the same bytes.
	Document []byte
}

// Write is a record to be written.
type Write struct {
	Record
	// Expected is the version that is stored now, 0 for none. The version of
	// the Record must be one more.
	Expected int64
	// Same says that the Document is the one that is stored at the expected
	// version, which need not be written again.
	Same bool
	// AddTerms and DropTerms say how the record's terms change.
	AddTerms, DropTerms []Term
	// AddClaims and DropClaims say how its unique values change.
	AddClaims, DropClaims []Claim
}

// Entry is what Index adds to the record of a key.
type Entry struct {
	Key
	Terms  []Term
	Claims []Claim
}

// Term is a value by which a record is found: an item of a multi-valued
// property, or a word. Key consists of a–z, A–Z, digits, _ and dots.
type Term struct{ Key, Value string }

// Claim is a unique value of a property in a collection and network.
type Claim struct{ Collection, Network, Property, Value string }

// Change says that a record was written.
type Change struct {
	// Position is where the change stands in commit order; opaque.
	Position string
	Time     time.Time
	Network  string
	// Collection and ID name the record, Version what it became.
	Collection, ID string
	Version        int64
	User           string
	// Fields is a JSON array of what changed, without secrets.
	Fields []byte
	// Notices is a JSON array of objects that the Owner is told of because of
	// the change; both are empty where there is nothing to tell.
	Owner   string
	Notices []byte
}

// Notice is one of the notices of a change.
type Notice struct {
	// Change is without its Fields and Notices.
	Change
	// Text is the JSON object.
	Text []byte
}

// NoticeQuery asks for the notices of an owner about changes of a network.
type NoticeQuery struct {
	Network, Owner string
	// Collections are those whose changes count.
	Collections   []string
	Offset, Limit int
}

// HistoryQuery asks for changes of a network.
type HistoryQuery struct {
	Network string
	// Collection and ID narrow when they are not empty; ID only with
	// Collection.
	Collection, ID string
	// Collections, when it is not nil, are those whose changes count.
	Collections   []string
	Offset, Limit int
}
