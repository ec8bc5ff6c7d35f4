package folder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"marquee/engine/store"
)

// What is known of the sets and of the servers is one record, which each server writes as
// long as it runs, and the files of each set are another one.
const (
	indexID = "sets"
	// MaxSets, and maxKeptBytes of packed files, bound the sets that are kept.
	MaxSets      = 50
	maxKeptBytes = 64 << 20
	maxServers   = 100 // of the store; those that are listed with a set are fewer
	maxListed    = 20
	// BeatInterval is how often a server shows that it runs; one that does not counts as gone
	// after goneAfter.
	BeatInterval = 20 * time.Second
	goneAfter    = 2 * time.Minute
)

// Set is a set of schemas that servers of the store have served.
type Set struct {
	Number int64  `json:"number"`
	Digest string `json:"digest"` // schema.Registry.Digest
	// Time is when it was first served under this number.
	Time time.Time `json:"time"`
	// Bytes is the packed size of the files of the folder; 0 if it has none. Unkept reports
	// that they are too large to be kept.
	Bytes  int  `json:"bytes"`
	Unkept bool `json:"unkept,omitempty"`
	// Servers are the names of those that served it last, at most 20.
	Servers []string `json:"servers"`
}

// Server is a server of the store. Two can have the same name.
type Server struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Set    int64  `json:"set"`
	Digest string `json:"digest"`
	// Since is when it began to serve the set, and Seen when it last showed that it runs, by
	// the clock of the store.
	Since time.Time `json:"since"`
	Seen  time.Time `json:"seen"`
}

// Sets are the sets that are kept, the oldest first, and the servers that run.
type Sets struct {
	Sets    []Set    `json:"sets"`
	Servers []Server `json:"servers"`
	// Differ is since when the servers serve different sets, zero if they do not.
	Differ time.Time `json:"differ,omitzero"`
}

// ErrNoSet reports that the store does not have the files of a set.
var ErrNoSet = errors.New("the store does not keep it")

// Known returns the sets and the servers of a store.
func Known(ctx context.Context, s store.Store) (Sets, error) {
	now, err := s.Now(ctx)
	if err != nil {
		return Sets{}, err
	}
	sets, err := readSets(ctx, s)
	sets.settle(now, func(r Server) bool { return !s.Serial() && now.Sub(r.Seen) > goneAfter })
	return sets, err
}

func readSets(ctx context.Context, s store.Store) (sets Sets, err error) {
	err = s.Read(ctx, func(r store.Snapshot) error {
		sets = Sets{}
		_, err := store.ReadOne(ctx, r, setCollection, store.Key{ID: indexID}, &sets)
		return err
	})
	return sets, err
}

// settle forgets servers that are gone, and notes since when the others differ.
func (s *Sets) settle(now time.Time, gone func(Server) bool) {
	s.Servers = slices.DeleteFunc(s.Servers, gone)
	slices.SortFunc(s.Servers, func(a, b Server) int { return b.Seen.Compare(a.Seen) })
	s.Servers = s.Servers[:min(len(s.Servers), maxServers)]
	switch differ := slices.ContainsFunc(s.Servers, func(r Server) bool { return r.Digest != s.Servers[0].Digest }); {
	case !differ:
		s.Differ = time.Time{}
	case s.Differ.IsZero():
		s.Differ = now.UTC().Truncate(time.Millisecond)
	}
}

// trim drops the oldest sets beyond the bounds, but not the last one that has files, and
// returns the keys of their files.
func (s *Sets) trim() (dropped []store.Key) {
	total, fallback := 0, int64(0)
	for _, set := range s.Sets {
		if total += set.Bytes; set.Bytes > 0 {
			fallback = set.Number
		}
	}
	for len(s.Sets) > MaxSets || total > maxKeptBytes {
		i := 0
		if s.Sets[0].Number == fallback {
			i = 1
		}
		total -= s.Sets[i].Bytes
		dropped = append(dropped, filesKey(s.Sets[i].Number))
		s.Sets = slices.Delete(s.Sets, i, i+1)
	}
	return dropped
}

