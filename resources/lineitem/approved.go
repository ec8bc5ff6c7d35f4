package lineitem

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"marquee/engine"
	"marquee/engine/store"
)

// ApprovedCollection keeps, for each line item that ever had one, how many
// creatives it has that are APPROVED and ACTIVE: nobody has to look for one
// among thousands. Each change of that number writes the record, so that of two
// transactions which change creatives of one line item one runs again, and sees
// what the other has left.
const ApprovedCollection = "lineitem_approved"

// line names a line item.
type line struct{ network, id string }

func (l line) key() store.Key { return store.Key{Network: l.network, ID: l.id} }

// count is what a record holds.
type count struct {
	Approved int64 `json:"approved"`
}

// gains tells how many approved, active creatives line items gain, or lose, by
// changes of creatives.
func gains(changes []*engine.Change) map[line]int64 {
	all := map[line]int64{}
	for _, c := range changes {
		if was := shows(c.Before, c.StateBefore); was != "" {
			all[line{c.Network, was}]--
		}
		if is := shows(c.After, c.State); is != "" {
			all[line{c.Network, is}]++
		}
	}
	maps.DeleteFunc(all, func(_ line, n int64) bool { return n == 0 })
	return all
}

// shows is the line item that can show a creative, "" when none can.
func shows(creative map[string]any, state string) string {
	if state != active || creative["userState"] != "APPROVED" {
		return ""
	}
	return text(creative["lineItem"])
}

// creativesWritten counts, and has those line items judged again that have got
// their first approved, active creative, or lost their last.
func creativesWritten(ctx context.Context, w *engine.Writing, changes []*engine.Change) error {
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
	for l, n := range gained {
		was := stored[l]
		is := max(0, was.Approved+n)
		if (was.Approved > 0) != (is > 0) {
			w.Upsert(lineItems, l.network, l.id, nil)
		}
		write, err := was.next(l, is, w)
		if err != nil {
			return err
		}
		writes = append(writes, write)
	}
	return w.Tx().Put(ctx, ApprovedCollection, writes)
}

// counted is a stored record.
type counted struct {
	count
	store.Record
}

// next is the record with another count.
func (c counted) next(l line, n int64, w *engine.Writing) (store.Write, error) {
	content, err := json.Marshal(count{n})
	record := store.Record{Key: l.key(), Version: c.Version + 1, State: active, CreateTime: c.CreateTime, UpdateTime: w.Now(), Document: content}
	if c.Version == 0 {
		record.CreateTime = w.Now()
	}
	return store.Write{Record: record, Expected: c.Version}, err
}

// counts reads records, with one query.
func counts(ctx context.Context, w *engine.Writing, lines []line) (map[line]counted, error) {
	keys := make([]store.Key, len(lines))
	for i, l := range lines {
		keys[i] = l.key()
	}
	stored := make(map[line]counted, len(lines))
	err := w.Tx().Get(ctx, ApprovedCollection, keys, func(r *store.Record) error {
		c := counted{Record: store.Record{Version: r.Version, CreateTime: r.CreateTime}}
		err := json.Unmarshal(r.Document, &c.count)
		stored[line{r.Network, r.ID}] = c
		return err
	})
	return stored, err
}

// approved tells how many approved, active creatives line items have, with the
// creatives that are merged but not stored yet. A new line item can have no
// others.
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
