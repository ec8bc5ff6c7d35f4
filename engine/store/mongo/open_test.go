package mongo

import (
	"net/url"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/store"
	"marquee/integration/mongodb"
)

// refusedOpen checks that a store cannot be opened, and the error.
func refusedOpen(t *testing.T, uri string, code store.Code, wanted ...string) {
	t.Helper()
	s, err := Open(t.Context(), Options{URI: uri})
	if err == nil {
		s.Close()
		t.Fatalf("%s was opened", uri)
	}
	if got, _ := store.CodeOf(err); got != code {
		t.Errorf("code %d, want %d: %v", got, code, err)
	}
	for _, want := range wanted {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not contain %q", err, want)
		}
	}
	for _, secret := range []string{"s3cret", "p%40ss", "p@ss"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%v contains the password", err)
		}
	}
}

func TestConnectionStrings(t *testing.T) {
	for name, c := range map[string]struct {
		uri  string
		code store.Code
		want string
	}{
		"another scheme":      {"http://user:s3cret@127.0.0.1/db", store.CodeNotUsable, "connection string cannot be read"},
		"a port of letters":   {"mongodb://user:s3cret@127.0.0.1:port/db", store.CodeNotUsable, "connection string cannot be read"},
		"an unescaped secret": {"mongodb://user:s3cret@x@127.0.0.1/db", store.CodeNotUsable, "percent-encoded"},
		"no database":         {"mongodb://user:s3cret@127.0.0.1/", store.CodeNotUsable, "names no database"},
		"a missing file":      {"mongodb://user:s3cret@127.0.0.1/db?tls=true&tlsCAFile=/nowhere/ca.pem", store.CodeNotUsable, "check the files"},
		"a wrong option":      {"mongodb://user:s3cret@127.0.0.1/db?readPreference=s3cret", store.CodeNotUsable, "option"},
		"nobody there":        {"mongodb://user:s3cret@127.0.0.1:1/db?serverSelectionTimeoutMS=100", store.CodeUnavailable, "check the hosts"},
	} {
		t.Run(name, func(t *testing.T) { refusedOpen(t, c.uri, c.code, c.want) })
	}
}

func TestDatabasesOfOthers(t *testing.T) {
	uri := mongodb.URI(t)
	s := openTest(t, Options{URI: uri})
	t.Run("a newer version", func(t *testing.T) {
		set := bson.D{{Key: "$set", Value: bson.D{{Key: "version", Value: 99}}}}
		if _, err := s.db.Collection(storeCollection).UpdateOne(t.Context(), bson.D{{Key: "_id", Value: metaID}}, set); err != nil {
			t.Fatal(err)
		}
		refusedOpen(t, uri, store.CodeNotUsable, "newer Marquee", "99", "restore a backup")
	})
	t.Run("another program", func(t *testing.T) {
		uri := mongodb.URI(t)
		other := openTest(t, Options{URI: uri})
		if err := other.db.Collection(storeCollection).Drop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := other.db.Collection("invoices").InsertOne(t.Context(), bson.D{}); err != nil {
			t.Fatal(err)
		}
		refusedOpen(t, uri, store.CodeNotUsable, "another program", "another database")
	})
	t.Run("another replica set", func(t *testing.T) {
		refusedOpen(t, strings.Replace(uri, "replicaSet=", "serverSelectionTimeoutMS=500&replicaSet=not-", 1), store.CodeUnavailable, "replicaSet")
	})
}

func TestStandalone(t *testing.T) {
	refusedOpen(t, mongodb.StandaloneURI(t), store.CodeNotUsable, "standalone", "--replSet", "rs.initiate()")
}

// TestAccess tests TLS, users and certificates of the connection string on a
// real server.
func TestAccess(t *testing.T) {
	set := mongodb.NewReplicaSet(t, 1, mongodb.WithTLS(), mongodb.WithAuth())
	user := func(name, role string) *url.Userinfo {
		command := bson.D{{Key: "createUser", Value: name}, {Key: "pwd", Value: "s3cret"},
			{Key: "roles", Value: bson.A{bson.D{{Key: "role", Value: role}, {Key: "db", Value: "ads"}}}}}
		if err := set.Client().Database("admin").RunCommand(t.Context(), command).Err(); err != nil {
			t.Fatal(err)
		}
		return url.UserPassword(name, "s3cret")
	}
	writer, reader := user("writer", "readWrite"), user("reader", "read")
	works := func(name, uri string) {
		t.Run(name, func(t *testing.T) {
			s := openTest(t, Options{URI: uri})
			if err := s.EnsureCollections(t.Context(), []store.Collection{{Name: "things"}}); err != nil {
				t.Fatal(err)
			}
			if err := s.Read(t.Context(), func(store.Snapshot) error { return nil }); err != nil {
				t.Error(err)
			}
			if _, _, err := s.Changes(t.Context(), "", 1); err != nil {
				t.Error(err)
			}
		})
	}
	works("a user who may do everything", set.URI("others"))
	works("a user with readWrite", set.URIAs(writer, "ads"))
	works("a certificate", set.X509URI("certified"))

	refuses := func(name, uri string, code store.Code, wanted ...string) {
		t.Run(name, func(t *testing.T) { refusedOpen(t, uri, code, wanted...) })
	}
	soon := "&serverSelectionTimeoutMS=500"
	refuses("a wrong password", set.URIAs(url.UserPassword("writer", "not s3cret"), "ads")+soon, store.CodeNotUsable, "user and password")
	refuses("a user who only reads", set.URIAs(reader, "ads"), store.CodeNotUsable, "readWrite")
	refuses("a user of another database", set.URIAs(writer, "others"), store.CodeNotUsable, "readWrite")
	refuses("nobody", set.URIAs(nil, "ads"), store.CodeNotUsable, "readWrite")
	without := func(option string) string {
		// Longer, as the error is that of the last attempt to connect, if there was one.
		uri, err := url.Parse(set.URIAs(writer, "ads") + "&serverSelectionTimeoutMS=3000")
		if err != nil {
			t.Fatal(err)
		}
		query := uri.Query()
		query.Del(option)
		uri.RawQuery = query.Encode()
		return uri.String()
	}
	refuses("an unknown authority", without("tlsCAFile"), store.CodeNotUsable, "TLS")
	refuses("no TLS", strings.Replace(without("tlsCAFile"), "tls=true", "tls=false", 1), store.CodeUnavailable, "tls")
	refuses("TLS where there is none", mongodb.URI(t)+"&tls=true"+soon, store.CodeUnavailable, "tls")
}
