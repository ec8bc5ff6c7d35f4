package mongodb

import (
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

func TestContainer(t *testing.T) {
	server, err := startContainer()
	if errors.Is(err, errNone) && !required("containers") {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer server.guardian.release()
	client, err := mongo.Connect(options.Client().ApplyURI(server.uri))
	if err != nil {
		t.Fatal(err)
	}
	defer leave(client)
	session, err := client.StartSession()
	if err != nil {
		t.Fatal(err)
	}
	defer session.EndSession(t.Context())
	if err := session.StartTransaction(); err != nil {
		t.Fatal(err)
	}
	ctx := mongo.NewSessionContext(t.Context(), session)
	if _, err := client.Database("x").Collection("things").InsertOne(ctx, map[string]int{"_id": 1}); err != nil {
		t.Fatal(err)
	}
	if err := session.CommitTransaction(ctx); err != nil {
		t.Fatal(err)
	}
}
