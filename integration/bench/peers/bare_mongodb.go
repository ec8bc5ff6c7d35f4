package main

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
)

// bareMongoDB has the write concern of the database, which is that of a majority.
type bareMongoDB struct {
	client  *mongo.Client
	items   *mongo.Collection
	parents *mongo.Collection
}

func openBareMongoDB(ctx context.Context, uri string) (*bareMongoDB, error) {
	parsed, err := connstring.ParseAndValidate(uri)
	if err != nil {
		return nil, err
	}
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		return nil, err
	}
	database := client.Database(parsed.Database)
	m := &bareMongoDB{client: client, items: database.Collection("items"), parents: database.Collection("folders")}
	index := mongo.IndexModel{Keys: bson.D{{Key: "folder", Value: 1}, {Key: "name", Value: 1}}}
	_, err = m.items.Indexes().CreateOne(ctx, index)
	return m, err
}

func (m *bareMongoDB) get(ctx context.Context, id string) (r record, err error) {
	if err := m.items.FindOne(ctx, bson.D{{Key: "_id", Value: id}}).Decode(&r); err != nil {
		return r, err
	}
	var folder record
	err = m.parents.FindOne(ctx, bson.D{{Key: "_id", Value: r.Folder}}).Decode(&folder)
	r.FolderName = folder.Name
	return r, err
}

func (m *bareMongoDB) list(ctx context.Context, folder string) (page []record, total int64, err error) {
	filter := bson.D{{Key: "folder", Value: folder}}
	sort := bson.D{{Key: "name", Value: 1}}
	cursor, err := m.items.Find(ctx, filter, options.Find().SetSort(sort).SetLimit(100).SetBatchSize(101))
	if err != nil {
		return nil, 0, err
	}
	if err := cursor.All(ctx, &page); err != nil {
		return nil, 0, err
	}
	names := bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: bson.A{folder}}}}}
	if cursor, err = m.parents.Find(ctx, names); err != nil {
		return nil, 0, err
	}
	var parents []record
	if err := cursor.All(ctx, &parents); err != nil {
		return nil, 0, err
	}
	for i := range page {
		for _, p := range parents {
			page[i].FolderName = p.Name
		}
	}
	total, err = m.items.CountDocuments(ctx, filter)
	return page, total, err
}

func (m *bareMongoDB) create(ctx context.Context, records []record) error {
	return insert(ctx, m.items, records)
}

func (m *bareMongoDB) folders(ctx context.Context, records []record) error {
	return insert(ctx, m.parents, records)
}

func insert(ctx context.Context, collection *mongo.Collection, records []record) error {
	if len(records) == 1 {
		_, err := collection.InsertOne(ctx, records[0])
		return err
	}
	_, err := collection.InsertMany(ctx, records)
	return err
}
