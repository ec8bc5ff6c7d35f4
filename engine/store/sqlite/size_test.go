package sqlite

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"testing"
	"time"

	"marquee/engine/query"
	"marquee/engine/store"
)

// TestSize bounds the bytes that an object takes, as an order of the advertising
// service: with its history, its indexes, the words that find it and its owners.
func TestSize(t *testing.T) {
	const (
		objects = 4000
		// maxBytes is what each may take in the file.
		maxBytes = 1750
	)
	s := openTest(t, Options{})
	property := func(name string) query.Field {
		return query.Field{Path: []query.Step{{Name: name}}, Kind: query.String}
	}
	created := query.Field{System: query.CreateTime, Kind: query.Time}
	collection := store.Collection{Name: "orders", Indexes: []store.Index{
		{Equal: []query.Field{property("advertiser")}, Order: property("name")}, {Order: property("name")}, {Order: property("externalReference")}}}
	for _, name := range []string{"name", "externalReference", "advertiser", "team", "salespersonUser", "adOpsUser"} {
		collection.Indexes = append(collection.Indexes, store.Index{Equal: []query.Field{property(name)}, Order: created})
	}
	if err := s.EnsureCollections(t.Context(), []store.Collection{collection}); err != nil {
		t.Fatal(err)
	}
	empty := fileSize(t, s)
	for first := 0; first < objects; first += 100 {
		var writes []store.Write
		var changes []store.Change
		for i := first; i < first+100; i++ {
			write, change := anOrder(i)
			writes, changes = append(writes, write), append(changes, change)
		}
		if err := s.Write(t.Context(), func(tx store.Tx) error {
			if err := tx.Put(t.Context(), "orders", writes); err != nil {
				return err
			}
			return tx.Append(t.Context(), changes)
		}); err != nil {
			t.Fatal(err)
		}
	}
	bytes := (fileSize(t, s) - empty) / objects
	t.Logf("%d bytes for each object", bytes)
	if bytes > maxBytes {
		t.Errorf("%d bytes for each object, more than %d", bytes, maxBytes)
	}
}

// anOrder returns an order of 120 bytes with an id that is random, as a server makes it,
// but the same in each run.
func anOrder(i int) (store.Write, store.Change) {
	digest := fnv.New64a()
	fmt.Fprint(digest, i)
	id, now := fmt.Sprintf("%016x", digest.Sum64()), time.UnixMilli(1_700_000_000_000+int64(i/100)).UTC()
	const network, user = "k2q5pzqamls3kpjc", "r6vcqy2sya6p3jg4"
	name := fmt.Sprintf("Spring campaign %06d of shoes", i)
	write := store.Write{Record: store.Record{Key: store.Key{Network: network, ID: id}, State: "ACTIVE", Version: 1, CreateTime: now, UpdateTime: now,
		CreateUser: user, UpdateUser: user, Document: fmt.Appendf(nil, `{"advertiser":"adv%013d","externalReference":"%08d","labels":["shoes","spring"],"name":"%s"}`, i%100, i, name)}}
	add := func(key string, values ...string) {
		for _, value := range values {
			write.AddTerms = append(write.AddTerms, store.Term{Key: key, Value: value})
		}
	}
	add("labels", "shoes", "spring")
	add("q..1c97a4c0cd012e21", "spring", "campaign", fmt.Sprintf("%06d", i), "of", "shoes", fmt.Sprintf("%08d", i))
	add(query.OrderedKey+"team.3d7101f25aa84e24", "-", "@advertisers/adv"+strconv.Itoa(i%100))
	return write, store.Change{Time: now, Network: network, Collection: "orders", ID: id, Revision: 1, Version: 1, User: user,
		Fields: fmt.Appendf(nil, `[{"field":"/objectState","to":"ACTIVE"},{"field":"/advertiser","to":"adv%013d"},{"field":"/externalReference","to":"%08d"},{"field":"/labels","to":["shoes","spring"]},{"field":"/name","to":"%s"}]`, i%100, i, name)}
}

func fileSize(t *testing.T, s *Store) (size int64) {
	t.Helper()
	if err := s.Read(t.Context(), func(snapshot store.Snapshot) (err error) {
		size, err = snapshot.(*view).conn.number("SELECT page_count*page_size FROM pragma_page_count, pragma_page_size")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return size
}
