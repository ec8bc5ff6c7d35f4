package mongodb_test

import (
	"context"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"marquee/integration/mongodb"
)

func TestAPrimaryIsLostAndComesBack(t *testing.T) {
	t.Parallel()
	set := mongodb.NewReplicaSet(t, 3)
	things := connect(t, set.URI("x")+"&heartbeatFrequencyMS=500&timeoutMS=1000").Database("x").Collection("things",
		options.Collection().SetWriteConcern(writeconcern.Majority()))
	n := 0
	insert := func() {
		t.Helper()
		n++
		// What is sent to a paused server is not answered, so it is sent again.
		for deadline := time.Now().Add(30 * time.Second); ; <-time.After(20 * time.Millisecond) {
			_, err := things.InsertOne(t.Context(), bson.D{{Key: "_id", Value: n}})
			if err == nil || mongo.IsDuplicateKeyError(err) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatal(err)
			}
		}
	}
	lose := func(how string, loss, end func(int)) {
		t.Helper()
		first, began := set.Primary(), time.Now()
		loss(first)
		second := set.Primary()
		t.Logf("%s: from %d to %d in %v", how, first, second, time.Since(began))
		if second == first {
			t.Errorf("%s: %d is primary still", how, first)
		}
		insert()
		end(first)
	}
	insert()
	lose("killed", set.Kill, set.Start)
	lose("paused", set.Pause, set.Resume)
	lose("stepped down", func(int) { set.StepDown() }, func(int) {})
	if count, err := set.Client().Database("x").Collection("things").CountDocuments(t.Context(), bson.D{}); err != nil || count != int64(n) {
		t.Errorf("%d of %d things, %v", count, n, err)
	}
}

func TestLentSets(t *testing.T) {
	var uris []string
	for range 2 {
		t.Run("", func(t *testing.T) {
			set := mongodb.Lend(t)
			uris = append(uris, set.URI("x"))
			things := set.Client().Database("x").Collection("things")
			if _, err := things.InsertOne(t.Context(), bson.D{}); err != nil {
				t.Errorf("another test has left the fail point on: %v", err)
			}
			err := set.Client().Database("admin").RunCommand(t.Context(), bson.D{
				{Key: "configureFailPoint", Value: "failCommand"},
				{Key: "mode", Value: "alwaysOn"},
				{Key: "data", Value: bson.D{{Key: "failCommands", Value: bson.A{"insert"}}, {Key: "errorCode", Value: 121}}},
			}).Err()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := things.InsertOne(t.Context(), bson.D{}); err == nil || !strings.Contains(err.Error(), "121") && !strings.Contains(err.Error(), "DocumentValidationFailure") {
				t.Errorf("insert: %v", err)
			}
		})
	}
	if len(uris) == 2 && uris[0] != uris[1] {
		t.Errorf("two tests, one after the other, have the sets %q", uris)
	}
}

func TestTLSAndUsers(t *testing.T) {
	t.Parallel()
	set := mongodb.NewReplicaSet(t, 1, mongodb.WithTLS(), mongodb.WithAuth())
	list := func(uri string) error {
		_, err := connect(t, uri).Database("x").ListCollectionNames(t.Context(), bson.D{})
		return err
	}
	for name, uri := range map[string]string{"password": set.URI("x"), "certificate": set.X509URI("x")} {
		if err := list(uri); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, uri := range map[string]string{
		"nobody":         set.URIAs(nil, "x"),
		"wrong password": set.URIAs(url.UserPassword("admin", "x"), "x"),
		"no TLS":         regexp.MustCompile(`&tls\w*=[^&]*`).ReplaceAllString(set.URI("x"), ""),
		"unknown issuer": strings.Replace(set.URI("x"), "tlsCAFile", "x", 1),
	} {
		if err := list(uri + "&serverSelectionTimeoutMS=500"); err == nil {
			t.Errorf("%s: let in", name)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
}

func TestStandaloneIsNoReplicaSet(t *testing.T) {
	t.Parallel()
	var said struct {
		SetName string `bson:"setName"`
	}
	client := connect(t, mongodb.StandaloneURI(t))
	if err := client.Database("admin").RunCommand(t.Context(), bson.D{{Key: "hello", Value: 1}}).Decode(&said); err != nil || said.SetName != "" {
		t.Errorf("%+v %v", said, err)
	}
}

func transaction(t *testing.T, client *mongo.Client, run func(context.Context) error) error {
	session, err := client.StartSession()
	if err != nil {
		return err
	}
	defer session.EndSession(t.Context())
	_, err = session.WithTransaction(t.Context(), func(ctx context.Context) (any, error) { return nil, run(ctx) })
	return err
}
