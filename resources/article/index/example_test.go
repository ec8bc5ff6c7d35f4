package index_test

import (
	"context"
	"fmt"

	"marquee/resources/article/index"
)

// A sentence finds the articles that share its words, whatever their inflection. A single
// word of several, which texts share by chance, scores almost nothing.
func ExampleTerms() {
	terms := index.NewTerms(0)
	for _, entry := range []struct{ id, text string }{
		{"garden", "How to plant tomatoes in a small garden, and when to water the plants."},
		{"soup", "A soup of roasted tomatoes and garlic."},
		{"cars", "Electric cars need new batteries after ten years."},
	} {
		if err := terms.Put(index.Article{Network: "main", Language: "en", Text: entry.text, Entry: index.Entry{ID: entry.id}}); err != nil {
			fmt.Println(err)
		}
	}
	search := func(query index.Query) {
		result, err := terms.Search(context.Background(), "main", query)
		fmt.Printf("%d:", result.Total)
		for _, hit := range result.Hits {
			fmt.Printf(" %s", hit.ID)
		}
		fmt.Println("", err)
	}
	search(index.Query{Sentence: "planting a tomato", Threshold: 0.5, Limit: 10})
	search(index.Query{Sentence: "planting a tomato", Threshold: 0, Limit: 2}) // all, the best first
	search(index.Query{Sentence: "tomatoes", Threshold: 0.5, Limit: 10, Filter: func(e *index.Entry) bool { return e.ID != "garden" }})
	// Output:
	// 1: garden <nil>
	// 3: garden soup <nil>
	// 1: soup <nil>
}
