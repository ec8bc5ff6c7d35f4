package service_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/integration/mongodb"
	"marquee/integration/service"
)

// The first change after the first picture is seen, also if the last operation before was one
// of another database.
func TestMongoCameraSeesTheFirstChange(t *testing.T) {
	db, err := service.ConnectDatabase(mongodb.URI(t))
	if err != nil {
		t.Fatal(err)
	}
	camera := &service.MongoCamera{DB: db}
	defer camera.Close()
	insert := func(database string) {
		t.Helper()
		if _, err := db.Client().Database(database).Collection("things").InsertOne(t.Context(), bson.D{}); err != nil {
			t.Fatal(err)
		}
	}
	picture := func() service.Picture {
		t.Helper()
		p, err := camera.Picture()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	other := db.Name() + "-other"
	defer db.Client().Database(other).Drop(t.Context())
	insert(db.Name())
	insert(other)
	before := picture()
	insert(db.Name())
	if picture() == before {
		t.Error("the first change is not seen")
	}
	before = picture()
	insert(other)
	if picture() != before {
		t.Error("a change of another database is taken for one")
	}
}
