package index_test

import (
	"context"
	"testing"

	"marquee/resources/article/index"
	"marquee/resources/article/index/judged"
)

// TestJudged holds scores to the labelled set: an article that a sentence is
// about scores above 0.5, one that is like it by chance below 0.2.
func TestJudged(t *testing.T) {
	articles, sentences, err := judged.Load()
	if err != nil {
		t.Fatal(err)
	}
	terms := index.NewTerms(0)
	for _, a := range articles {
		if err := terms.Put(index.Article{Network: "n", Language: a.Language, Title: a.Title, Text: a.Text, Entry: index.Entry{ID: a.ID}}); err != nil {
			t.Fatal(err)
		}
	}
	search := func(sentence string) (hits []judged.Hit, err error) {
		result, err := terms.Search(context.Background(), "n", index.Query{Sentence: sentence, Threshold: 1e-9, Limit: len(articles)})
		for _, hit := range result.Hits {
			hits = append(hits, judged.Hit{ID: hit.ID, Score: hit.Score})
		}
		return hits, err
	}
	for _, heldOut := range []bool{false, true} {
		var some []judged.Sentence
		for _, s := range sentences {
			if s.HeldOut == heldOut {
				some = append(some, s)
			}
		}
		figures, faults, err := judged.Measure(articles, some, search)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d sentences, held out %t: %s", len(some), heldOut, figures)
		for _, fault := range faults {
			t.Error(fault)
		}
	}
}
