package write_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"marquee"
	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/write"
)

// randomPart returns some properties with random values.
func randomPart(r *rand.Rand, percent int) object {
	word := func() any { return []any{"", "x", "y", "xy", "yyy"}[r.IntN(5)] }
	whole := func() any { return r.IntN(6) }
	some := func(value func() any) any {
		values := []any{}
		for range r.IntN(4) {
			values = append(values, value())
		}
		return values
	}
	of := func(names ...string) any {
		o := object{}
		for _, name := range names {
			if r.IntN(2) > 0 {
				o[name] = whole()
			}
		}
		return o
	}
	values := map[string]func() any{"a": word, "n": whole, "v": whole, "e": word, "k": func() any { return []any{word(), whole()}[r.IntN(2)] },
		"o": func() any {
			inner := of("y").(object)
			if r.IntN(2) > 0 {
				inner["x"] = word()
			}
			return inner
		},
		"l": func() any {
			return some(func() any {
				item := of("c").(object)
				if r.IntN(2) > 0 {
					item["t"] = word()
				}
				return item
			})
		},
		"tags": func() any { return some(word) }, "marks": func() any { return some(word) }, "j": func() any { return of("p", "q", "r") },
		"f": word, "s": word, "price": whole, "begin": whole, "end": whole, "w": whole}
	o := object{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if r.IntN(100) < percent {
			o[name] = values[name]()
		}
	}
	return normal(o)
}

// randomWrite returns some properties of an update of a stored object: with other values, with
// none, with items in another order, or as they are.
func randomWrite(r *rand.Rand, stored object) object {
	sent := randomPart(r, 8)
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		switch r.IntN(16) {
		case 0:
			sent[name] = nil
		case 1, 2, 3:
			sent[name] = document.Clone(stored[name])
			if items, is := sent[name].([]any); is && r.IntN(2) > 0 {
				r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
				if r.IntN(3) == 0 && len(items) > 0 {
					sent[name] = append(items, document.Clone(items[0]))
				}
			}
		}
	}
	return sent
}

// TestTightened writes objects at random that were stored before their types got more rules. A
// write is refused exactly for the faults that a model of a few rules finds at places which it
// changes, and the object has the others as warnings. New objects have no faults.
// MARQUEE_TIGHTENED is the number of writes.
func TestTightened(t *testing.T) {
	t.Parallel()
	writes := 1200
	if text := os.Getenv("MARQUEE_TIGHTENED"); text != "" {
		writes, _ = strconv.Atoi(text)
	}
	tally := map[string]int{}
	for seed := uint64(1); writes > 0 && !t.Failed(); seed++ {
		some := min(writes, 20_000)
		testTightened(t, seed, some, tally)
		writes -= some
	}
	t.Logf("%v", tally)
	for _, of := range []string{"created", "not created", "stored with warnings", "refused beside warnings", "refused for a second fault"} {
		if tally[of] < 10 {
			t.Errorf("%s: %d writes show nothing", of, tally[of])
		}
	}
}

func testTightened(t *testing.T, seed uint64, writes int, tally map[string]int) {
	const types, objects = 20, 6
	r := rand.New(rand.NewPCG(seed, 5))
	loose, tight := fstest.MapFS{}, fstest.MapFS{}
	var all []tightType
	for i := range types {
		of := tightType{name: fmt.Sprint("things", i)}
		for _, rule := range tightenings(r) {
			if r.IntN(2) > 0 {
				of.rules = append(of.rules, rule)
			}
		}
		all = append(all, of)
		loose[of.name+".json"], tight[of.name+".json"] = &fstest.MapFile{Data: of.file(false)}, &fstest.MapFile{Data: of.file(true)}
	}
	server, err := marquee.New(marquee.Options{Folder: t.TempDir(), Schemas: loose, First: marquee.First{Network: "house", Password: "correct horse battery"}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	e := hospitalEngine{server.Engine()}
	stored := map[string]object{}
	for _, of := range all {
		for i := range objects {
			o := randomPart(r, 60)
			o["id"] = fmt.Sprint(i)
			if _, err := e.write(t, operation{of.name, o}); err != nil {
				t.Fatal(err)
			}
			delete(o, "id")
			stored[of.name+fmt.Sprint(i)] = o
		}
	}
	registry, err := (&marquee.Application{}).Load(schema.Source{Name: "schemas", FS: tight})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Migrate(t.Context(), registry); err != nil {
		t.Fatal(err)
	}
	for n := range writes {
		of := all[r.IntN(types)]
		id := fmt.Sprint(r.IntN(objects))
		before := stored[of.name+id]
		sent := randomWrite(r, before)
		create := r.IntN(5) == 0
		if create {
			id, before, sent = fmt.Sprint("new", n), nil, randomPart(r, 40)
		}
		after := maps.Clone(before)
		if after == nil {
			after = object{}
		}
		maps.Copy(after, sent)
		maps.DeleteFunc(after, func(_ string, value any) bool { return value == nil })
		refused, warned := of.judge(before, after, sent)

		o := maps.Clone(sent)
		o["id"] = id
		batch := write.Batch{Network: "house", ValidateOnly: r.IntN(3) == 0, Operations: []write.Operation{{Type: e.typeOf(t, of.name), Object: normal(o)}}}
		_, err := e.Write(t.Context(), &engine.Caller{System: true}, batch)
		var fields []string
		if fault := (*message.Error)(nil); errors.As(err, &fault) {
			for _, m := range fault.Messages {
				field, _ := m.Param("field").(string)
				fields = append(fields, field)
			}
		} else if err != nil {
			t.Fatal(err)
		}
		if fields = placesIn(fields); !slices.Equal(fields, refused) {
			t.Fatalf("seed %d, write %d: refused for %v (%v), want %v\nbefore %s\nsent   %s\nschema %s", seed, n, fields, err, refused, text(before), text(sent), of.file(true))
		}
		switch {
		case create && err == nil:
			tally["created"]++
		case create:
			tally["not created"]++
		case err == nil && !batch.ValidateOnly:
			stored[of.name+id] = after
			if len(warned) > 0 {
				tally["stored with warnings"]++
			}
			if found := e.warned(t, of.name, id); !slices.Equal(found, warned) {
				t.Fatalf("seed %d, write %d: warnings of %v, want %v\nbefore %s\nsent   %s\nschema %s", seed, n, found, warned, text(before), text(sent), of.file(true))
			}
		case err != nil && len(warned) > 0:
			tally["refused beside warnings"]++
			if slices.ContainsFunc(warned, func(place string) bool {
				return slices.ContainsFunc(refused, func(other string) bool { return topOf(place) == topOf(other) })
			}) {
				tally["refused for a second fault"]++
			}
		}
	}
}

// topOf returns the property of a place.
func topOf(place string) string { return strings.SplitN(place, "/", 3)[1] }

// warned returns the places of the warnings of a stored object.
func (e hospitalEngine) warned(t *testing.T, name, id string) []string {
	t.Helper()
	var warnings []struct{ Params struct{ Field string } }
	err := e.Store.Read(t.Context(), func(s store.Snapshot) error {
		return s.Get(t.Context(), name, []store.Key{{Network: "house", ID: id}}, func(r *store.Record) error {
			if len(r.Warnings) == 0 {
				return nil
			}
			return json.Unmarshal(r.Warnings, &warnings)
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	var fields []string
	for _, w := range warnings {
		fields = append(fields, w.Params.Field)
	}
	return placesIn(fields)
}
