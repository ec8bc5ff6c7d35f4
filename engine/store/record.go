package store

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"marquee/engine/query"
)

// Collection describes the collection of one type.
type Collection struct {
	// Name consists of the characters a–z, 0–9 and _.
	Name    string
	Indexes []Index
}

// Index makes the store answer a query that compares each field of Equal with a
// value, ordered by Order, without reading more records than match. Every index
// is per network, ends with the id, and covers the state, so that a count with
// the usual conditions reads no records. Indexes ordered by createTime and
// updateTime always exist.
type Index struct {
	Equal []query.Field
	Order query.Field
}

// Key identifies a record or a blob. Network is "" for a global one.
type Key struct{ Network, ID string }

// Compare orders keys as Snapshot.Scan does.
func (k Key) Compare(other Key) int {
	return cmp.Or(strings.Compare(k.Network, other.Network), strings.Compare(k.ID, other.ID))
}

// Record is a stored object: its system fields and its document.
type Record struct {
	Key
	// Revision is 1 for a new record and increases by one with each write. The
	// store maintains it. For records from before revisions existed, it is the
	// Version.
	Revision int64
	// Version is maintained by the writer. Writing version 0 stores the
	// revision.
	Version int64
	State   string
	// The times are in UTC with milliseconds.
	CreateTime, UpdateTime time.Time
	CreateUser, UpdateUser string
	// Warnings is a JSON array or empty.
	Warnings []byte
	// Document is a JSON object in canonical form (document.Append), at most
	// 101 levels deep. The store returns the same bytes.
	Document []byte
}

// Write is a write of a record.
type Write struct {
	Record
	// Expected is the stored revision, 0 for a new record. The record is stored
	// with the next revision, whatever its own says.
	Expected int64
	// Last is the last revision of a removed record with the key of a new one, which
	// continues its revisions.
	Last int64
	// Was is the State of the stored record. Without it, a store may have to count
	// again what it has counted by the state; a wrong one is a conflict, or has no
	// effect.
	Was string
	// Same marks a Document that equals the stored one and need not be written.
	Same bool
	// AddTerms and DropTerms change the record's terms.
	AddTerms, DropTerms []Term
	// AddClaims and DropClaims change the record's unique values.
	AddClaims, DropClaims []Claim
}

// Next is the revision that the record is stored with.
func (w *Write) Next() int64 { return max(w.Expected, w.Last) + 1 }

// Entry holds what Index adds to a record.
type Entry struct {
	Key
	Terms  []Term
	Claims []Claim
}

// Term is a search value of a record: an item of a multi-valued property, a
// word, or a value that the engine derives. Key consists of a–z, A–Z, 0–9, _ and
// dots. Terms whose key begins with query.OrderedKey are kept in the order of
// creation of their records.
type Term struct{ Key, Value string }

// Claim reserves a unique value of a property in a collection and network.
type Claim struct{ Collection, Network, Property, Value string }

// ClaimRange is at most Limit claims of the collection, network and property of After whose
// values are greater than that of After and begin with Prefix.
type ClaimRange struct {
	After  Claim
	Prefix string
	Limit  int
	// Concerns reports whether another claim of the range would matter to the reader. Nil
	// stands for all of the property.
	Concerns func(Claim) bool
}

// Beyond returns a bound of the texts that begin with a prefix: all of them are less, in
// the order of their bytes.
func Beyond(prefix string) string { return prefix + "\U0010FFFF" }

// Change records one write of a record.
type Change struct {
	// Position is the place of the change in commit order. It is opaque. Its length may depend on
	// that of the network, but is at most MaxPositionBytes.
	Position string
	Time     time.Time
	Network  string
	// Collection and ID identify the record; Revision and Version are those
	// after the write. For changes from before revisions existed, Revision is
	// the Version.
	Collection, ID    string
	Revision, Version int64
	User              string
	// FeedOnly excludes the change from the history, because it did not raise
	// the version.
	FeedOnly bool
	// Fields is a JSON array of the changed fields, without secrets.
	Fields []byte
	// Cause is a JSON object that explains why the service made the change, or
	// names the API token that was used; empty for a user's change. A FeedOnly change
	// keeps in it the owners of the object before and after, if they differ.
	Cause []byte
	// Notices is a JSON array of notices for the Owner; both are empty when
	// there are none.
	Owner   string
	Notices []byte
	// Notice is the index of the notice in its change where History yields a notice. Notices is
	// that notice alone then, as a JSON object, and Fields and Cause are empty.
	Notice int
}

// Size is the number of bytes of the parts of a change that can be large.
func (c *Change) Size() int { return len(c.Fields) + len(c.Cause) + len(c.Notices) }

// MaxChangesBytes is the size of changes from which Store.Changes returns no more of them, and
// MaxPositionBytes the maximum length of a position.
const MaxChangesBytes, MaxPositionBytes = 2 << 20, 1000

// Full reports whether more changes may follow those that Store.Changes has returned.
func Full(changes []Change, limit int) bool {
	size := 0
	for i := range changes {
		size += changes[i].Size()
	}
	return len(changes) >= limit || size >= MaxChangesBytes
}

// HistoryQuery selects the changes in a network that are not FeedOnly, or notices.
type HistoryQuery struct {
	Network string
	// Collection and ID restrict the query unless they are empty. ID requires
	// Collection.
	Collection, ID string
	// IDs restricts the query to several objects unless it is nil, and requires
	// Collection.
	IDs []string
	// Collections lists the collections to include; nil includes all.
	Collections []string
	// Notices selects the notices for Owner instead, of all changes in the network and in
	// Collections.
	Notices bool
	Owner   string
	// After is the Position of a change that History yielded, or "", and AfterNotice
	// its Notice.
	After         string
	AfterNotice   int
	Offset, Limit int
}

// Includes reports whether the query includes a collection.
func (q HistoryQuery) Includes(collection string) bool {
	return (q.Collection == "" || q.Collection == collection) && (q.Collections == nil || slices.Contains(q.Collections, collection))
}
