package lookup

import (
	"strings"
	"sync"
	"sync/atomic"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/rest"
	"marquee/resources/location"
)

// Locations is the gazetteer of the service: the one in the program, and what
// was imported on top of it.
type Locations struct {
	gazetteer atomic.Pointer[location.Gazetteer]
	load      sync.Once
	// refreshing guards imported: which file the gazetteer holds besides.
	refreshing sync.Mutex
	imported   string
}

// get is the gazetteer; the first call decodes it.
func (l *Locations) get() *location.Gazetteer {
	l.load.Do(func() {
		l.gazetteer.CompareAndSwap(nil, location.Load())
	})
	return l.gazetteer.Load()
}

// Find is the lookup of an id.
func (l *Locations) Find(id int64) ([]engine.Member, bool) {
	found, ok := l.get().ByID(id)
	if !ok {
		return nil, false
	}
	return []engine.Member{{Name: "type", Text: string(found.Type)}, {Name: "name", Text: found.Name}, {Name: "context", Text: found.Context()}}, true
}

// Route is that of the search.
func (l *Locations) Route() rest.Route {
	return rest.Route{Path: "location", Methods: reading, Serve: l.search}
}

func (l *Locations) search(r *rest.Call) error {
	if err := r.Only("context", "q", "page", "pageSize"); err != nil {
		return err
	}
	if _, given := r.Parameter("context"); given {
		if _, err := r.Network(nil); err != nil {
			return err
		}
	}
	text, given := r.Parameter("q")
	switch {
	case !given:
		return message.ParameterMissing.Error(message.Params{"parameter": "q"})
	case strings.TrimSpace(text) == "" || len(text) > location.MaxQueryBytes:
		return message.ParameterInvalid.Error(message.Params{"parameter": "q", "expected": "a text of 1 to 1024 bytes"})
	}
	page, pageSize, err := query.ParsePage(r.Parameters())
	if err != nil {
		return err
	}
	found := l.get().Search(text, page, pageSize)
	r.Header().Set("Cache-Control", "private, no-cache")
	return answer(r, map[string]any{
		"totalHits": found.TotalHits, "pageStart": found.PageStart, "pageEnd": found.PageEnd,
		"searchResults": found.Hits, "aggregations": aggregations(found),
	})
}

// bucket counts the hits of one value of a property.
type bucket struct {
	Name   string `json:"name"`
	Filter string `json:"filter"`
	Count  int    `json:"count"`
}

// aggregations count the hits by their properties. Locations are all active,
// have no labels, and are changed by nobody.
func aggregations(found location.Result) map[string]any {
	buckets := func(list ...bucket) map[string]any {
		named := map[string]bucket{}
		for _, b := range list {
			named[b.Name] = b
		}
		return map[string]any{"buckets": named}
	}
	var types []bucket
	for name, n := range found.Types {
		types = append(types, bucket{string(name), "types:" + string(name), n})
	}
	var ages []bucket
	for _, name := range []string{"last24Hours", "last7Days", "last30Days"} {
		ages = append(ages, bucket{name, "lastModifiedIn:" + name, 0})
	}
	return map[string]any{
		"types": buckets(types...), "lastModifiedIn": buckets(ages...),
		"objectState":     buckets(bucket{"ACTIVE", "objectState:ACTIVE", found.TotalHits}),
		"exclusionLabels": buckets(), "lastModifiedBy": buckets(), "matchingLabels": buckets(), "labels": buckets(),
	}
}
