package program

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/integration/process"
	"marquee/integration/service"
)

// damage is one thing that is wrong with a store, and what the check says of it.
type damage struct {
	name string
	sql  string
	// collection, filter and update do the same in MongoDB; without an update,
	// what the filter finds is deleted.
	collection     string
	filter, update bson.D
	says           []string
	// repaired reports whether --repair is the cure.
	repaired bool
}

func byIDs(id string) bson.D { return bson.D{{Key: "_id.id", Value: id}} }

func setting(name string, value any) bson.D {
	return bson.D{{Key: "$set", Value: bson.D{{Key: name, Value: value}}}}
}

var damages = []damage{
	{"Schema", `UPDATE r_orders SET doc=json_set(doc,'$.name',7) WHERE id='o'`,
		"orders", byIDs("o"), setting("document.name", int64(7)),
		[]string{`orders "o" of the network "main": it is invalid by its schema: /name`, "write the object again"}, false},
	{"Reference", `DELETE FROM r_advertisers WHERE id='a'`,
		"advertisers", byIDs("a"), nil,
		[]string{`orders "o" of the network "main": /advertiser refers to advertisers "a", which is not there`, "create the object"}, false},
	{"Terms", `DELETE FROM t_orders`,
		"orders", byIDs("o"), bson.D{{Key: "$unset", Value: bson.D{{Key: "terms", Value: 1}}}},
		[]string{`orders "o" of the network "main": searches do not find it by`, "run marquee check --repair"}, true},
	{"Claims", `DELETE FROM claims WHERE collection='users'`,
		"marquee.claims", bson.D{{Key: "_id.collection", Value: "users"}}, nil,
		[]string{": username is unique, and its value is not reserved", "run marquee check --repair"}, true},
	{"Version", `UPDATE r_orders SET version=9 WHERE id='o'`,
		"orders", byIDs("o"), setting("version", int64(9)),
		[]string{`orders "o" of the network "main": it has the version 9, and the history ends with 1`}, false},
	{"History", `DELETE FROM changes WHERE id='o'`,
		"marquee.changes", bson.D{{Key: "object", Value: "o"}}, nil,
		[]string{`orders "o" of the network "main": the history has nothing of it`}, false},
	{"PlainSecret", `UPDATE r_contextserviceconnections SET doc=json_set(doc,'$.apiKey','in the clear')`,
		"contextserviceconnections", byIDs("s"), setting("document.apiKey", "in the clear"),
		[]string{`contextserviceconnections "s" of the network "main": /apiKey is a secret, and is not encrypted`, "write the secret again"}, false},
	{"Bytes", `DELETE FROM blobs`,
		"marquee.blobs", bson.D{}, nil,
		[]string{`assets "f" of the network "main": the bytes of its file "a.html" are missing`, "upload the file again"}, false},
	{"Pieces", `DELETE FROM blob_pieces`,
		"marquee.blob_pieces", bson.D{}, nil,
		[]string{`assets "f" of the network "main": the bytes of its file "a.html" differ from the upload`, "upload the file again"}, false},
}

func (d damage) do(t *testing.T, uri string) {
	t.Helper()
	if path, ok := strings.CutPrefix(uri, "sqlite:"); ok {
		db, err := sqlite3.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Exec(d.sql), db.Close()); err != nil {
			t.Fatal(err)
		}
		return
	}
	db, err := service.ConnectDatabase(uri)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	defer db.Client().Disconnect(ctx)
	if d.update == nil {
		_, err = db.Collection(d.collection).DeleteMany(ctx, d.filter)
	} else {
		_, err = db.Collection(d.collection).UpdateMany(ctx, d.filter, d.update)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestCheck damages a store in each way that marquee check looks for: it names
// the object and a cure, and where the cure is a command, that works.
func TestCheck(t *testing.T) { service.EachStore(t, testCheck) }

func testCheck(t *testing.T, fresh service.NewStore) {
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			uri := fresh(t)
			p := process.Serve(t, uri)
			p.Creative()
			p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/advertisers/a?context=main", `{"name": "A"}`)
			p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/orders/o?context=main", `{"name": "An order", "advertiser": "a"}`)
			p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/contextserviceconnections/s?context=main",
				`{"name": "S", "contextService": "X", "username": "u", "apiKey": "k"}`)
			contentType, body := service.Form("a.html", []byte("<!doctype html>"))
			if a, err := p.Post("f", contentType, bytes.NewReader(body)); err != nil || a.Status != http.StatusCreated {
				t.Fatal(err, a)
			}
			p.Stop()
			check := func(code int, args ...string) (out, said string) {
				return process.Answer(t, code, nil, append([]string{"check", "--store", uri}, args...)...)
			}
			out, said := check(0)
			process.Wants(t, out, "nothing is wrong")
			process.Wants(t, said, "checking orders: 1")
			d.do(t, uri)
			out, said = check(1, "--quiet")
			process.Wants(t, out, d.says...)
			process.Wants(t, said, "fault")
			process.Shuns(t, said, "checking")
			process.Shuns(t, out, "in the clear", "nothing is wrong")
			if d.repaired {
				out, _ = check(0, "--repair")
				process.Wants(t, out, "nothing is wrong")
				out, _ = check(0)
				process.Wants(t, out, "nothing is wrong")
			}
		})
	}
}

// TestRepairBesideUnreadable repairs what can be repaired where another object
// cannot be read.
func TestRepairBesideUnreadable(t *testing.T) {
	t.Parallel()
	store := service.NewSQLite(t)
	process.Serve(t, store, "--demo").Stop()
	damage{sql: `UPDATE r_orders SET doc='[1]' WHERE seq=2; DELETE FROM t_orders; DELETE FROM t_sites`}.do(t, store)
	out, _ := process.Answer(t, 1, nil, "check", "--store", store, "--repair")
	process.Wants(t, out, "its document cannot be read")
	process.Shuns(t, out, "searches do not find it")
}

// TestCheckOfDamagedFile: damage of the file itself is found.
func TestCheckOfDamagedFile(t *testing.T) {
	t.Parallel()
	store := service.NewSQLite(t)
	process.Serve(t, store, "--demo").Stop()
	db, err := sqlite3.Open(service.SQLiteFile(store))
	if err != nil {
		t.Fatal(err)
	}
	root, _, err := db.Prepare("SELECT rootpage FROM sqlite_master WHERE name='k_coupons'")
	if err != nil {
		t.Fatal(err)
	}
	root.Step()
	page := root.ColumnInt64(0)
	if err := errors.Join(root.Close(), db.Close()); err != nil || page < 2 {
		t.Fatal(page, err)
	}
	file, err := os.OpenFile(service.SQLiteFile(store), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteAt(bytes.Repeat([]byte{0xee}, 4096), (page-1)*4096)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	out, _ := process.Answer(t, 1, nil, "check", "--store", store)
	process.Wants(t, out, service.SQLiteFile(store), "restore it from a backup")
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, store) || !strings.HasSuffix(line, ": restore it from a backup\n") {
			t.Errorf("the line %q lacks the file or the cure", line)
		}
	}
}
