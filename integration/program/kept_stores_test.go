package program

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/integration/process"
	"marquee/integration/service"
)

// keptStores has the stores that programs of earlier formats and of each release have written:
// files of SQLite with their keys, and the documents of databases. TestKeepStore adds those of
// this version.
const keptStores = "../testdata/stores"

const keptPassword = "correct horse, battery & staple"

// TestKeptStores: stores of all earlier formats are opened, have what was written, can be
// written, and have no faults then. So are copies of the files.
func TestKeptStores(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	files, err := filepath.Glob(keptStores + "/*.gz")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d stores: %v", len(files), err)
	}
	databases := service.Reusing(t)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".gz")
		t.Run(name, func(t *testing.T) {
			content := unpacked(t, file)
			var uri string
			if of, isFile := strings.CutSuffix(name, ".db"); isFile {
				key, err := os.ReadFile(filepath.Join(keptStores, of+".key"))
				if err != nil {
					t.Fatal(err)
				}
				folder := t.TempDir()
				process.File(t, filepath.Join(folder, "marquee.key"), string(key))
				uri = "sqlite:" + process.File(t, filepath.Join(folder, "marquee.db"), string(content))
				copied := "sqlite:" + filepath.Join(t.TempDir(), "marquee.db")
				process.Run(t, nil, "copy", "--from", uri, "--to", copied)
				opensKept(t, copied)
			} else {
				uri = databases(t)
				loadDatabase(t, uri, content)
			}
			opensKept(t, uri)
		})
	}
}

// writeKept writes what is kept of a new store.
func writeKept(p *process.Process) {
	p.SignIn(service.Admin, keptPassword)
	for _, write := range [][2]string{
		{"advertisers", `{"id": "harbour", "name": "Harbour Ferries"}`},
		{"orders", `{"id": "spring", "name": "Spring", "advertiser": "harbour"}`},
		{"orders/spring", `{"name": "Spring sailings"}`},
		{"sites", `{"id": "news", "name": "News"}`},
		{"orders", `[{"id": "summer", "name": "Summer", "advertiser": "harbour"}, {"id": "autumn", "name": "Autumn", "advertiser": "harbour"}]`},
	} {
		p.Ask(http.StatusOK, http.MethodPost, "/api/v1/"+write[0]+"?context=main", write[1])
	}
}

// opensKept serves a store that writeKept has written.
func opensKept(t *testing.T, uri string) {
	t.Helper()
	p := process.ServeWith(t, uri, nil)
	p.SignIn(service.Admin, keptPassword)
	get := func(path string, wants ...string) {
		t.Helper()
		process.Wants(t, string(p.Ask(http.StatusOK, http.MethodGet, "/api/v1/"+path, "").Body), wants...)
	}
	get("orders?context=main&q=sailings", `"totalCount":1`, `"id":"spring"`, `"Harbour Ferries"`)
	get("orders?context=main&orderBy=name&fields=id", `"totalCount":3`)
	get("audit?context=main&type=orders&id=spring", `"totalCount":2`, `"Spring sailings"`)
	p.Ask(http.StatusOK, http.MethodPost, "/api/v1/orders/spring?context=main", `{"name": "Late departures"}`)
	p.Ask(http.StatusOK, http.MethodPost, "/api/v1/orders?context=main", `{"id": "winter", "name": "Departures in winter", "advertiser": "harbour"}`)
	get("orders?context=main&q=departures", `"totalCount":2`)
	get("orders?context=main&q=sailings", `"totalCount":0`)
	get("audit?context=main&type=orders&id=spring", `"totalCount":3`)
	p.Stop()
	process.Run(t, nil, "check", "--store", uri)
}

// TestKeepStore keeps the stores that this version writes, under the name of MARQUEE_KEEP_STORE.
// MARQUEE_KEEP_PROGRAM is the program of another version.
func TestKeepStore(t *testing.T) {
	name := os.Getenv("MARQUEE_KEEP_STORE")
	if name == "" {
		t.Skip("keeps the stores of a release: see docs/contributing/releasing.md")
	}
	service.EachNoStore(t, func(t *testing.T, fresh service.NewStore) {
		uri := fresh(t)
		cmd := process.Command(t, []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + keptPassword}, "serve", "--addr", "127.0.0.1:0", "--log-format", "json", "--store", uri)
		if other := os.Getenv("MARQUEE_KEEP_PROGRAM"); other != "" {
			cmd.Path = other
		}
		p := process.Launch(t, cmd)
		p.Listens()
		writeKept(p)
		p.Stop()
		if file, isFile := strings.CutPrefix(uri, "sqlite:"); isFile {
			keep(t, "sqlite-"+name+".db.gz", read(t, file))
			process.File(t, filepath.Join(keptStores, "sqlite-"+name+".key"), string(read(t, filepath.Join(filepath.Dir(file), "marquee.key"))))
			return
		}
		keep(t, "mongodb-"+name+".gz", dumpDatabase(t, uri))
	})
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func keep(t *testing.T, name string, content []byte) {
	t.Helper()
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	process.File(t, filepath.Join(keptStores, name), packed.String())
}

func unpacked(t *testing.T, file string) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(read(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// keptDocument is a line of a database that is kept: a document as extended JSON.
type keptDocument struct {
	Collection string
	Document   json.RawMessage
}

func dumpDatabase(t *testing.T, uri string) []byte {
	t.Helper()
	db, err := service.ConnectDatabase(uri)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Client().Disconnect(t.Context())
	names, err := db.ListCollectionNames(t.Context(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	for _, name := range names {
		cursor, err := db.Collection(name).Find(t.Context(), bson.D{})
		if err != nil {
			t.Fatal(err)
		}
		for cursor.Next(t.Context()) {
			document, err := bson.MarshalExtJSON(cursor.Current, true, false)
			if err != nil {
				t.Fatal(err)
			}
			line, err := json.Marshal(keptDocument{name, document})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&lines, "%s\n", line)
		}
		if err := cursor.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return lines.Bytes()
}

func loadDatabase(t *testing.T, uri string, content []byte) {
	t.Helper()
	db, err := service.ConnectDatabase(uri)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Client().Disconnect(t.Context())
	if err := db.Drop(t.Context()); err != nil { // which has what says that it is a store of this version
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var kept keptDocument
		if err := json.Unmarshal(lines.Bytes(), &kept); err != nil {
			t.Fatal(err)
		}
		var document bson.D
		if err := bson.UnmarshalExtJSON(kept.Document, true, &document); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Collection(kept.Collection).InsertOne(t.Context(), document); err != nil {
			t.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}
