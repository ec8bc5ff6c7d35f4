package advertising

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"marquee/engine/store"
	"marquee/integration/service"
)

// TestRevisions: the rows of an object in the feed have revisions without holes,
// whoever writes at once, and those of them that raise the version are its
// history.
func TestRevisions(t *testing.T) { service.EachStore(t, testRevisions) }

func testRevisions(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	c.LineItemParts()
	c.Send("POST", "/api/v1/librarycreatives/lib?context=main", `{"name": "Lib", "layout": "plain", "layoutParameters": {}, "verifiedSafe": true, "width": 1, "height": 1}`, 201, "")
	const lineItems = 3
	for i := range lineItems {
		id := fmt.Sprint("l", i)
		c.Send("POST", "/api/v1/lineitems/"+id+"?context=main", service.Well(id, ""), 201, "")
		c.Send("POST", "/api/v1/creatives/c"+id+"?context=main", fmt.Sprintf(`{"name": "C", "lineItem": %q, "libraryCreative": "lib"}`, id), 201, "")
	}
	const rounds = 6
	for round := range rounds {
		state := []string{"INACTIVE", "ACTIVE"}[round%2]
		c.Race(4, func(client int) (method, path, body string, header http.Header) {
			switch client {
			case 0:
				return "POST", "/api/v1/orders/o?context=main", fmt.Sprintf(`{"objectState": %q}`, state), nil
			case 1:
				return "POST", "/api/v1/librarycreatives/lib?context=main", fmt.Sprintf(`{"width": %d}`, round+2), nil
			case 2:
				return "POST", "/api/v1/creatives/cl0?context=main", fmt.Sprintf(`{"objectState": %q}`, state), nil
			}
			return "POST", "/api/v1/lineitems/l1?context=main", fmt.Sprintf(`{"name": "L%d"}`, round), nil
		})
	}
	if err := c.Service.Pass(); err != nil {
		t.Fatal(err)
	}

	rows := c.RowsOfFeed()
	silent, caused := 0, 0
	for _, kind := range []string{"lineitems", "creatives", "orders", "librarycreatives", "users", "roles"} {
		err := c.Service.Store.Read(t.Context(), func(s store.Snapshot) error {
			return s.Scan(t.Context(), kind, store.Key{}, 1000, func(r *store.Record) error {
				version, all := int64(0), rows[service.CrashKey(kind, r.Network, r.ID)]
				for i, row := range all {
					if !row.FeedOnly {
						version++
					} else if silent++; string(row.Fields) != "[]" || row.Cause != nil {
						t.Errorf("%s %s: a row of the feed alone says what changed: %s %s", kind, r.ID, row.Fields, row.Cause)
					}
					if row.Cause != nil {
						caused++
					}
					if row.Revision != int64(i+1) || row.Version != version {
						t.Errorf("%s %s: row %d is of revision %d and version %d, want version %d", kind, r.ID, i, row.Revision, row.Version, version)
					}
				}
				if r.Revision != int64(len(all)) || r.Version != version {
					t.Errorf("%s %s is at revision %d and version %d, and its feed has %d and %d", kind, r.ID, r.Revision, r.Version, len(all), version)
				}
				return nil
			})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if silent < rounds || caused < rounds {
		t.Errorf("%d rows are of the feed alone, %d have a cause: the test sees nothing", silent, caused)
	}
	for i := range lineItems {
		c.Send("GET", fmt.Sprintf("/api/v1/audit?context=main&type=lineitems&id=l%d&pageSize=1", i), "", 200,
			fmt.Sprintf(`{"totalCount": %d}`, map[int]int{0: 1, 1: 1 + rounds, 2: 1}[i]))
	}
}

// TestDerivedMembers: a read-only member that the service itself corrects, and
// what a client's own write alters.
func TestDerivedMembers(t *testing.T) { service.EachStore(t, testDerivedMembers) }

func testDerivedMembers(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	c.LineItemParts()
	c.Send("POST", "/api/v1/lineitems/l?context=main", service.Well("l", ""), 201, "")
	for _, id := range []string{"found", "written"} {
		c.Send("POST", "/api/v1/creatives/"+id+"?context=main", service.Creative(id, "l"), 201, "")
	}
	// As an earlier program stored them, which did not note the assets.
	keys := []store.Key{{Network: "main", ID: "found"}, {Network: "main", ID: "written"}}
	if err := c.Service.Store.Write(t.Context(), func(tx store.Tx) error {
		var writes []store.Write
		err := tx.Get(t.Context(), "creatives", keys, func(r *store.Record) error {
			write := store.Write{Record: *r, Expected: r.Revision}
			document := strings.Replace(string(r.Document), `"layoutParameters":{}`, `"layoutParameters":{"a":{"id":"x"}}`, 1)
			if !strings.Contains(document, `"x"`) {
				document = strings.Replace(document, `"lineItem"`, `"layoutParameters":{"a":{"id":"x"}},"lineItem"`, 1)
			}
			write.Document, write.Warnings = []byte(document), []byte(string(r.Warnings))
			writes = append(writes, write)
			return nil
		})
		if err != nil {
			return err
		}
		return tx.Put(t.Context(), "creatives", writes)
	}); err != nil {
		t.Fatal(err)
	}
	read := func(id string) (record store.Record) {
		t.Helper()
		if err := c.Service.Store.Read(t.Context(), func(s store.Snapshot) error {
			return s.Get(t.Context(), "creatives", []store.Key{{Network: "main", ID: id}}, func(r *store.Record) error {
				record = *r
				record.Document = []byte(string(r.Document))
				return nil
			})
		}); err != nil {
			t.Fatal(err)
		}
		return record
	}
	before := read("found")
	if err := c.Service.Engine.Review(t.Context(), "creatives", "main", []string{"found"}); err != nil {
		t.Fatal(err)
	}
	if after := read("found"); !strings.Contains(string(after.Document), `"assets":["x"]`) || after.Revision != before.Revision+1 ||
		after.Version != before.Version || !after.UpdateTime.Equal(before.UpdateTime) || after.UpdateUser != c.Service.UserID {
		t.Errorf("%+v was reviewed to %+v", before, after)
	}
	// In a client's own write, it is part of the change.
	c.Service.Clock.Advance(time.Minute)
	before = read("written")
	c.Send("POST", "/api/v1/creatives/written?context=main", `{"name": "C2"}`, 200, "")
	if after := read("written"); !strings.Contains(string(after.Document), `"assets":["x"]`) || after.Revision != before.Revision+1 ||
		after.Version != before.Version+1 || !after.UpdateTime.After(before.UpdateTime) {
		t.Errorf("%+v was written to %+v", before, after)
	}
	c.Send("GET", "/api/v1/audit?context=main&type=creatives&id=written", "", 200, `{"totalCount": 2, "results": ["<some>", {"changes": ["<some>", {"field": "/assets"}, {"field": "/name"}]}]}`)
	c.Send("GET", "/api/v1/audit?context=main&type=creatives&id=found", "", 200, `{"totalCount": 1}`)
}
