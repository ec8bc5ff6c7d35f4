package password

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"marquee/engine/store"
)

const (
	attemptCollection = "auth_attempts"
	// attemptRecords and attemptEntries bound what is stored: at most some 15 MB. They
	// have room for more failures than a server can compute hashes for in 15 minutes.
	attemptRecords = 1024
	attemptEntries = 64
	// windowParts is the resolution of a window: failures within a part of it are
	// counted together, and are forgotten together.
	windowParts = 15
)

// counter is something that failures are counted for.
type counter struct {
	// record is the id of the record, entry the key in it.
	record, entry string
	limit         int
}

// newCounter returns the counter of a value. Only its hash is stored: a client may have
// sent a password as the name.
func newCounter(limit int, kind, value string) counter {
	digest := sha256.Sum256([]byte(kind + "\x00" + value))
	record := (int(digest[0])<<8 | int(digest[1])) % attemptRecords
	return counter{hex.EncodeToString([]byte{byte(record >> 8), byte(record)}), hex.EncodeToString(digest[2:14]), limit} // #nosec G115 -- attemptRecords has 11 bits
}

// countRecord is a record of the attempt collection.
type countRecord struct {
	Entries []countEntry `json:"entries"`
}

// countEntry has the failures of a counter.
type countEntry struct {
	Key   string      `json:"key"`
	Parts []countPart `json:"parts"`
}

// countPart has the failures in a part of a window, which ends at a Unix time.
type countPart struct {
	End   int64 `json:"end"`
	Count int   `json:"count"`
}

// prune forgets the failures from before the window.
func (r *countRecord) prune(now time.Time, window time.Duration) {
	from := now.Add(-window).Unix()
	for i := range r.Entries {
		r.Entries[i].Parts = slices.DeleteFunc(r.Entries[i].Parts, func(p countPart) bool { return p.End <= from })
	}
	r.Entries = slices.DeleteFunc(r.Entries, func(e countEntry) bool { return len(e.Parts) == 0 })
}

func (r *countRecord) find(key string) *countEntry {
	for i := range r.Entries {
		if r.Entries[i].Key == key {
			return &r.Entries[i]
		}
	}
	return nil
}

// add counts a failure. A full record loses the entry with the fewest failures, of
// those the oldest.
func (r *countRecord) add(key string, now time.Time, window time.Duration) {
	part := max(int64(window/time.Second)/windowParts, 1)
	end := (now.Unix()/part + 1) * part
	entry := r.find(key)
	if entry == nil {
		if len(r.Entries) >= attemptEntries {
			least := 0
			for i := range r.Entries {
				if r.Entries[i].count() < r.Entries[least].count() {
					least = i
				}
			}
			r.Entries = slices.Delete(r.Entries, least, least+1)
		}
		r.Entries = append(r.Entries, countEntry{Key: key})
		entry = &r.Entries[len(r.Entries)-1]
	}
	if last := len(entry.Parts) - 1; last >= 0 && entry.Parts[last].End >= end {
		entry.Parts[last].Count++
		return
	}
	entry.Parts = append(entry.Parts, countPart{end, 1})
}

func (r *countRecord) remove(key string) {
	r.Entries = slices.DeleteFunc(r.Entries, func(e countEntry) bool { return e.Key == key })
}

func (e *countEntry) count() int {
	n := 0
	for _, part := range e.Parts {
		n += part.Count
	}
	return n
}

// wait returns how long a counter's limit is reached: until so many failures are
// forgotten that fewer than the limit are left. It is 0 if the limit is not reached.
func (r *countRecord) wait(c counter, now time.Time, window time.Duration) time.Duration {
	entry := r.find(c.entry)
	if entry == nil {
		return 0
	}
	left := entry.count()
	var until time.Duration
	for _, part := range entry.Parts {
		if left < c.limit {
			break
		}
		left -= part.Count
		until = time.Unix(part.End, 0).Add(window).Sub(now)
	}
	return until
}

// counts are those of some counters, read from one snapshot.
type counts map[string]*countRecord

func readCounts(ctx context.Context, s store.Snapshot, now time.Time, window time.Duration, counters ...counter) (counts, map[string]store.Record, error) {
	found, records := counts{}, map[string]store.Record{}
	var keys []store.Key
	for _, c := range counters {
		if found[c.record] == nil {
			found[c.record], records[c.record] = &countRecord{}, store.Record{Key: store.Key{ID: c.record}}
			keys = append(keys, store.Key{ID: c.record})
		}
	}
	err := s.Get(ctx, attemptCollection, keys, func(r *store.Record) error {
		records[r.ID] = store.Record{Key: r.Key, Revision: r.Revision, CreateTime: r.CreateTime}
		*found[r.ID] = countRecord{}
		return json.Unmarshal(r.Document, found[r.ID])
	})
	for _, d := range found {
		d.prune(now, window)
	}
	return found, records, err
}

// changeCounts stores what edit does to the counts of some counters.
func changeCounts(ctx context.Context, tx store.Tx, now time.Time, window time.Duration, edit func(*countRecord, counter), counters ...counter) error {
	found, records, err := readCounts(ctx, tx, now, window, counters...)
	if err != nil {
		return err
	}
	for _, c := range counters {
		edit(found[c.record], c)
	}
	var writes []store.Write
	for id, d := range found {
		content, err := json.Marshal(d)
		if err != nil {
			return err
		}
		writes = append(writes, store.InternalWrite(records[id], "ACTIVE", content, now))
	}
	return tx.Put(ctx, attemptCollection, writes)
}

func (c counts) wait(of counter, now time.Time, window time.Duration) time.Duration {
	return c[of.record].wait(of, now, window)
}
