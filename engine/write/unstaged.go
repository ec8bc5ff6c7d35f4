package write

import (
	"context"
	"io"

	"marquee/engine/query"
	"marquee/engine/store"
)

// unstaged refuses every operation of a transaction.
type unstaged struct{}

func (unstaged) Versions(context.Context, string, []store.Key) (map[store.Key]int64, error) {
	return nil, errUnstaged
}

func (unstaged) Labels(context.Context, ...store.LabelQuery) ([]map[store.Key]string, error) {
	return nil, errUnstaged
}

func (unstaged) Lacking(context.Context, string, []store.Entry) ([]store.Entry, error) {
	return nil, errUnstaged
}

func (unstaged) OrderedTerms(context.Context, string, []store.Key) (map[store.Key][]store.Term, error) {
	return nil, errUnstaged
}

func (unstaged) Find(context.Context, query.Query, func(*store.Record) error) error {
	return errUnstaged
}

func (unstaged) Count(context.Context, query.Query) (int64, error) {
	return 0, errUnstaged
}

func (unstaged) Claims(context.Context, []store.Claim) (map[store.Claim]string, error) {
	return nil, errUnstaged
}

func (unstaged) History(context.Context, store.HistoryQuery, func(*store.Change) error) error {
	return errUnstaged
}

func (unstaged) HistoryCount(context.Context, store.HistoryQuery) (int64, error) {
	return 0, errUnstaged
}

func (unstaged) Notices(context.Context, store.NoticeQuery, func(*store.Notice) error) error {
	return errUnstaged
}

func (unstaged) NoticeCount(context.Context, store.NoticeQuery) (int64, error) {
	return 0, errUnstaged
}

func (unstaged) ScanHistory(context.Context, string, string, int) ([]store.Change, error) {
	return nil, errUnstaged
}

func (unstaged) Scan(context.Context, string, store.Key, int, func(*store.Record) error) error {
	return errUnstaged
}

func (unstaged) Blob(context.Context, store.Key, int64, int64, func([]byte) error) (int64, bool, error) {
	return 0, false, errUnstaged
}

func (unstaged) Blobs(context.Context, store.Key, int, func(store.Blob) error) error {
	return errUnstaged
}

func (unstaged) Rewrite(context.Context, string, []store.Record) error {
	return errUnstaged
}

func (unstaged) RewriteHistory(context.Context, []store.Change) error {
	return errUnstaged
}

func (unstaged) Index(context.Context, string, []store.Entry) error {
	return errUnstaged
}

func (unstaged) PutBlob(context.Context, store.Key, int64, func() (io.ReadCloser, error)) error {
	return errUnstaged
}

func (unstaged) Drop(context.Context, string, []store.Key) error {
	return errUnstaged
}

func (unstaged) DropBlobs(context.Context, []store.Key) error {
	return errUnstaged
}
