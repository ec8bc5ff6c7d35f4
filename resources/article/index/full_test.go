package index

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// An index that is full takes no further articles, but changes those that it has, and
// has room again when some are removed. The estimate of its memory ends where it began.
func TestTermsAreLimited(t *testing.T) {
	article := func(i int) Article {
		var text strings.Builder
		for n := range 100 {
			fmt.Fprintf(&text, "w%dx%d ", i, n)
		}
		return Article{Network: "n", Language: "en", Title: fmt.Sprint("number ", i), Text: text.String(), Entry: Entry{ID: fmt.Sprint(i)}}
	}
	terms := NewTerms(100_000)
	full := 0
	for full = 0; full < 1000; full++ {
		if err := terms.Put(article(full)); errors.Is(err, ErrFull) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if full < 3 || full > 10 {
		t.Fatalf("the index is full after %d articles", full)
	}
	if stats := terms.Stats(); stats.Articles != full || stats.Refused != 1 {
		t.Errorf("%+v", stats)
	}
	if err := terms.Put(article(0)); err != nil {
		t.Errorf("an article of a full index does not change: %v", err)
	}
	for i := range 3 {
		terms.Remove("n", fmt.Sprint(i))
	}
	if err := terms.Put(article(full)); err != nil {
		t.Errorf("there is no room for an article in the place of three: %v", err)
	}
	for i := range full + 1 {
		terms.Remove("n", fmt.Sprint(i))
	}
	if terms.used != 0 {
		t.Errorf("an empty index uses %d bytes", terms.used)
	}
	var used int64
	in := newCorpus(&used)
	slot, _ := in.insert(&Entry{}, fingerprints{}, []weighted{{"a", 1}, {"b", 1}})
	in.replace(slot, &Entry{}, fingerprints{}, []weighted{{"b", 2}, {"c", 1}})
	in.remove(slot)
	if used != 0 {
		t.Errorf("after a change and a removal, a corpus uses %d bytes", used)
	}
}
