package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/store"
	"marquee/integration/service"
)

// Number returns the number in a variable of the environment, or another one if it is
// not set.
func Number(tb testing.TB, variable string, other int) int {
	tb.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return other
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		tb.Fatalf("%s: %v", variable, err)
	}
	return n
}

// CrashStore is a new store whose processes' transactions can be told from
// those of others.
func CrashStore(t *testing.T, fresh service.NewStore) string {
	t.Helper()
	uri := fresh(t)
	if !strings.HasPrefix(uri, "mongodb://") {
		return uri
	}
	separator := "?"
	if strings.Contains(uri, "?") {
		separator = "&"
	}
	return fmt.Sprintf("%s%sappName=crash-%d", uri, separator, time.Now().UnixNano())
}

// EndTransactions ends what a killed process has left open in a database.
// MongoDB would do so a minute later, and until then nobody else could write
// what it had written.
func EndTransactions(t *testing.T, uri string) {
	t.Helper()
	_, name, found := strings.Cut(uri, "appName=")
	if !found {
		return
	}
	db, err := service.ConnectDatabase(strings.Replace(uri, name, "the-test", 1))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), service.Patience)
	defer cancel()
	defer db.Client().Disconnect(ctx)
	admin := db.Client().Database("admin")
	for {
		cursor, err := admin.Aggregate(ctx, bson.A{
			bson.D{{Key: "$currentOp", Value: bson.D{{Key: "allUsers", Value: true}, {Key: "idleSessions", Value: true}}}},
			bson.D{{Key: "$match", Value: bson.D{{Key: "appName", Value: name}, {Key: "transaction", Value: bson.D{{Key: "$exists", Value: true}}}}}}})
		if err != nil {
			t.Fatal(err)
		}
		var open []struct{ LSID struct{ ID bson.Binary } }
		if err := cursor.All(ctx, &open); err != nil {
			t.Fatal(err)
		}
		if len(open) == 0 {
			return
		}
		sessions := bson.A{}
		for _, session := range open {
			sessions = append(sessions, bson.D{{Key: "id", Value: session.LSID.ID}})
		}
		if err := admin.RunCommand(ctx, bson.D{{Key: "killSessions", Value: sessions}}).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// EndLease ends the lease under which a killed process changed what is stored, as it ends after
// fifteen seconds without a sign of life. Each test of kills waits for that once.
func EndLease(t *testing.T, uri string) {
	t.Helper()
	if !strings.HasPrefix(uri, "mongodb://") {
		return
	}
	s, err := service.OpenStore(t, uri)
	if err == nil {
		err = errors.Join(service.WriteLease(s, ""), s.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// CrashHistory counts the changes of each record, by revision.
func CrashHistory(t *testing.T, s store.Store) map[string]map[int64]int {
	history := map[string]map[int64]int{}
	for after := ""; ; {
		changes, next, err := s.Changes(context.Background(), after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			key := service.CrashKey(c.Collection, c.Network, c.ID)
			if history[key] == nil {
				history[key] = map[int64]int{}
			}
			if history[key][c.Revision]++; history[key][c.Revision] > 1 {
				t.Errorf("revision %d of %s is among the changes twice", c.Revision, key)
			}
		}
		if after = next; len(changes) == 0 {
			return history
		}
	}
}
