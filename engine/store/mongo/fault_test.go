package mongo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/query"
	"marquee/engine/store"
	"marquee/integration/mongodb"
)

// faulty is a store whose commands meet mishaps, with a second store on the
// same database that shows what is stored.
type faulty struct {
	*testing.T
	set   *mongodb.ReplicaSet
	app   string // identifies the commands that fail
	proxy *proxy
	s     *Store
	other *Store
	// at is the version of the hot record, from which everything else follows.
	at int64
}

const (
	faultThings  = "things"
	faultNetwork = "n"
)

// newFaulty opens a store on a database of a replica set.
func newFaulty(t *testing.T, set *mongodb.ReplicaSet) *faulty {
	t.Helper()
	return openFaulty(t, set, set.URI("faults_"+newID()))
}

func openFaulty(t *testing.T, set *mongodb.ReplicaSet, direct string) *faulty {
	t.Helper()
	uri, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	f := &faulty{T: t, set: set, app: "faults " + newID(), other: openTest(t, Options{URI: direct})}
	f.proxy = newProxy(t, uri.Host)
	uri.Host = f.proxy.listener.Addr().String()
	options := uri.Query()
	options.Del("replicaSet")
	options.Set("directConnection", "true")
	options.Set("appName", f.app)
	// After a fail point that says that the server is no longer primary, the
	// driver waits for the next heartbeat.
	options.Set("heartbeatFrequencyMS", "500")
	uri.RawQuery = options.Encode()
	f.s = openTest(t, Options{URI: uri.String()})
	collections := []store.Collection{{Name: faultThings}}
	f.must(f.s.EnsureCollections(t.Context(), collections))
	f.must(f.other.EnsureCollections(t.Context(), collections))
	if _, err := f.write(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.settled("the first write", true)
	return f
}

func (f *faulty) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// The records at a version of the hot record: hot and new, a claim and a term
// of hot, a change of each record, and a blob.
var hotKey = store.Key{Network: faultNetwork, ID: "hot"}

func newKey(version int64) store.Key {
	return store.Key{Network: faultNetwork, ID: fmt.Sprintf("new%d", version)}
}

func hotClaim(version int64) store.Claim {
	return store.Claim{Collection: faultThings, Network: faultNetwork, Property: "p", Value: fmt.Sprint(version)}
}

func hotTerm(version int64) store.Term { return store.Term{Key: "k", Value: fmt.Sprint(version)} }

func blobKey(version int64) store.Key {
	return store.Key{Network: faultNetwork, ID: fmt.Sprintf("blob%d", version)}
}

func faultRecord(key store.Key, version int64) store.Record {
	at := time.UnixMilli(version).UTC()
	return store.Record{Key: key, Version: version, State: "ACTIVE", CreateTime: at, UpdateTime: at, CreateUser: "u", UpdateUser: "u",
		Document: fmt.Appendf(nil, `{"version":%d}`, version)}
}

func faultChange(key store.Key, version int64) store.Change {
	return store.Change{Time: time.UnixMilli(version).UTC(), Network: key.Network, Collection: faultThings, ID: key.ID, Version: version, User: "u",
		Fields: []byte(`[]`)}
}

var errOwn = errors.New("the function's own")

// write writes the next version of everything in one transaction, with every
// kind of statement, and returns the number of runs.
func (f *faulty) write(ctx context.Context) (runs int, err error) {
	err = f.s.Write(ctx, func(tx store.Tx) error {
		runs++
		return f.statements(ctx, tx)
	})
	return runs, err
}

// giveUp writes and rolls back.
func (f *faulty) giveUp(ctx context.Context) (runs int, err error) {
	err = f.s.Write(ctx, func(tx store.Tx) error {
		runs++
		if err := f.statements(ctx, tx); err != nil {
			return err
		}
		return errOwn
	})
	return runs, err
}

func (f *faulty) statements(ctx context.Context, tx store.Tx) error {
	next := f.at + 1
	if err := tx.Get(ctx, faultThings, []store.Key{hotKey}, func(*store.Record) error { return nil }); err != nil {
		return err
	}
	if _, err := tx.Claims(ctx, []store.Claim{hotClaim(f.at), hotClaim(next)}); err != nil {
		return err
	}
	if _, err := tx.Count(ctx, query.Query{Collection: faultThings, Network: faultNetwork}); err != nil {
		return err
	}
	hot := store.Write{Record: faultRecord(hotKey, next), Expected: f.at, AddTerms: []store.Term{hotTerm(next)}, AddClaims: []store.Claim{hotClaim(next)}}
	if f.at > 0 {
		hot.DropTerms, hot.DropClaims = []store.Term{hotTerm(f.at)}, []store.Claim{hotClaim(f.at)}
	}
	created := store.Write{Record: faultRecord(newKey(next), 1)}
	if err := tx.Put(ctx, faultThings, []store.Write{hot, created}); err != nil {
		return err
	}
	if err := tx.Append(ctx, []store.Change{faultChange(hotKey, next), faultChange(newKey(next), 1)}); err != nil {
		return err
	}
	data := []byte(fmt.Sprint(next))
	err := tx.PutBlob(ctx, blobKey(next), int64(len(data)), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
	if err != nil {
		return err
	}
	return tx.DropBlobs(ctx, []store.Key{blobKey(f.at)})
}

// settled checks that the last write is stored as a whole, or not at all, and
// continues from there.
func (f *faulty) settled(what string, stored bool) {
	f.Helper()
	want := f.at
	if stored {
		want++
	}
	if got := f.found(want); len(got) > 0 {
		f.Fatalf("%s: want stored %t, but version %d differs: %s", what, stored, want, strings.Join(got, "; "))
	}
	f.at = want
}

// found lists what differs from a version.
func (f *faulty) found(version int64) (wrong []string) {
	ctx := f.Context()
	expect := func(what string, got, want any) {
		if fmt.Sprint(got) != fmt.Sprint(want) {
			wrong = append(wrong, fmt.Sprintf("%s is %v instead of %v", what, got, want))
		}
	}
	err := f.other.Read(ctx, func(s store.Snapshot) error {
		wrong = nil
		versions := map[string]int64{}
		err := s.Get(ctx, faultThings, []store.Key{hotKey, newKey(version), newKey(version + 1)}, func(r *store.Record) error {
			versions[r.ID] = r.Version
			if r.ID == hotKey.ID {
				expect("the document", string(r.Document), fmt.Sprintf(`{"version":%d}`, r.Version))
			}
			return nil
		})
		if err != nil {
			return err
		}
		expect("the records", versions, map[string]int64{hotKey.ID: version, newKey(version).ID: 1})
		owners, err := s.Claims(ctx, []store.Claim{hotClaim(version - 1), hotClaim(version), hotClaim(version + 1)})
		if err != nil {
			return err
		}
		expect("the claims", owners, map[store.Claim]string{hotClaim(version): hotKey.ID})
		for at := version - 1; at <= version+1; at++ {
			found := ""
			q := query.Query{Collection: faultThings, Network: faultNetwork, Where: query.Term{Key: "k", Value: fmt.Sprint(at)}, Limit: 2}
			if err := s.Find(ctx, q, func(r *store.Record) error { found += r.ID; return nil }); err != nil {
				return err
			}
			expect(fmt.Sprintf("what has the term %d", at), found, map[bool]string{true: hotKey.ID}[at == version])
			_, there, err := s.Blob(ctx, blobKey(at), 0, 0, func([]byte) error { return nil })
			if err != nil {
				return err
			}
			expect(fmt.Sprintf("that there is blob %d", at), there, at == version)
		}
		history := func(key store.Key) (versions []int64, err error) {
			err = s.History(ctx, store.HistoryQuery{Network: key.Network, Collection: faultThings, ID: key.ID, Limit: 3}, func(c *store.Change) error {
				versions = append(versions, c.Version)
				return nil
			})
			return versions, err
		}
		last, err := history(hotKey)
		if err != nil {
			return err
		}
		var want []int64
		for v := version; v > max(0, version-3); v-- {
			want = append(want, v)
		}
		expect("the history", last, want)
		all, err := s.HistoryCount(ctx, store.HistoryQuery{Network: faultNetwork, Collection: faultThings})
		expect("the number of changes", all, 2*version)
		return err
	})
	if err != nil {
		wrong = append(wrong, err.Error())
	}
	return wrong
}

// busy is the delay that a busy machine may add. Without the code under test,
// the delay would be the minute after which MongoDB ends a transaction, or
// endless.
const busy = 10 * time.Second

// nothingOpen waits until the server runs nothing for the store and has no open
// transaction of it.
func (f *faulty) nothingOpen(what string, within time.Duration) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), within+busy)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		open := f.operations()
		if len(open) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			f.Fatalf("%s: the server still has %v", what, open[0])
		}
	}
}

// operations returns the store's open transactions on the server and its
// running commands, except monitoring.
func (f *faulty) operations() (open []bson.Raw) {
	f.Helper()
	cursor, err := f.set.Client().Database("admin").Aggregate(f.Context(), bson.A{
		bson.D{{Key: "$currentOp", Value: bson.D{{Key: "idleSessions", Value: true}}}},
		bson.D{{Key: "$match", Value: bson.D{{Key: "appName", Value: f.app}, {Key: "command.hello", Value: nil}, {Key: "$or", Value: bson.A{
			bson.D{{Key: "transaction.parameters.autocommit", Value: false}}, bson.D{{Key: "active", Value: true}}}}}}},
		bson.D{{Key: "$project", Value: bson.D{{Key: "desc", Value: 1}, {Key: "command", Value: 1}, {Key: "transaction.parameters", Value: 1}}}}})
	f.must(err)
	f.must(cursor.All(f.Context(), &open))
	return open
}
