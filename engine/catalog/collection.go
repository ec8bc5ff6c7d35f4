package catalog

import (
	"fmt"

	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// CollectionOf returns the collection of a type with the indexes that its schema
// names. Multi-valued properties are indexed by terms and need none.
func CollectionOf(t *schema.Type) (store.Collection, error) {
	collection := store.Collection{Name: t.Name}
	createTime := query.Field{System: query.CreateTime, Kind: query.Time}
	add := func(equal []query.Field, order query.Field) {
		collection.Indexes = append(collection.Indexes, store.Index{Equal: equal, Order: order})
	}
	for _, index := range t.Indexes {
		field, err := t.Field("index", index.Property)
		if err != nil {
			return collection, fmt.Errorf("%s: %w", t.File, err)
		}
		if field.Multiple() {
			continue
		}
		order := createTime
		if index.Order != "" {
			if order, err = t.Field("index", index.Order); err != nil {
				return collection, fmt.Errorf("%s: %w", t.File, err)
			}
		}
		add([]query.Field{field}, order)
	}
	for _, name := range t.Sort {
		field, err := t.SortField(name)
		if err != nil {
			return collection, fmt.Errorf("%s: %w", t.File, err)
		}
		add(nil, field)
	}
	return collection, nil
}