func filesKey(number int64) store.Key { return store.Key{ID: "set." + strconv.FormatInt(number, 10)} }

// Register notes in a store which sets a server serves, and that the server runs. It is
// safe for use by several goroutines.
type Register struct {
	store store.Store
	own   bool
	// noted is what is stored of this server; it is read while a change waits for the store.
	noted atomic.Pointer[Server]

	// mu orders changes. The clocks of servers are not compared: sighted has, by ID, the last
	// Server.Seen of each server and when it was new, looked is when the store was read last,
	// and beaten when it had this server, all by the clock of this process.
	mu             sync.Mutex
	sighted        map[string]sighting
	looked, beaten time.Time
}

type sighting struct{ seen, at time.Time }

// NewRegister returns the register of a server with a name, of which nothing is noted before
// Keep.
func NewRegister(s store.Store, name string) *Register {
	r := &Register{store: s, own: s.Serial()}
	r.noted.Store(&Server{ID: store.NewID(), Name: name})
	return r
}

// Number is the number of the set with a digest that the server serves, 0 if Keep has not
// noted that it does. It does not wait for the store.
func (r *Register) Number(digest string) int64 {
	if noted := r.noted.Load(); noted.Digest == digest {
		return noted.Set
	}
	return 0
}

// Keep notes that the server serves a set from now on, whose files are kept; nil are those
// of a server without a folder. A set with the digest of the last one has its number,
// another one the next number. An error about the size of the files is returned, with the
// sets, when the rest is noted; after another error, there are none.
func (r *Register) Keep(ctx context.Context, digest string, files *Recorder) (Sets, error) {
	var content []byte
	var large error
	if files != nil {
		content, large = files.Packed()
	}
	sets, err := r.change(ctx, func(tx store.Tx, sets *Sets, server *Server) error {
		now := server.Seen.Truncate(time.Millisecond)
		if server.Digest != digest {
			server.Since = now
		}
		server.Digest = digest
		last := len(sets.Sets) - 1
		if last >= 0 && sets.Sets[last].Digest == digest {
			return nil
		}
		added := Set{Number: 1, Digest: digest, Time: now, Bytes: len(content), Unkept: large != nil}
		if last >= 0 {
			added.Number = sets.Sets[last].Number + 1
		}
		if content != nil {
			err := store.PutInternal(ctx, tx, setCollection, store.Record{Key: filesKey(added.Number)}, "ACTIVE", packedFiles{content}, time.Now())
			if err != nil {
				return err
			}
		}
		sets.Sets = append(sets.Sets, added)
		return store.Drop(ctx, tx, setCollection, sets.trim())
	})
	return sets, errors.Join(err, large)
}

