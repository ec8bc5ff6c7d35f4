package asset

import (
	"context"
	"encoding/json"
	"time"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/store"
	"marquee/resources/catalogue"
)

// usages is the collection of the total size of the files of a network's assets, with
// a record for each network that ever had a quota. Every upload to such a network
// writes the record, even on servers without a quota, so that concurrent uploads
// conflict and one of them runs again.
const usages = "asset_usage"

// usage is a record of usages. Until it is counted, its bytes are meaningless, and its
// only purpose is that uploads conflict.
type usage struct {
	Bytes   int64 `json:"bytes"`
	Counted bool  `json:"counted"`

	record store.Record // the stored record, of revision 0 if there is none
}

func usageKey(network string) store.Key { return store.Key{Network: network, ID: "files"} }

func readUsages(ctx context.Context, s store.Snapshot, networks ...string) (map[string]*usage, error) {
	found, keys := map[string]*usage{}, make([]store.Key, len(networks))
	for i, network := range networks {
		keys[i] = usageKey(network)
	}
	err := s.Get(ctx, usages, keys, func(r *store.Record) error {
		u := &usage{record: store.Record{Key: r.Key, Revision: r.Revision, CreateTime: r.CreateTime}}
		found[r.Network] = u
		return json.Unmarshal(r.Document, u)
	})
	return found, err
}

func (u *usage) write(ctx context.Context, tx store.Tx, now time.Time) error {
	content := document.Append(nil, map[string]any{"bytes": u.Bytes, "counted": u.Counted})
	w := store.InternalWrite(u.record, "ACTIVE", content, now)
	err := tx.Put(ctx, usages, []store.Write{w})
	u.record = w.Record
	u.record.Revision = w.Expected + 1
	return err
}

// account adds the sizes of uploads to the usages of their networks, less those of the
// files that they replace, and refuses an upload that would exceed the quota.
func (a *Rules) account(ctx context.Context, w *engine.Writing, uploads []*engine.Change) error {
	var networks, places []string
	for _, c := range uploads {
		before, _ := c.Before["cdnId"].(string)
		networks, places = append(networks, c.Network), append(places, deliveryName(before))
	}
	found, err := readUsages(ctx, w.Tx(), networks...)
	if err != nil || len(found) == 0 {
		return err
	}
	replaced := map[string]*delivery{}
	if err := readDeliveries(ctx, w.Tx(), places, func(name string, d *delivery, _ *store.Record) { replaced[name] = d }); err != nil {
		return err
	}
	changed := map[*usage]bool{}
	for i, c := range uploads {
		u := found[c.Network]
		if u == nil {
			continue
		}
		more := sizeOf(c.Kept.(*upload).files)
		if old := replaced[places[i]]; old != nil {
			size, err := old.size(ctx, w.Tx())
			if err != nil {
				return err
			}
			more -= size
		}
		if a.NetworkQuota > 0 && u.Counted && more > 0 && u.Bytes+more > a.NetworkQuota {
			d := catalogue.NetworkQuota
			return &message.Error{Kind: d.Kind, Messages: []message.Message{c.Fault(d, "/file", message.Params{"context": c.Network, "limit": a.NetworkQuota, "used": u.Bytes, "size": more})}}
		}
		u.Bytes += more
		changed[u] = changed[u] || more != 0 || !u.Counted
	}
	for u := range changed {
		if changed[u] {
			if err := u.write(ctx, w.Tx(), w.Now()); err != nil {
				return err
			}
		}
	}
	return nil
}

// sizeOf returns the total size of files with distinct contents.
func sizeOf(files []delivered) int64 {
	seen, sum := map[string]bool{}, int64(0)
	for _, f := range files {
		if !seen[f.sum] {
			seen[f.sum] = true
			sum += f.size
		}
	}
	return sum
}

// size returns the total size of the files of a delivery with distinct contents. It
// looks up sizes that the record lacks.
func (d *delivery) size(ctx context.Context, s store.Snapshot) (int64, error) {
	return d.sizeBy(func(f deliveredFile) (int64, error) {
		n, _, err := s.Blob(ctx, d.key(f), 0, 0, func([]byte) error { return nil })
		return n, err
	})
}

func (d *delivery) sizeBy(ask func(deliveredFile) (int64, error)) (sum int64, err error) {
	seen := map[string]bool{}
	for _, f := range d.Files {
		if seen[f.SHA256] {
			continue
		}
		seen[f.SHA256] = true
		if f.Size == 0 {
			if f.Size, err = ask(f); err != nil {
				return 0, err
			}
		}
		sum += f.Size
	}
	return sum, nil
}

// countOnce creates the usage of a network that had no quota so far. It first stores a
// record, which all later uploads write, and counts when earlier transactions have
// ended. An upload during the count conflicts with it.
func (a *Rules) countOnce(ctx context.Context, s store.Store, network string) error {
	if _, done := a.counted.Load(network); done {
		return nil
	}
	counted := false
	err := s.Write(ctx, func(tx store.Tx) error {
		u, err := usageOf(ctx, tx, network)
		if counted = u.Counted; err != nil || u.record.Revision > 0 {
			return err
		}
		return u.write(ctx, tx, now())
	})
	if err == nil && !counted {
		if err = s.Settle(ctx, time.Now()); err == nil {
			err = s.Write(ctx, func(tx store.Tx) error { return count(ctx, tx, network) })
		}
	}
	if err == nil {
		a.counted.Store(network, true)
	}
	return err
}

func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

func usageOf(ctx context.Context, s store.Snapshot, network string) (*usage, error) {
	found, err := readUsages(ctx, s, network)
	if u := found[network]; u != nil {
		return u, err
	}
	return &usage{record: store.Record{Key: usageKey(network)}}, err
}

// count counts the files of a network's assets, unless they have been counted.
func count(ctx context.Context, tx store.Tx, network string) error {
	u, err := usageOf(ctx, tx, network)
	if err != nil || u.Counted {
		return err
	}
	if err := u.write(ctx, tx, now()); err != nil { // first, so that conflicting uploads wait
		return err
	}
	if u.Bytes, err = countFiles(ctx, tx, network); err != nil {
		return err
	}
	u.Counted = true
	return u.write(ctx, tx, now())
}

func countFiles(ctx context.Context, s store.Snapshot, network string) (int64, error) {
	sizes := map[string]int64{}
	for after, more := (store.Key{Network: network}), true; more; {
		n := 0
		err := s.Blobs(ctx, after, scanned, func(b store.Blob) error {
			if n, after = n+1, b.Key; b.Network == network {
				sizes[b.ID] = b.Size
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
		more = n == scanned && after.Network == network
	}
	sum := int64(0)
	for after, more := (store.Key{}), true; more; {
		n := 0
		err := s.Scan(ctx, deliveries, after, scanned, func(r *store.Record) error {
			var d delivery
			n, after = n+1, r.Key
			if err := json.Unmarshal(r.Document, &d); err != nil || d.Network != network {
				return err
			}
			size, err := d.sizeBy(func(f deliveredFile) (int64, error) { return sizes[f.SHA256], nil })
			sum += size
			return err
		})
		if err != nil {
			return 0, err
		}
		more = n == scanned
	}
	return sum, nil
}
