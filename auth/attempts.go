package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Failed sign-ins are counted by name and by address in the store, so that the counts
// survive a restart and all servers of a store share them. From an address where a
// user has signed in before, that user's failures are counted apart: failures from
// elsewhere do not lock the user out there.
//
// The counts are in a fixed number of records, and a record has a fixed number of
// entries, so that attempts with ever new names and addresses do not fill the disk.

// SignInLimits is how many sign-ins can fail within a time, before further ones are
// refused without looking at the password. Refused ones are not counted.
type SignInLimits struct {
	// Name is the limit for a username, and for a user at an address where the user
	// has signed in before; 0 means 5.
	Name int
	// Address is the limit for an address, for IPv6 a /64 network; 0 means 100.
	Address int
	// Window is the time; 0 means 15 minutes.
	Window time.Duration
}

// DefaultSignInLimits are the limits of the interface decisions.
var DefaultSignInLimits = SignInLimits{Name: 5, Address: 100, Window: 15 * time.Minute}

func (l SignInLimits) orDefault() SignInLimits {
	if l.Name <= 0 {
		l.Name = DefaultSignInLimits.Name
	}
	if l.Address <= 0 {
		l.Address = DefaultSignInLimits.Address
	}
	if l.Window <= 0 {
		l.Window = DefaultSignInLimits.Window
	}
	return l
}

