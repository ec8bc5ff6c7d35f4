package catalog_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"marquee/engine/catalog"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// A schema decides what the objects of its type are indexed by. A write adds and drops
// the terms that have changed, and claims the unique values.
func ExampleIndexing() {
	registry, err := schema.Load(schema.Source{Name: "schemas", FS: fstest.MapFS{"beds.json": {Data: []byte(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title": "Bed",
		"x-resource": {"path": "beds", "search": ["name"], "index": ["tags"], "unique": ["code"]},
		"type": "object",
		"properties": {
			"name": {"type": "string"},
			"code": {"type": "string"},
			"tags": {"type": "array", "items": {"type": "string"}}
		}
	}`)}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	beds, _ := registry.Type("beds")
	indexing := catalog.IndexingOf(beds)
	nameOf := map[string]string{beds.SearchKey(): "word", "tags": "tag"}

	before := map[string]any{"name": "By the window", "tags": []any{"quiet"}}
	after := map[string]any{"name": "By the door", "tags": []any{"quiet", "new"}, "code": "D1"}
	add, drop := indexing.DiffTerms(after, before)
	for _, term := range add {
		fmt.Println("add", nameOf[term.Key], term.Value)
	}
	for _, term := range drop {
		fmt.Println("drop", nameOf[term.Key], term.Value)
	}
	claims, err := indexing.Claims(context.Background(), indexing.Claimed(), store.Place{Collection: "beds", Network: "main"}, after, "ACTIVE")
	fmt.Println(claims["code"], err)
	// Unordered output:
	// add word door
	// add tag new
	// drop word window
	// {beds main code "D1"} <nil>
}
