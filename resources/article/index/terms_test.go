package index

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func put(t *testing.T, index Index, network, id, tag, text string) {
	t.Helper()
	if err := index.Put(Article{Network: network, Language: tag, Text: text, Entry: Entry{ID: id}}); err != nil {
		t.Fatal(err)
	}
}

func search(t *testing.T, index Index, network string, query Query) Result {
	t.Helper()
	result, err := index.Search(context.Background(), network, query)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// With two articles, a term of both weighs 8 eighths and one of a single
// article, or of none, 16. A sentence of one term has no pairs.
func TestScoresByHand(t *testing.T) {
	terms := NewTerms(0)
	put(t, terms, "n", "both", "", "apple banana")
	put(t, terms, "n", "one", "", "apple")
	low := calibrated(1 / math.Sqrt(1+0.03*4))
	high := calibrated(2 / math.Sqrt(4+0.03*1))
	// Of the terms that weigh 1 and 2, the article has the one; of the pairs none.
	half := calibrated(1 / math.Sqrt(5+32*4.0/5))
	for _, c := range []struct {
		sentence  string
		threshold float64
		want      []Hit
	}{
		{"apple", 0.1, []Hit{{ID: "one", Score: 1}, {ID: "both", Score: low}}},
		{"banana", 0.1, []Hit{{ID: "both", Score: high}}},
		{"banana", 0, []Hit{{ID: "both", Score: high}, {ID: "one", Score: 0}}},
		{"banana apple", 0.001, []Hit{{ID: "both", Score: 1}, {ID: "one", Score: half}}},
		{"banana apple", 0.1, []Hit{{ID: "both", Score: 1}}},
		{"cherry", 0, []Hit{{ID: "both", Score: 0}, {ID: "one", Score: 0}}},
		{"cherry", 1e-9, nil},
		{"", 0, []Hit{{ID: "both", Score: 0}, {ID: "one", Score: 0}}},
		{"", 1e-9, nil},
		{"apple", low, []Hit{{ID: "one", Score: 1}, {ID: "both", Score: low}}},
		{"apple", low + 1e-9, []Hit{{ID: "one", Score: 1}}},
		{"apple", 1, []Hit{{ID: "one", Score: 1}}},
		{"apple", 1.1, nil},
		{"apple", math.NaN(), nil},
	} {
		got := search(t, terms, "n", Query{Sentence: c.sentence, Threshold: c.threshold, Limit: 10})
		if got.Total != len(c.want) || !sameHits(got.Hits, c.want) {
			t.Errorf("%q from %v: %v, want %v", c.sentence, c.threshold, got, c.want)
		}
	}
}

// The calibration rises with the cosine, from 0 to 1.
func TestCalibrationRises(t *testing.T) {
	last := -1.0
	for step := range 1001 {
		score := calibrated(float64(step) / 1000)
		if score < last || step > 30 && score == last {
			t.Fatalf("%v for %d thousandths, and %v before", score, step, last)
		}
		last = score
	}
	if calibrated(0) != 0 || calibrated(middle) != 0.5 || calibrated(1) != 1 {
		t.Errorf("%v %v %v", calibrated(0), calibrated(middle), calibrated(1))
	}
}

func sameHits(got, want []Hit) bool {
	return len(got) == 0 && len(want) == 0 || reflect.DeepEqual(got, want)
}

// Twice counts as 1 + ln 2, which is 27 sixteenths. Once in the title counts as
// three times, which is 34.
func TestFrequentTermsWeighMore(t *testing.T) {
	for _, c := range []struct {
		title, text string
		weight      float64
	}{{"", "apple apple banana", 27}, {"apple", "banana", 34}} {
		terms := NewTerms(0)
		if err := terms.Put(Article{Network: "n", Title: c.title, Text: c.text, Entry: Entry{ID: "a"}}); err != nil {
			t.Fatal(err)
		}
		want := calibrated(c.weight / math.Sqrt(c.weight*c.weight+0.03*16*16))
		if got := search(t, terms, "n", Query{Sentence: "apple", Limit: 1}); got.Hits[0].Score != want {
			t.Errorf("%q %q: %v, want %v", c.title, c.text, got, want)
		}
	}
}

func TestTiesAreInOrderOfIDs(t *testing.T) {
	terms := NewTerms(0)
	for _, id := range []string{"d", "b", "e", "a", "c"} {
		put(t, terms, "n", id, map[bool]string{true: "en"}[id > "b"], "house")
	}
	got := search(t, terms, "n", Query{Sentence: "house", Threshold: 0.5, Limit: 3})
	if want := []Hit{{ID: "a", Score: 1}, {ID: "b", Score: 1}, {ID: "c", Score: 1}}; got.Total != 5 || !sameHits(got.Hits, want) {
		t.Errorf("%v", got)
	}
	for _, limit := range []int{0, -1} {
		if got := search(t, terms, "n", Query{Sentence: "house", Limit: limit}); got.Total != 5 || len(got.Hits) != 0 {
			t.Errorf("limit %d: %v", limit, got)
		}
	}
}

func TestEachArticleIsReadInItsLanguage(t *testing.T) {
	terms := NewTerms(0)
	put(t, terms, "n", "english", "en-US", "They were running the houses")
	put(t, terms, "n", "norwegian", "nb", "Bilene")
	put(t, terms, "n", "german", "de", "Die Häuser")
	for sentence, want := range map[string]string{"runs a house": "english", "en bil": "norwegian", "haus": "german"} {
		got := search(t, terms, "n", Query{Sentence: sentence, Threshold: 0.9, Limit: 3})
		if len(got.Hits) != 1 || got.Hits[0].ID != want {
			t.Errorf("%q finds %v, want %s", sentence, got, want)
		}
	}
}

func TestPutReplacesAndRemoveForgets(t *testing.T) {
	terms := NewTerms(0)
	put(t, terms, "n", "a", "en", "houses")
	put(t, terms, "other", "a", "en", "houses")
	put(t, terms, "n", "a", "de", "Gärten")
	found := func(network, sentence string) int {
		return search(t, terms, network, Query{Sentence: sentence, Threshold: 0.5, Limit: 1}).Total
	}
	if found("n", "house") != 0 || found("n", "Garten") != 1 || found("other", "house") != 1 || found("none", "house") != 0 {
		t.Error("an article is not where it was put last")
	}
	if got := terms.Stats(); got != (Stats{Articles: 2}) {
		t.Errorf("%+v", got)
	}
	for range 2 {
		terms.Remove("n", "a")
		terms.Remove("none", "a")
	}
	if found("n", "Garten") != 0 || found("other", "house") != 1 || len(terms.networks) != 1 {
		t.Error("Remove forgets too little, or too much")
	}
}

func TestFilterNarrows(t *testing.T) {
	terms := NewTerms(0)
	for id, url := range map[string]string{"a": "https://WWW.Example.com:8443/x", "b": "https://badexample.com/", "c": "https://example.com./y", "d": "::no url"} {
		if err := terms.Put(Article{Network: "n", Text: "house", Entry: Entry{ID: id, URL: url, Site: "site-" + id, Host: "forged"}}); err != nil {
			t.Fatal(err)
		}
	}
	query := Query{Sentence: "house", Threshold: 0.5, Limit: 1, Filter: DomainsOf([]string{"Example.COM"}).Hold}
	if got := search(t, terms, "n", query); got.Total != 2 || got.Hits[0].ID != "a" {
		t.Errorf("%v", got)
	}
	query.Filter = func(e *Entry) bool { return e.Site == "site-d" && e.Host == "" && !DomainsOf([]string{""}).Hold(e) }
	if got := search(t, terms, "n", query); got.Total != 1 || got.Hits[0].ID != "d" {
		t.Errorf("%v", got)
	}
}

// What an article says is its title and its text, and its text alone.
func TestTitlesCount(t *testing.T) {
	for name, index := range map[string]Index{"terms": NewTerms(0), "dense": NewDense(&fakeEmbedder{})} {
		for id, article := range map[string]Article{
			"both": {Title: "Fire on the ferry", Text: "All passengers\nare safe."}, "title": {Title: "Fire on the ferry"}, "text": {Text: "All passengers are safe."},
		} {
			article.Network, article.ID, article.Version = "n", id, 7
			if err := index.Put(article); err != nil {
				t.Fatal(err)
			}
		}
		for sentence, want := range map[string][]Hit{
			"Fire on the ferry\nAll passengers\nare safe.": {{ID: "both", Score: 1, Version: 7}},
			"Fire on the ferry":                            {{ID: "title", Score: 1, Version: 7}},
			"All passengers are safe.":                     {{ID: "both", Score: 1, Version: 7}, {ID: "text", Score: 1, Version: 7}},
		} {
			if got := search(t, index, "n", Query{Sentence: sentence, Threshold: 1, Limit: 3}); !slices.Equal(got.Hits, want) {
				t.Errorf("%s: %q finds %v, want %v", name, sentence, got, want)
			}
		}
	}
}

func TestHosts(t *testing.T) {
	for address, want := range map[string]string{
		"https://WWW.Example.com:8443/x": "www.example.com", "https://example.com./": "example.com", "https://bl%C3%A5b%C3%A6r.no/": "xn--blbr-roah.no",
		"https://user@xn--blbr-roah.no": "xn--blbr-roah.no", "https://[2001:db8::1]:80/": "2001:db8::1", "mailto:a@example.com": "", "::no url": "", "https://a_b.example.com/": "a_b.example.com",
	} {
		if got := HostOf(address); got != want {
			t.Errorf("%s is on %q, want %q", address, got, want)
		}
	}
}

func TestSearchEndsWithItsContext(t *testing.T) {
	terms := NewTerms(0)
	put(t, terms, "n", "a", "", "x")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := terms.Search(ctx, "n", Query{Sentence: "x"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// An index must not keep the request that an id is part of.
func TestNothingOfTheArticleIsKept(t *testing.T) {
	body := strings.Repeat("x", 1<<20) + "id"
	given := Article{Entry: Entry{ID: body[1<<20:]}}
	if got := given.entry(); got.ID != "id" || sameMemory(got.ID, given.ID) {
		t.Error("the id is not copied")
	}
}