const (
	attemptCollection = "auth_attempts"
	addressCollection = "auth_addresses"
	// attemptRecords and attemptEntries bound what is stored: at most some 15 MB. They
	// have room for more failures than a server can compute hashes for in 15 minutes.
	attemptRecords = 1024
	attemptEntries = 64
	// windowParts is the resolution of a window: failures within a part of it are
	// counted together, and are forgotten together.
	windowParts = 15
	// maxAddresses is how many addresses are remembered for a user.
	maxAddresses = 32
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

// countedName returns the form of a username under which failures are counted, which is
// the one that identifies the user.
func countedName(username string) string {
	form := schema.UniqueForm{Property: "username", Form: schema.UsernameForm}
	if name, ok := form.Of(username); ok {
		return name
	}
	return username
}

// attemptDocument is a record of the attempt collection.
type attemptDocument struct {
	Entries []attemptEntry `json:"entries"`
}

// attemptEntry has the failures of a counter.
type attemptEntry struct {
	Key   string        `json:"key"`
	Parts []attemptPart `json:"parts"`
}

// attemptPart has the failures in a part of a window, which ends at a Unix time.
type attemptPart struct {
	End   int64 `json:"end"`
	Count int   `json:"count"`
}

// prune forgets the failures from before the window.
func (d *attemptDocument) prune(now time.Time, window time.Duration) {
	from := now.Add(-window).Unix()
	for i := range d.Entries {
		d.Entries[i].Parts = slices.DeleteFunc(d.Entries[i].Parts, func(p attemptPart) bool { return p.End <= from })
	}
	d.Entries = slices.DeleteFunc(d.Entries, func(e attemptEntry) bool { return len(e.Parts) == 0 })
}

func (d *attemptDocument) find(key string) *attemptEntry {
	for i := range d.Entries {
		if d.Entries[i].Key == key {
			return &d.Entries[i]
		}
	}
	return nil
}

// add counts a failure. A full record loses the entry with the fewest failures, of
// those the oldest.
func (d *attemptDocument) add(key string, now time.Time, window time.Duration) {
	part := max(int64(window/time.Second)/windowParts, 1)
	end := (now.Unix()/part + 1) * part
	entry := d.find(key)
	if entry == nil {
		if len(d.Entries) >= attemptEntries {
			least := 0
			for i := range d.Entries {
				if d.Entries[i].count() < d.Entries[least].count() {
					least = i
				}
			}
			d.Entries = slices.Delete(d.Entries, least, least+1)
		}
		d.Entries = append(d.Entries, attemptEntry{Key: key})
		entry = &d.Entries[len(d.Entries)-1]
	}
	if last := len(entry.Parts) - 1; last >= 0 && entry.Parts[last].End >= end {
		entry.Parts[last].Count++
		return
	}
	entry.Parts = append(entry.Parts, attemptPart{end, 1})
}

func (e *attemptEntry) count() int {
	n := 0
	for _, part := range e.Parts {
		n += part.Count
	}
	return n
}

// wait returns how long a counter's limit is reached: until so many failures are
// forgotten that fewer than the limit are left. It is 0 if the limit is not reached.
func (d *attemptDocument) wait(c counter, now time.Time, window time.Duration) time.Duration {
	entry := d.find(c.entry)
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

// attempts are the counts of some counters, read from one snapshot.
type attempts map[string]*attemptDocument

func readAttempts(ctx context.Context, s store.Snapshot, now time.Time, window time.Duration, counters ...counter) (attempts, map[string]store.Record, error) {
	found, records := attempts{}, map[string]store.Record{}
	var keys []store.Key
	for _, c := range counters {
		if found[c.record] == nil {
			found[c.record], records[c.record] = &attemptDocument{}, store.Record{Key: store.Key{ID: c.record}}
			keys = append(keys, store.Key{ID: c.record})
		}
	}
	err := s.Get(ctx, attemptCollection, keys, func(r *store.Record) error {
		records[r.ID] = store.Record{Key: r.Key, Revision: r.Revision, CreateTime: r.CreateTime}
		*found[r.ID] = attemptDocument{}
		return json.Unmarshal(r.Document, found[r.ID])
	})
	for _, d := range found {
		d.prune(now, window)
	}
	return found, records, err
}

// changeAttempts stores what edit does to the counts of some counters.
func changeAttempts(ctx context.Context, tx store.Tx, now time.Time, window time.Duration, edit func(*attemptDocument, counter), counters ...counter) error {
	found, records, err := readAttempts(ctx, tx, now, window, counters...)
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

func (a attempts) wait(c counter, now time.Time, window time.Duration) time.Duration {
	return a[c.record].wait(c, now, window)
}

// recordTime is how long storing a failure may take after its client has left.
const recordTime = 10 * time.Second

// fail counts a failure, also if the client has left, who may have seen enough.
func (s *Service) fail(ctx context.Context, counters ...counter) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	now, window := s.now(), s.SignIns.orDefault().Window
	return store.Translate(s.store.Write(ctx, func(tx store.Tx) error {
		return changeAttempts(ctx, tx, now, window, func(d *attemptDocument, c counter) { d.add(c.entry, now, window) }, counters...)
	}))
}

// forgive forgets the failures of a counter.
func (s *Service) forgive(ctx context.Context, tx store.Tx, c counter) error {
	now, window := s.now(), s.SignIns.orDefault().Window
	found, _, err := readAttempts(ctx, tx, now, window, c)
	if err != nil || found[c.record].find(c.entry) == nil {
		return err
	}
	return changeAttempts(ctx, tx, now, window, func(d *attemptDocument, c counter) {
		d.Entries = slices.DeleteFunc(d.Entries, func(e attemptEntry) bool { return e.Key == c.entry })
	}, c)
}

// refused returns the error for a counter whose limit is reached for some time yet.
func refused(wait time.Duration) error {
	e := message.SignInsFailed.Error(nil)
	e.RetryAfter = (wait + time.Second - 1).Truncate(time.Second)
	return e
}

// addressDocument has the addresses where a user has signed in: their hashes, and the
// Unix days of the latest sign-ins.
type addressDocument struct {
	Addresses map[string]int64 `json:"addresses"`
}

func hashAddress(from string) string {
	digest := sha256.Sum256([]byte("address\x00" + from))
	return hex.EncodeToString(digest[:12])
}

func readAddresses(ctx context.Context, s store.Snapshot, user string) (store.Record, addressDocument, error) {
	record, d := store.Record{Key: store.Key{ID: user}}, addressDocument{Addresses: map[string]int64{}}
	err := s.Get(ctx, addressCollection, []store.Key{record.Key}, func(r *store.Record) error {
		record.Revision, record.CreateTime = r.Revision, r.CreateTime
		return json.Unmarshal(r.Document, &d)
	})
	return record, d, err
}

// remember stores that a user has signed in at an address, and forgets the failures
// that were counted apart for it.
func (s *Service) remember(ctx context.Context, tx store.Tx, a *attempt) error {
	record, d, err := readAddresses(ctx, tx, a.user)
	if err != nil {
		return err
	}
	if _, known := d.Addresses[a.address]; !known && len(d.Addresses) >= maxAddresses {
		oldest := ""
		for known, day := range d.Addresses {
			if oldest == "" || day < d.Addresses[oldest] || day == d.Addresses[oldest] && known < oldest {
				oldest = known
			}
		}
		delete(d.Addresses, oldest)
	}
	d.Addresses[a.address] = s.now().Unix() / secondsOfDay
	list := map[string]any{}
	for address, day := range d.Addresses {
		list[address] = day
	}
	content := document.Append(nil, map[string]any{"addresses": list})
	if err := tx.Put(ctx, addressCollection, []store.Write{store.InternalWrite(record, "ACTIVE", content, s.now())}); err != nil {
		return err
	}
	return s.forgive(ctx, tx, a.own)
}
