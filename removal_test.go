package marquee_test

import (
	"context"
	"testing"
	"testing/fstest"

	"marquee"
	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/store"
	"marquee/integration/marqueetest"
)

var (
	copyMessages message.Set
	keptCopy     = copyMessages.Invalid("error.copy.kept", "{{objectId}} is kept.")
)

// Hooks see an object before it is removed. They can refuse that, and change what refers
// to the object.
func TestHooksOfRemovals(t *testing.T) {
	typed := func(path, more, properties string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "T",
			"x-resource": {"path": "` + path + `"` + more + `}, "type": "object", "properties": {` + properties + `}}`)}
	}
	end := func(ctx context.Context, w *engine.Writing, removed []*engine.Change) error {
		loans, _ := w.Type("loans")
		for _, c := range removed {
			if c.After != nil || !c.Removed() {
				t.Errorf("%v is removed: %t", c.After, c.Removed())
			}
			if c.Before["name"] == "kept" {
				w.Add(c.Fault(keptCopy, "/name", nil))
				continue
			}
			field, err := loans.Field("index", "copy")
			if err != nil {
				return err
			}
			refers := query.Compare{Field: field, Op: query.Equal, Value: c.ID}
			err = w.Find(loans, c.Context, refers, 0, func(r *store.Record) error {
				w.Upsert(loans, c.Context, r.ID, func(object map[string]any) { delete(object, "copy") })
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	s := marqueetest.StartWith(t, marquee.Options{Application: marquee.Application{
		Messages: &copyMessages,
		Schemas: fstest.MapFS{
			"copies.json": typed("copies", `, "methods": ["GET", "HEAD", "POST", "PUT", "DELETE"]`, `"name": {"type": "string"}`),
			"loans.json":  typed("loans", "", `"copy": {"x-ref": "copies"}`),
		},
		Hooks: map[string]engine.Hooks{"copies": {BeforeRemove: end}},
	}})
	s.Do("POST", "/api/v1/copies?context=main", `[{"id": "a"}, {"id": "b", "name": "kept"}]`, 200)
	s.Do("POST", "/api/v1/loans?context=main", `[{"id": "x", "copy": "a"}, {"id": "y", "copy": "b"}]`, 200)
	s.Do("DELETE", "/api/v1/copies/b?context=main", "", 422)
	s.Do("DELETE", "/api/v1/copies/a?context=main", "", 204)
	s.Do("GET", "/api/v1/copies/a?context=main", "", 404)
	if loan := s.Do("GET", "/api/v1/loans/x?context=main", "", 200); loan["copy"] != nil {
		t.Errorf("the loan is %v", loan)
	}
}
