package store

import (
	"context"
	"io"
	"time"

	"marquee/engine/query"
)

// Refusing is a transaction that supports no method. A Tx that supports only some embeds
// it.
type Refusing struct {
	// Refuse returns the error of the methods.
	Refuse func() error
}

// Get implements Tx.
func (r Refusing) Get(context.Context, string, []Key, func(*Record) error) error {
	return r.Refuse()
}

// Labels implements Tx.
func (r Refusing) Labels(context.Context, ...LabelQuery) ([]map[Key]string, error) {
	return nil, r.Refuse()
}

// Lacking implements Tx.
func (r Refusing) Lacking(context.Context, string, []Entry) ([]Entry, error) {
	return nil, r.Refuse()
}

// OrderedTerms implements Tx.
func (r Refusing) OrderedTerms(context.Context, string, []Key) (map[Key][]Term, error) {
	return nil, r.Refuse()
}

// Find implements Tx.
func (r Refusing) Find(context.Context, query.Query, func(*Record) error) error {
	return r.Refuse()
}

// Count implements Tx.
func (r Refusing) Count(context.Context, query.Query) (int64, error) {
	return 0, r.Refuse()
}

// Claims implements Tx.
func (r Refusing) Claims(context.Context, []Claim) (map[Claim]string, error) {
	return nil, r.Refuse()
}

// ClaimsAfter implements Tx.
func (r Refusing) ClaimsAfter(context.Context, ClaimRange, func(Claim, string) error) error {
	return r.Refuse()
}

// History implements Tx.
func (r Refusing) History(context.Context, HistoryQuery, func(*Change) error) error {
	return r.Refuse()
}

// HistoryCount implements Tx.
func (r Refusing) HistoryCount(context.Context, HistoryQuery) (int64, error) {
	return 0, r.Refuse()
}

// ScanHistory implements Tx.
func (r Refusing) ScanHistory(context.Context, string, string, int) ([]Change, error) {
	return nil, r.Refuse()
}

// Scan implements Tx.
func (r Refusing) Scan(context.Context, string, Key, int, func(*Record) error) error {
	return r.Refuse()
}

// Blob implements Tx.
func (r Refusing) Blob(context.Context, Key, int64, int64, func([]byte) error) (int64, bool, error) {
	return 0, false, r.Refuse()
}

// Blobs implements Tx.
func (r Refusing) Blobs(context.Context, Key, int, func(Blob) error) error {
	return r.Refuse()
}

// Put implements Tx.
func (r Refusing) Put(context.Context, string, []Write) error {
	return r.Refuse()
}

// Lock implements Tx.
func (r Refusing) Lock(context.Context, string, []Key) error {
	return r.Refuse()
}

// Append implements Tx.
func (r Refusing) Append(context.Context, []Change) error {
	return r.Refuse()
}

// Rewrite implements Tx.
func (r Refusing) Rewrite(context.Context, string, []Record) error {
	return r.Refuse()
}

// RemoveChanges implements Tx.
func (r Refusing) RemoveChanges(context.Context, time.Time, int) (int, error) {
	return 0, r.Refuse()
}

// RewriteHistory implements Tx.
func (r Refusing) RewriteHistory(context.Context, []Change) error {
	return r.Refuse()
}

// Index implements Tx.
func (r Refusing) Index(context.Context, string, []Entry) error {
	return r.Refuse()
}

// PutBlob implements Tx.
func (r Refusing) PutBlob(context.Context, Key, int64, func() (io.ReadCloser, error)) error {
	return r.Refuse()
}

// Remove implements Tx.
func (r Refusing) Remove(context.Context, string, []Write) error {
	return r.Refuse()
}

// DropBlobs implements Tx.
func (r Refusing) DropBlobs(context.Context, []Key) error {
	return r.Refuse()
}
