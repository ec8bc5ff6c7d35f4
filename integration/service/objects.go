package service

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine"
	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/store"
	"marquee/integration/mongodb"
	"marquee/resources/asset/assettest"
)

// ArticleSearch is the path of a search of articles, which a sentence follows.
const ArticleSearch = "/api/v1/targetingquery/articles2?context=main&pageSize=1000&thresholdScore=0.01&sentence="

// PutArticle writes an article, and checks the status of the answer.
func (s *Service) PutArticle(token, id, members string, status int) {
	s.TB.Helper()
	if a := s.Ask(token, http.MethodPost, "/api/v1/articles/"+id+"?context=main", members, nil); a.Status != status {
		s.TB.Errorf("%s: want %d, got %d %s", id, status, a.Status, a.Body)
	}
}

// Ferries are types with references, for tests of how they are stored.
var Ferries = fstest.MapFS{
	"lines.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Line", "x-resource": {"path": "lines", "label": "name"},
		"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}`)},
	"ports.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Port", "x-resource": {"path": "ports", "label": "name"},
		"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}`)},
	"ferries.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Ferry", "x-resource": {"path": "ferries", "label": "name", "unique": ["callSign"]},
		"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "callSign": {"type": "string"}, "decks": {"type": "integer", "minimum": 1},
		"line": {"type": "string", "x-ref": "lines"}, "home": {"type": "string", "x-ref": "ports"}, "sister": {"type": "string", "x-ref": "ferries"}}}`)},
}

// ArrayOf is an array of n objects.
func ArrayOf(n int, object func(i int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(object(i))
	}
	return "[" + b.String() + "]"
}

// Failing sets the fault point of commands, or ends it.
func Failing(t *testing.T, set *mongodb.ReplicaSet, command string, data bson.D) {
	t.Helper()
	mode := "off"
	if data != nil {
		mode = "alwaysOn"
	}
	data = append(bson.D{{Key: "failCommands", Value: bson.A{command}}, {Key: "appName", Value: "marquee"}}, data...)
	err := set.Client().Database("admin").RunCommand(context.Background(),
		bson.D{{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: mode}, {Key: "data", Value: data}}).Err()
	if err != nil {
		t.Fatal(err)
	}
}

// TestSeed is MARQUEE_SEED, or else a new one, which is logged.
func TestSeed(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("MARQUEE_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("MARQUEE_SEED=%d", seed)
	return seed
}

// Well is a line item that has all it needs but a creative; its order is o, its
// tier t.
func Well(id, more string) string {
	return fmt.Sprintf(`{"id": %q, "name": "L", "order": "o", "tier": "t", "objectives": {"CLICK": 1}, "bidSpecification": {"cpm": {"amount": 1, "currency": "EUR"}}%s}`, id, more)
}

// LineItemParts makes what the line items of a test refer to.
func (c *Conversation) LineItemParts() {
	c.Helper()
	c.Send("POST", "/api/v1/batch?context=main", `{"operations": [{"type": "orders", "object": {"id": "o", "name": "O"}},
		{"type": "tiers", "object": {"id": "t", "name": "T"}}, {"type": "sites", "object": {"id": "s", "name": "S"}},
		{"type": "layouts", "object": {"id": "plain", "name": "Plain", "html": "<b></b>"}}]}`, 200, "")
}

// Creative is one that can be shown.
func Creative(id, lineItem string) string {
	return fmt.Sprintf(`{"id": %q, "name": "C", "lineItem": %q, "layout": "plain", "width": 1, "height": 1, "verifiedSafe": true}`, id, lineItem)
}

// CrashKey names an object in maps of what is stored.
func CrashKey(kind, network, id string) string { return kind + "/" + network + "/" + id }

// RowsOfFeed are all changes, in their order, by object.
func (c *Conversation) RowsOfFeed() map[string][]store.Change {
	c.Helper()
	rows := map[string][]store.Change{}
	for after := ""; ; {
		changes, next, err := c.Service.Store.Changes(context.Background(), after, 7)
		if err != nil {
			c.Fatal(err)
		}
		for _, change := range changes {
			key := CrashKey(change.Collection, change.Network, change.ID)
			rows[key] = append(rows[key], change)
		}
		if after = next; len(changes) == 0 {
			return rows
		}
	}
}

// TypeWith is a folder with one type that has these properties.
func TypeWith(path, resource, properties string) fs.FS {
	return fstest.MapFS{path + ".json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "T",
		"x-resource": {"path": "` + path + `"` + resource + `}, "type": "object", "properties": {` + properties + `}}`)}}
}

