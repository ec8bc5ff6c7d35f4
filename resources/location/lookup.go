package location

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/rest"
)

// Lookup is the gazetteer of a running service, with the embedded and the imported
// locations.
type Lookup struct {
	gazetteer atomic.Pointer[Gazetteer]
	load      sync.Once
	// refreshing guards imported, the blob of the imported locations that the
	// gazetteer includes.
	refreshing sync.Mutex
	imported   string
}

// get returns the gazetteer. The first call decodes it.
func (l *Lookup) get() *Gazetteer {
	l.load.Do(func() {
		l.gazetteer.CompareAndSwap(nil, Load())
	})
	return l.gazetteer.Load()
}

// Find returns the members shown for the location with an id.
func (l *Lookup) Find(id int64) ([]engine.Member, bool) {
	found, ok := l.get().ByID(id)
	if !ok {
		return nil, false
	}
	return []engine.Member{{Name: "type", Text: string(found.Type)}, {Name: "name", Text: found.Name}, {Name: "context", Text: found.Context()}}, true
}

// Route returns the route of the search.
func (l *Lookup) Route() rest.Route {
	return rest.Route{Path: "/api/v1/location", Methods: []string{http.MethodGet, http.MethodHead}, Operation: rest.OperationSearch, Serve: l.search}
}

func (l *Lookup) search(r *rest.Call) error {
	if err := r.Parameters().Only("q", "page", "pageSize", "pageStart", "pageEnd"); err != nil {
		return err
	}
	text, given := r.Parameters()["q"]
	switch {
	case !given:
		return message.ParameterMissing.Error(message.Params{"parameter": "q"})
	case strings.TrimSpace(text) == "" || len(text) > MaxQueryBytes:
		return message.ParameterInvalid.Error(message.Params{"parameter": "q", "expected": "a text of 1 to 1024 bytes"})
	}
	paging, err := query.ParsePaging(r.Parameters())
	if err != nil {
		return err
	}
	skip, size, err := window(r.Parameters(), paging)
	if err != nil {
		return err
	}
	found := l.get().Search(text, skip, size)
	r.Header().Set("Cache-Control", "private, no-cache")
	answer := map[string]any{
		"totalHits": found.TotalHits, "pageStart": found.PageStart, "pageEnd": found.PageEnd,
		"searchResults": found.Hits, "aggregations": aggregations(found),
	}
	if paging.Named {
		answer["page"], answer["pageSize"] = paging.Page, paging.PageSize
		if found.PageEnd > 0 && found.PageEnd < found.TotalHits {
			r.LinkNext("page", strconv.Itoa(paging.Page+1))
		}
	}
	return r.AnswerJSON(answer)
}

// window is the part of the hits that a page, or a first and a last hit, names.
func window(parameters map[string]string, paging query.Paging) (skip, size int, err error) {
	_, started := parameters["pageStart"]
	_, ended := parameters["pageEnd"]
	if !started && !ended {
		return paging.Page * paging.PageSize, paging.PageSize, nil
	}
	other := "pageStart"
	if !started {
		other = "pageEnd"
	}
	for _, name := range []string{"page", "pageSize"} {
		if _, given := parameters[name]; given {
			return 0, 0, message.ParameterConflict.Error(message.Params{"parameter": name, "other": other})
		}
	}
	first, last := 1, 0
	if started {
		if first, err = position(parameters, "pageStart", 1); err != nil {
			return 0, 0, err
		}
	}
	if !ended {
		return first - 1, query.DefaultPageSize, nil
	}
	if last, err = position(parameters, "pageEnd", first); err != nil {
		return 0, 0, err
	}
	return first - 1, min(last-first+1, query.MaxPageSize), nil
}

// position parses the number of a hit.
func position(parameters map[string]string, name string, least int) (int, error) {
	n, err := strconv.Atoi(parameters[name])
	if err != nil && !errors.Is(err, strconv.ErrRange) || n < least {
		return 0, message.ParameterInvalid.Error(message.Params{"parameter": name, "value": parameters[name], "expected": fmt.Sprintf("an integer of at least %d", least)})
	}
	return min(n, query.MaxPage*query.MaxPageSize), nil
}

// bucket is the number of hits with one value of a property.
type bucket struct {
	Name   string `json:"name"`
	Filter string `json:"filter"`
	Count  int    `json:"count"`
}

// aggregations returns the numbers of hits by properties. Locations are always
// active, have no labels, and never change.
func aggregations(found Result) map[string]any {
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
