package bench

import (
	"fmt"
	"testing"
	"testing/fstest"
	"time"

	"marquee/engine/store"
	"marquee/engine/store/mongo"
	"marquee/integration/mongodb"
)

// visits belong to the users of their customers.
var visits = fstest.MapFS{
	"customers.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Customer", "type": "object",
		"x-resource": {"path": "customers", "permission": "MANAGE_BUSINESS", "owner": "user"}, "properties": {"name": {"type": "string"}, "user": {"x-ref": "users"}}}`)},
	"visits.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Visit", "type": "object",
		"x-resource": {"path": "visits", "permission": "MANAGE_BUSINESS", "owner": "customer.user", "search": ["name"], "sort": ["name"]},
		"properties": {"name": {"type": "string"}, "note": {"type": "string"}, "customer": {"x-ref": "customers"}}}`)},
}

// BenchmarkOwnList compares lists in default order, with an exact count, of users of scope OWN to
// whom the objects of one customer belong, and those of thirty, with that of a user who sees the
// network.
func BenchmarkOwnList(b *testing.B) {
	opened, _ := onSQLite(b, nil)
	compareOwn(b, opened)
}

// BenchmarkMongoDBOwnList is the same on MongoDB.
func BenchmarkMongoDBOwnList(b *testing.B) {
	compareOwn(b, openDatabase(b, mongo.Options{URI: mongodb.URI(b)}))
}

func compareOwn(b *testing.B, opened store.Store) {
	s := serveWith(b, opened, visits)
	members := s.members(b, "OWN")
	large := benchObjects(b)
	began := time.Now()
	s.loadVisits(b, large)
	b.Logf("loaded %d objects in %.0f s", large, time.Since(began).Seconds())
	compareScopes(b, s, "own/network", members, "visits", "v-00000000")
}

// loadVisits stores n visits, evenly over as many customers as there are teams elsewhere: one has
// 500, and thirty has others.
func (s *service) loadVisits(tb testing.TB, n int) {
	var list []map[string]any
	for i := range teams {
		customer := map[string]any{"id": fmt.Sprintf("c%d", i), "name": fmt.Sprintf("Customer %d", i)}
		switch {
		case i == 500:
			customer["user"] = "one"
		case i%33 == 7 && i < 30*33:
			customer["user"] = "thirty"
		}
		list = append(list, customer)
	}
	s.write(tb, "customers", list)
	for from := 0; from < n; from += 1000 {
		var list []map[string]any
		for i := from; i < min(n, from+1000); i++ {
			list = append(list, map[string]any{"id": fmt.Sprintf("v-%08d", i), "name": fmt.Sprintf("Visit %08d", (i*7919)%100_000_007),
				"customer": fmt.Sprintf("c%d", i%teams), "note": "What was said, and what was agreed for the next time."})
		}
		s.write(tb, "visits", list)
	}
}