// WriteLease gives the lease under which servers of a database change schemas to another server,
// or to none if its name is "".
func WriteLease(s store.Store, owner string) error {
	ctx := context.Background()
	return s.Write(ctx, func(tx store.Tx) error {
		was := store.Record{Key: catalog.LeaseKey}
		err := tx.Get(ctx, catalog.TypeCollection, []store.Key{was.Key}, func(r *store.Record) error {
			was = *r.Clone()
			return nil
		})
		if err != nil {
			return err
		}
		return tx.Put(ctx, catalog.TypeCollection, []store.Write{store.InternalWrite(was, "ACTIVE", fmt.Appendf(nil, `{"owner":%q}`, owner), time.Now())})
	})
}

// AtRest is all that a store keeps.
func AtRest(t *testing.T, uri string) []byte {
	t.Helper()
	var all []byte
	if path, ok := strings.CutPrefix(uri, "sqlite:"); ok {
		files, err := filepath.Glob(path + "*")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
				continue // a socket, or a file that has just gone
			}
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, content...)
		}
		return all
	}
	ctx := context.Background()
	db, err := ConnectDatabase(uri)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Client().Disconnect(ctx)
	names, err := db.ListCollectionNames(ctx, bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		cursor, err := db.Collection(name).Find(ctx, bson.D{})
		if err != nil {
			t.Fatal(err)
		}
		for cursor.Next(ctx) {
			all = append(all, cursor.Current...)
		}
		if err := cursor.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// Listing is a JSON array of n objects.
func Listing(n int, object func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteByte(',')
		b.WriteString(object(i))
	}
	return "[" + b.String()[1:] + "]"
}

// IDsOf returns the ids of the objects of a page.
func IDsOf(page map[string]any) (ids []string) {
	results, _ := page["results"].([]any)
	for _, result := range results {
		object, _ := result.(map[string]any)
		id, _ := object["id"].(string)
		ids = append(ids, id)
	}
	return ids
}

// Placed is one write of what makes a world.
type Placed struct {
	Kind, ID, Creator string
	Posted            map[string]any
}

// Body is what is posted: roles are those in main.
func (p Placed) Body() map[string]any {
	body := maps.Clone(p.Posted)
	if roles, ok := body["roles"].([]string); ok {
		held := []any{}
		for _, role := range roles {
			held = append(held, map[string]any{"role": role})
		}
		delete(body, "roles")
		entries := []any{map[string]any{"network": Network, "roles": held}}
		if elsewhere, _ := body["elsewhere"].(string); elsewhere != "" {
			entries = append(entries, map[string]any{"network": elsewhere, "roles": []any{map[string]any{"role": "r"}}})
		}
		delete(body, "elsewhere")
		body["userRoles"] = map[string]any{"rolesByNetwork": entries}
		if body["username"] != nil {
			body["password"] = "a password to test with"
		}
	}
	body["id"] = p.ID
	return body
}

// Write stores what a world is made of, as its creators do.
func (s *Service) Write(token string, made ...Placed) {
	s.TB.Helper()
	for _, p := range made {
		if p.Kind == "assets" {
			contentType, body := Form(p.ID+".png", assettest.PNG(3, 3))
			header := http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {contentType}}
			a, err := s.Send(http.MethodPut, p.Path(), header, bytes.NewReader(body))
			if err != nil || a.Status != http.StatusCreated {
				s.TB.Fatalf("%s: %v %d %s", p.ID, err, a.Status, a.Body)
			}
			continue
		}
		t, err := s.Engine.Type(p.Kind)
		if err != nil {
			s.TB.Fatal(err)
		}
		object, err := document.DecodeObject([]byte(JSONText(p.Body())), document.Limits{})
		if err != nil {
			s.TB.Fatal(err)
		}
		_, err = s.Engine.Write(context.Background(), &engine.Caller{System: true, User: p.Creator},
			engine.Batch{Network: Network, Operations: []engine.Operation{{Type: t, Object: object}}})
		if err != nil {
			s.TB.Fatalf("%s %s: %v", p.Kind, JSONText(p.Body()), err)
		}
	}
}

// JSONText returns a value as JSON.
func JSONText(value any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Path is that of an object; assets are below their creatives.
func (p Placed) Path() string { return PathOf(p.Kind, p.ID, fmt.Sprint(p.Posted["creative"])) }

// PathOf returns the path of an object, with its creative if it is an asset.
func PathOf(kind, id, creative string) string {
	if kind == "assets" {
		id = creative + "/" + id
	}
	return "/api/v1/" + kind + "/" + id + "?context=main"
}
