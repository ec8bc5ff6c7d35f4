package lineitem

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"marquee/engine"
	"marquee/engine/store"
)

// ApprovedCollection has, for each line item that ever had one, the number of its
// creatives that are APPROVED and ACTIVE, so that no query has to search for one.
// Every change of that number writes the record, so that concurrent transactions
// on creatives of one line item conflict, and one of them runs again.
const ApprovedCollection = "lineitem_approved"

// line identifies a line item.
type line struct{ network, id string }

func (l line) key() store.Key { return store.Key{Network: l.network, ID: l.id} }

// count is the document of a record.
type count struct {
	Approved int64 `json:"approved"`
}

// gains returns by how much changes of creatives alter the number of approved,
// active creatives of line items.
func gains(changes []*engine.Change) map[line]int64 {
	all := map[line]int64{}
	for _, c := range changes {
		if was := showableBy(c.Before, c.StateBefore); was != "" {
			all[line{c.Network, was}]--
		}
		if is := showableBy(c.After, c.State); is != "" {
			all[line{c.Network, is}]++
		}
	}
	maps.DeleteFunc(all, func(_ line, n int64) bool { return n == 0 })
	return all
}

// showableBy returns the line item that can show a creative, or "".
func showableBy(creative map[string]any, state string) string {
	if state != active || creative["userState"] != "APPROVED" {
		return ""
	}
	return text(creative["lineItem"])
}

// creativesBeforeStore updates the counts, and revisits the line items that gain
// their first approved, active creative or lose their last.
func creativesBeforeStore(ctx context.Context, w *engine.Writing, changes []*engine.Change) error {
	lineItems, served := w.Type("lineitems")
	gained := gains(changes)
	if !served || len(gained) == 0 {
		return nil
	}
	stored, err := counts(ctx, w, slices.Collect(maps.Keys(gained)))
	if err != nil {
		return err
	}
	var writes []store.Write
	revisited := map[string][]string{}
	for l, n := range gained {
		was := stored[l]
		is := max(0, was.Approved+n)
		if (was.Approved > 0) != (is > 0) {
			revisited[l.network] = append(revisited[l.network], l.id)
		}
		write, err := was.next(l, is, w)
		if err != nil {
			return err
		}
		writes = append(writes, write)
	}
	for network, ids := range revisited {
		w.Revisit(lineItems, network, ids)
	}
	return w.Tx().Put(ctx, ApprovedCollection, writes)
}

// counted is a stored record.
type counted struct {
	count
	store.Record
}

// next returns the write of the record with another count.
func (c counted) next(l line, n int64, w *engine.Writing) (store.Write, error) {
	content, err := json.Marshal(count{n})
	c.Key = l.key()
	return store.InternalWrite(c.Record, active, content, w.Now()), err
}

// counts reads the records of line items with one query.
func counts(ctx context.Context, w *engine.Writing, lines []line) (map[line]counted, error) {
	keys := make([]store.Key, len(lines))
	for i, l := range lines {
		keys[i] = l.key()
	}
	stored := make(map[line]counted, len(lines))
	err := w.Tx().Get(ctx, ApprovedCollection, keys, func(r *store.Record) error {
		c := counted{Record: store.Record{Revision: r.Revision, CreateTime: r.CreateTime}}
		err := json.Unmarshal(r.Document, &c.count)
		stored[line{r.Network, r.ID}] = c
		return err
	})
	return stored, err
}

// approved returns the number of approved, active creatives of line items,
// including those that the same write is about to store. A new line item can have
// no others.
func approved(ctx context.Context, w *engine.Writing, network string, changes []*engine.Change) (map[string]int64, error) {
	var lines []line
	for _, c := range changes {
		if !c.Created() {
			lines = append(lines, line{network, c.ID})
		}
	}
	all := map[string]int64{}
	if len(lines) > 0 {
		stored, err := counts(ctx, w, lines)
		if err != nil {
			return nil, err
		}
		for l, c := range stored {
			all[l.id] = c.Approved
		}
	}
	for l, n := range gains(w.Round("creatives")) {
		if l.network == network {
			all[l.id] += n
		}
	}
	return all, nil
}
