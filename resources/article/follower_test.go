package article

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// When the store no longer has the changes, the index is filled again.
func TestFilledAnew(t *testing.T) {
	f := newFixture(t, builtIn(t))
	f.write("a", map[string]any{"text": "ferry"})
	defer f.start()()
	f.finds("ferry", "200 a")
	f.write("b", map[string]any{"text": "ferry"})
	f.write("a", map[string]any{"objectState": "HIDDEN"})
	f.store.forgotten.Store(true)
	if got := f.find("ferry"); got != "503 error.article.index.not.ready" && got != "200 b" { // the follower may be first
		t.Errorf("the search that meets it finds %s", got)
	}
	f.finds("ferry", "200 b")
}

// An unavailable store is retried, including at the start.
func TestStoreIsLost(t *testing.T) {
	f := newFixture(t, builtIn(t))
	f.write("a", map[string]any{"text": "ferry"})
	lost := &store.Error{Code: store.CodeUnavailable, Text: "lost"}
	f.store.changes.Store(&[]error{lost, lost})
	stop := f.start()
	f.finds("ferry", "200 a")
	many := make([]error, 100)
	for i := range many {
		many[i] = lost
	}
	f.store.changes.Store(&many)
	f.finds("ferry", "503 error.store.unavailable")
	f.store.changes.Store(nil)
	f.finds("ferry", "200 a")
	stop()
	if text := f.log.String(); strings.Count(text, "article search is behind") == 0 || strings.Count(text, "article search has caught up") == 0 {
		t.Errorf("the log does not report it: %s", text)
	}
}

// A secondary may be behind: reads are repeated until they return the changes.
func TestReadsThatLag(t *testing.T) {
	f := newFixture(t, builtIn(t))
	defer f.start()()
	f.finds("ferry", "200")
	f.write("a", map[string]any{"text": "ferry"})
	f.store.lag.Store(5)
	f.finds("ferry", "200 a")
}

// An article may change between the search and the reading of its hits.
func TestChangedMeanwhile(t *testing.T) {
	f := newFixture(t, builtIn(t))
	f.write("a", map[string]any{"text": "ferry"})
	f.write("b", map[string]any{"text": "ferry"})
	stop := f.start()
	f.finds("ferry", "200 a b")
	stop()
	// Only searches read now: the first Read is that of the filter, and the second
	// that of the hits.
	steps := []func(){func() {}, func() { f.write("a", map[string]any{"objectState": "HIDDEN"}) }}
	var inside atomic.Bool
	f.store.read = func() {
		if inside.CompareAndSwap(false, true) {
			defer inside.Store(false)
			if len(steps) > 0 {
				step := steps[0]
				steps = steps[1:]
				step()
			}
		}
	}
	// The check of targeting reads only if it has references, which is not so here.
	f.finds("ferry", "200 b")
	if len(steps) != 0 {
		t.Error("nothing was changed meanwhile")
	}
	// An article that changes at every attempt is returned as it is at the last one.
	times := 0
	f.store.read = func() {
		if inside.CompareAndSwap(false, true) {
			defer inside.Store(false)
			times++
			f.write("b", map[string]any{"title": fmt.Sprint("ferry ", times)})
		}
	}
	f.finds("ferry", "200 b")
	if times < 2*attempts {
		t.Errorf("the article changed %d times", times)
	}
	state := func(times int) string { return []string{"ACTIVE", "INACTIVE"}[times%2] }
	f.store.read = func() {
		if inside.CompareAndSwap(false, true) {
			defer inside.Store(false)
			times++
			f.write("b", map[string]any{"objectState": state(times)})
		}
	}
	if got := f.find("ferry"); got != "200" && got != "200 b" {
		t.Errorf("of an article that comes and goes, the search finds %s", got)
	}
}

// Articles that the caller cannot see are neither listed nor counted.
func TestOnlyWhatTheCallerSees(t *testing.T) {
	f := newFixture(t, builtIn(t))
	for _, id := range []string{"a", "b", "c"} {
		f.write(id, map[string]any{"text": "ferry", "title": id})
	}
	defer f.start()()
	f.finds("ferry", "200 a b c")
	types, err := f.engine.Type(Name)
	if err != nil {
		t.Fatal(err)
	}
	title, err := types.Field("", "title")
	if err != nil {
		t.Fatal(err)
	}
	f.access.articles = query.In{Field: title, Values: []any{"a", "c"}}
	f.finds("ferry", "200 a c")
	if a := f.ask("ferry", 1); a.TotalCount != 2 || len(a.Results) != 1 {
		t.Errorf("of a page of one: %+v", a)
	}
	f.access.articles = query.Or{} // nothing
	f.finds("ferry", "200")
}

func TestCountriesOfHosts(t *testing.T) {
	for host, want := range map[string]string{"www.example.no": "NO", "example.co.uk": "GB", "example.com": "", "no": "", "": "", "192.0.2.10": "", "2001:db8::ab": ""} {
		if got := countryOf(host); got != want {
			t.Errorf("%s is of %q, want %q", host, got, want)
		}
	}
}

// A reload may remove the type.
func TestSchemasAreReloaded(t *testing.T) {
	types := load(t, schema.Source{FS: fstest.MapFS{"notes.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Note", "description": "N.",
		"x-resource": {"path": "notes"}, "type": "object", "properties": {"name": {"type": "string", "description": "N."}}}`)}}})
	f := newFixture(t, types)
	stop := f.start()
	f.finds("ferry", "404 error.type.unknown")
	if err := f.engine.Migrate(t.Context(), builtIn(t)); err != nil {
		t.Fatal(err)
	}
	f.write("a", map[string]any{"text": "ferry"})
	f.finds("ferry", "200 a")
	if err := f.engine.Migrate(t.Context(), builtIn(t)); err != nil {
		t.Fatal(err)
	}
	f.write("b", map[string]any{"text": "ferry"})
	f.finds("ferry", "200 a b")
	if err := f.engine.Migrate(t.Context(), types); err != nil {
		t.Fatal(err)
	}
	f.finds("ferry", "404 error.type.unknown")
	stop()
	if f.log.Len() > 0 {
		t.Errorf("the log has a fault: %s", f.log.String())
	}
}

// A stopped follower leaves no goroutine, whatever it was doing.
func TestStopsAtOnce(t *testing.T) {
	f := newFixture(t, builtIn(t))
	f.finds("ferry", "503 error.article.index.not.ready")
	for n := range 300 {
		f.write(fmt.Sprint(n), map[string]any{"text": strings.Repeat("ferry boat ", 100)})
	}
	silent := make(chan struct{})
	defer close(silent)
	f.search.Embed(stuck{silent})
	for n := range 20 {
		stop := f.start()
		for range n * n * 100 { // each time it has come further
			runtime.Gosched()
		}
		stop()
		var all bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&all, 2); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(all.String(), "article.(*follower)") {
			t.Fatalf("it goes on:\n%s", all.String())
		}
	}
}
