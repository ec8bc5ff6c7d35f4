package verify

import (
	"fmt"

	"marquee/engine/catalog"
	"marquee/engine/store"
)

const cureHistory = cureBackup + " if the history is needed"

// history compares versions with the changes of the objects. The oldest changes may have been
// removed (catalog.Removal): then the history begins with a later version, or has nothing of
// an object that has not changed since.
func (v *verifier) history(s store.Snapshot, page []verified, found func(*store.Record, string, string)) error {
	removal, _, err := catalog.ReadRemoval(v.ctx, s)
	if err != nil {
		return err
	}
	for _, r := range page {
		q := store.HistoryQuery{Network: r.Network, Collection: v.t.Name, ID: r.ID, Limit: 1}
		last, err := v.versionOf(s, q)
		switch {
		case err != nil:
			return err
		case last == 0 && r.UpdateTime.Before(removal.Before):
			continue
		case last == 0:
			found(r.Record, "the history has nothing of it", cureHistory+"; a write adds to it")
			continue
		case last != r.Version:
			found(r.Record, fmt.Sprintf("it has the version %d, and the history ends with %d", r.Version, last), cureHistory+"; a write adds to it")
			continue
		}
		n, err := int64(1), error(nil)
		if last > 1 {
			n, err = s.HistoryCount(v.ctx, q)
		}
		if err != nil {
			return err
		}
		if n == last {
			continue
		}
		q.Offset = int(n) - 1
		first, err := v.versionOf(s, q)
		switch {
		case err != nil:
			return err
		case n != last-first+1:
			found(r.Record, fmt.Sprintf("the history has %d changes of it from version %d to %d", n, first, last), cureHistory)
		case removal.Before.IsZero():
			found(r.Record, fmt.Sprintf("the history begins with its version %d", first), cureHistory)
		}
	}
	return nil
}

// versionOf returns the version of the change that a query finds, 0 if there is none.
func (v *verifier) versionOf(s store.Snapshot, q store.HistoryQuery) (version int64, err error) {
	err = s.History(v.ctx, q, func(c *store.Change) error {
		version = c.Version
		return nil
	})
	return version, err
}
