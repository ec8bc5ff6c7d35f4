package mongodb_test

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"

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

func TestEachTestHasItsDatabase(t *testing.T) {
	first, second := parse(t, mongodb.URI(t)), ""
	t.Run("in which it writes", func(t *testing.T) {
		uri := mongodb.URI(t)
		second = parse(t, uri)
		client := connect(t, uri)
		err := transaction(t, client, func(ctx context.Context) error {
			_, err := client.Database(second).Collection("things").InsertOne(ctx, bson.D{})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	if third := parse(t, mongodb.URI(t)); first == "" || first == second || third == second || third == first {
		t.Errorf("%s, %s and %s", first, second, third)
	}
}

func parse(t *testing.T, uri string) (database string) {
	t.Helper()
	parsed, err := connstring.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Database
}
