package review_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing/fstest"
	"time"

	"marquee"
	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/review"
)

// A hook derives a value from the time. Nobody writes the object when the time has
// passed; a review does.
func ExampleReviewer() {
	folder, err := os.MkdirTemp("", "marquee-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	overdue := engine.Each(func(_ context.Context, _ *engine.Writing, c *engine.Change) error {
		due, _ := c.After["due"].(string)
		c.After["overdue"] = due <= document.FormatTime(now)
		return nil
	})
	server, err := marquee.New(marquee.Options{Folder: folder, Now: func() time.Time { return now }, Application: marquee.Application{
		Hooks: map[string]engine.Hooks{"tasks": {BeforeValidate: overdue}},
		Schemas: fstest.MapFS{"tasks.json": {Data: []byte(`{
			"$schema": "https://json-schema.org/draft/2020-12/schema",
			"title": "Task",
			"x-resource": {"path": "tasks", "sort": ["due"]},
			"type": "object",
			"properties": {"due": {"type": "string", "format": "date-time"}, "overdue": {"type": "boolean", "readOnly": true}}
		}`)}},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	ctx := context.Background()
	_, err = server.Write(ctx, "", "networks", map[string]any{"id": "main", "name": "Main"})
	fmt.Println(err)
	_, err = server.Write(ctx, "main", "tasks", map[string]any{"id": "t", "due": "2030-01-01T12:30:00Z"})
	fmt.Println(err)

	reviewer := review.New([]review.Due{{Type: "tasks", Property: "due"}})
	for range 2 {
		err := reviewer.Pass(ctx, server.Engine(), slog.New(slog.DiscardHandler))
		task, _ := server.Read(ctx, "main", "tasks", "t")
		fmt.Println(now.Format(time.TimeOnly), task["overdue"], err)
		now = now.Add(time.Hour)
	}
	// Output:
	// <nil>
	// <nil>
	// 12:00:00 false <nil>
	// 13:00:00 true <nil>
}
