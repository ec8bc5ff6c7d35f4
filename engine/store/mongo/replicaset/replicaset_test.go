package replicaset

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"marquee/integration/mongodb"
)

// initiate calls Init for a server with a name for its set.
func initiate(t *testing.T, uri, name string) (Set, error) {
	t.Helper()
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	member, _, _ := strings.Cut(u.Host, ",")
	options := u.Query()
	options.Set("replicaSet", name)
	u.RawQuery = options.Encode()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return Init(ctx, Options{URI: u.String(), Member: member})
}

func TestInitOfASetThatExists(t *testing.T) {
	set, err := initiate(t, mongodb.URI(t), "rs0")
	if err != nil || !set.Existed || set.Name != "rs0" || len(set.Members) == 0 {
		t.Errorf("%+v, %v", set, err)
	}
	if set, err := initiate(t, mongodb.URI(t), "other"); err == nil || !strings.Contains(err.Error(), "belongs to the replica set rs0, not other") {
		t.Errorf("%+v, %v", set, err)
	}
}

func TestInitOfAStandaloneServer(t *testing.T) {
	if set, err := initiate(t, mongodb.StandaloneURI(t), "rs0"); err == nil || !strings.Contains(err.Error(), "start its members with --replSet rs0") {
		t.Errorf("%+v, %v", set, err)
	}
}

func TestInitRefusesURIs(t *testing.T) {
	for uri, want := range map[string]error{
		"mongodb://u:s3cret@s3cret@host/db?replicaSet=rs0": ErrURI,
		"sqlite:marquee.db":                       ErrURI,
		"mongodb://u:s3cret@host/db":              ErrNoSet,
		"mongodb://u:s3cret@host/?replicaSet=rs0": ErrNoDatabase,
	} {
		if _, err := Init(t.Context(), Options{URI: uri}); !errors.Is(err, want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

// TestInitOfUnreachableMembers: what cannot become a set is reported in words of this program.
func TestInitOfUnreachableMembers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	u, err := url.Parse(mongodb.URI(t))
	if err != nil {
		t.Fatal(err)
	}
	member, _, _ := strings.Cut(u.Host, ",")
	_, err = Init(ctx, Options{URI: "mongodb://127.0.0.1:1/db?replicaSet=rs0", Member: member})
	if err == nil || !strings.Contains(err.Error(), "no primary can be reached at 127.0.0.1:1") || strings.Contains(err.Error(), "selection") {
		t.Error(err)
	}
}