// Beat shows that the server runs, if it has not done so for a while, and returns what is
// known of the others. A store of one process has no others: it is not read.
func (r *Register) Beat(ctx context.Context) (Sets, error) {
	if r.own {
		return Sets{}, nil
	}
	r.mu.Lock()
	due := r.noted.Load().Set != 0 && time.Since(r.beaten) >= BeatInterval
	r.mu.Unlock()
	if due {
		return r.change(ctx, func(store.Tx, *Sets, *Server) error { return nil })
	}
	sets, err := readSets(ctx, r.store)
	if err != nil {
		return Sets{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle(&sets, time.Now())
	return sets, nil
}

// change changes what is known of the sets and of this server, which is seen.
func (r *Register) change(ctx context.Context, do func(store.Tx, *Sets, *Server) error) (Sets, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var server Server
	now := time.Now()
	seen, err := r.store.Now(ctx)
	if err != nil {
		return Sets{}, err
	}
	sets, err := changeSets(ctx, r.store, func(tx store.Tx, sets *Sets) error {
		server = *r.noted.Load()
		server.Seen = seen.UTC()
		if err := do(tx, sets, &server); err != nil {
			return err
		}
		// Another server may have given this set, which was served before, a new number.
		if last := len(sets.Sets) - 1; last >= 0 && sets.Sets[last].Digest == server.Digest {
			set := &sets.Sets[last]
			server.Set = set.Number
			set.Servers = append(slices.DeleteFunc(set.Servers, func(name string) bool { return name == server.Name }), server.Name)
			set.Servers = set.Servers[max(0, len(set.Servers)-maxListed):]
		}
		sets.Servers = append(r.others(sets), server)
		r.settle(sets, time.Now())
		return nil
	})
	if err != nil {
		return Sets{}, err
	}
	r.noted.Store(&server)
	r.beaten = now
	return sets, nil
}

// settle is Sets.settle by what this process has seen of the servers.
func (r *Register) settle(sets *Sets, now time.Time) {
	// While the store did not answer, the others could not show that they run either.
	waited := now.Sub(r.looked) > 2*BeatInterval
	before := r.sighted
	r.sighted, r.looked = map[string]sighting{}, now
	for _, s := range sets.Servers {
		last, known := before[s.ID]
		if !known || waited || !last.seen.Equal(s.Seen) {
			last = sighting{s.Seen, now}
		}
		r.sighted[s.ID] = last
	}
	sets.settle(now, func(s Server) bool {
		return !r.own && s.ID != r.noted.Load().ID && now.Sub(r.sighted[s.ID].at) > goneAfter
	})
}

// others are the servers of the store besides this one.
func (r *Register) others(sets *Sets) []Server {
	return slices.DeleteFunc(sets.Servers, func(s Server) bool { return r.own || s.ID == r.noted.Load().ID })
}

// Leave notes that the server ends. One that does not call it counts as gone after two
// minutes.
func (r *Register) Leave(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := changeSets(ctx, r.store, func(_ store.Tx, sets *Sets) error {
		sets.Servers = r.others(sets)
		r.settle(sets, time.Now())
		return nil
	})
	return err
}

func changeSets(ctx context.Context, s store.Store, change func(store.Tx, *Sets) error) (sets Sets, err error) {
	err = s.Write(ctx, func(tx store.Tx) error {
		sets = Sets{}
		was, err := store.ReadOne(ctx, tx, setCollection, store.Key{ID: indexID}, &sets)
		if err == nil {
			err = change(tx, &sets)
		}
		if err != nil {
			return err
		}
		return store.PutInternal(ctx, tx, setCollection, was, "ACTIVE", sets, time.Now())
	})
	return sets, err
}

// Packed returns the files of a set in one piece, for Unpack, and the time when it was
// accepted; 0 is the last one that has files. They are nil if the set has none, or none is
// kept; the error is ErrNoSet if the set with a number is not.
func Packed(ctx context.Context, s store.Store, number int64) (files []byte, accepted time.Time, err error) {
	err = s.Read(ctx, func(r store.Snapshot) error {
		var sets Sets
		if _, err := store.ReadOne(ctx, r, setCollection, store.Key{ID: indexID}, &sets); err != nil {
			return err
		}
		key := store.Key{ID: acceptedSet}
		for _, set := range sets.Sets {
			if set.Number == number || number == 0 && set.Bytes > 0 {
				key, accepted = filesKey(set.Number), set.Time
				if set.Unkept {
					return fmt.Errorf("set %d: its files were too large: %w", number, ErrNoSet)
				}
			}
		}
		if number != 0 && key != filesKey(number) {
			return fmt.Errorf("set %d: %w", number, ErrNoSet)
		}
		var content packedFiles
		record, err := store.ReadOne(ctx, r, setCollection, key, &content)
		if key.ID == acceptedSet {
			accepted = record.UpdateTime
		}
		files = content.Zip
		return err
	})
	return files, accepted, err
}
