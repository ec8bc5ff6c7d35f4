package mongodb_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"marquee/integration/mongodb"
)

func connect(t *testing.T, uri string) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Disconnect(context.Background()) })
	return client
}

func TestSharedRunsTransactions(t *testing.T) {
	start := time.Now()
	uri := mongodb.URI(t)
	t.Log(uri, time.Since(start))
	client := connect(t, uri)
	session, err := client.StartSession()
	if err != nil {
		t.Fatal(err)
	}
	defer session.EndSession(t.Context())
	things := client.Database("x").Collection("things")
	if _, err := session.WithTransaction(t.Context(), func(ctx context.Context) (any, error) {
		return things.InsertOne(ctx, bson.D{{Key: "_id", Value: 1}})
	}); err != nil {
		t.Fatal(err)
	}
}

func TestSetOfThreeElects(t *testing.T) {
	start := time.Now()
	set := mongodb.NewReplicaSet(t, 3)
	t.Log(set.URI("x"), time.Since(start))
	for range 3 {
		first := set.Primary()
		start = time.Now()
		set.Kill(first)
		second := set.Primary()
		t.Log(first, second, time.Since(start))
		start = time.Now()
		set.Start(first)
		t.Log("back", time.Since(start))
	}
}
