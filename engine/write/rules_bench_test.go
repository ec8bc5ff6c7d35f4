package write_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"marquee"
	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/write"
)

// loans are the same type without rules, and with ten of them.
func loans() fstest.MapFS {
	file := func(name, rules string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "x-resource": {"path": "` + name + `"},
			"required": ["begin", "copies"], "properties": {"begin": {"type": "string", "format": "date-time"}, "end": {"type": "string", "format": "date-time"},
			"copies": {"type": "integer"}, "note": {"type": "string", "maxLength": 1000}, "paid": {"type": "boolean", "default": false}, "price": {"type": "number"},
			"titles": {"type": "array", "maxItems": 20, "items": {"type": "string", "maxLength": 100}},
			"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}}` + rules + `}`)}
	}
	var rules []string
	for i, rule := range []string{"self.copies >= 0", "self.copies <= 10000000", "!has(self.end) || self.begin < self.end", "!has(self.price) || self.price >= 0.0",
		"!has(self.titles) || self.titles.isUnique()", "self.?note.orValue('').size() < 900", "!oldSelf.paid || self.paid", "self.copies >= 0 || 'EDIT' in caller.permissions",
		"!has(self.address) || has(self.address.city)", "!has(self.titles) || self.titles.size() <= self.copies + 100"} {
		rules = append(rules, fmt.Sprintf(`{"rule": %q, "code": "error.loan.r%d", "text": "T."}`, rule, i))
	}
	return fstest.MapFS{"plain.json": file("plain", ""), "ruled.json": file("ruled", `, "x-validations": [`+strings.Join(rules, ", ")+`]`)}
}

// BenchmarkRules compares writes of a type with ten rules to those of the same type without
// rules, in turns: their ratio is that of the medians. Half of the rules read what changes.
func BenchmarkRules(b *testing.B) {
	server, err := marquee.New(marquee.Options{Folder: b.TempDir(), First: marquee.First{Network: "house", Password: "correct horse battery"},
		Application: marquee.Application{Schemas: loans()}})
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	for _, size := range []int{1, 1000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			times := map[string][]time.Duration{}
			for i := 0; b.Loop(); i++ {
				for _, name := range []string{"plain", "ruled"} {
					t, err := server.Engine().Type(name)
					if err != nil {
						b.Fatal(err)
					}
					batch := write.Batch{Network: "house", Listed: true}
					for n := range size {
						batch.Operations = append(batch.Operations, write.Operation{Type: t, Object: decoded(b, fmt.Sprintf(
							`{"id": "l%d", "begin": "2026-01-01T00:00:00.000Z", "end": "2026-02-01T00:00:00.000Z", "copies": %d, "note": "A note.", "price": 2.5,
							"titles": ["One", "Two", "Three %d"], "address": {"street": "Main Street 1", "city": "Town"}}`, n, i, i))})
					}
					began := time.Now()
					if _, err := server.Engine().Write(b.Context(), &engine.Caller{System: true}, batch); err != nil {
						b.Fatal(err)
					}
					times[name] = append(times[name], time.Since(began))
				}
			}
			median := func(name string) float64 {
				slices.Sort(times[name])
				return float64(times[name][len(times[name])/2])
			}
			b.ReportMetric(median("ruled")/median("plain"), "ratio")
			b.ReportMetric(median("plain")/1000, "µs/plain")
		})
	}
}

func decoded(b *testing.B, text string) map[string]any {
	object, err := document.DecodeObject([]byte(text), document.Limits{Depth: 10})
	if err != nil {
		b.Fatal(err)
	}
	return object
}
