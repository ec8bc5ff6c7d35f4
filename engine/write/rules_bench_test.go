package write_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"marquee"
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
		"!has(self.titles) || self.titles.isUnique()", "self.?note.orValue('').size() < 900", "!oldSelf.paid || self.paid", "self.copies >= 0 || 'MANAGE_OBJECTS' in caller.permissions",
		"!has(self.address) || has(self.address.city)", "!has(self.titles) || self.titles.size() <= self.copies + 100"} {
		rules = append(rules, fmt.Sprintf(`{"rule": %q, "code": "error.loan.r%d", "text": "T."}`, rule, i))
	}
	return fstest.MapFS{"plain.json": file("plain", ""), "ruled.json": file("ruled", `, "x-validations": [`+strings.Join(rules, ", ")+`]`)}
}

// BenchmarkRules compares writes of a type with ten rules to those of the same type without
// rules, in turns, over HTTP: their ratio is that of the medians. Half of the rules read what
// changes.
func BenchmarkRules(b *testing.B) {
	server, err := marquee.New(marquee.Options{Folder: b.TempDir(), First: marquee.First{Network: "house", Password: "correct horse battery"},
		Application: marquee.Application{Schemas: loans()}})
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	front := httptest.NewServer(server.Operator())
	defer front.Close()
	for _, size := range []int{1, 1000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			times := map[string][]time.Duration{}
			for i := 0; b.Loop(); i++ {
				order := []string{"plain", "ruled"}
				if i%2 == 1 {
					slices.Reverse(order)
				}
				for _, name := range order {
					method, path, body := http.MethodPut, "/api/v1/"+name+"/l0?context=house", loan(0, i)
					if size > 1 {
						loans := make([]string, size)
						for n := range loans {
							loans[n] = loan(n, i)
						}
						method, path, body = http.MethodPost, "/api/v1/"+name+"?context=house", "["+strings.Join(loans, ",")+"]"
					}
					request, err := http.NewRequest(method, front.URL+path, strings.NewReader(body))
					if err != nil {
						b.Fatal(err)
					}
					request.Header.Set("Content-Type", "application/json")
					began := time.Now()
					answer, err := front.Client().Do(request)
					if err != nil {
						b.Fatal(err)
					}
					content, err := io.ReadAll(answer.Body)
					times[name] = append(times[name], time.Since(began))
					if err != nil || answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusCreated {
						b.Fatalf("%d %s %v", answer.StatusCode, content, err)
					}
					_ = answer.Body.Close() // has been read
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

// loan is a loan as a client sends it the ith time.
func loan(n, i int) string {
	return fmt.Sprintf(`{"id": "l%d", "begin": "2026-01-01T00:00:00.000Z", "end": "2026-02-01T00:00:00.000Z", "copies": %d, "note": "A note.", "price": 2.5,
		"titles": ["One", "Two", "Three %d"], "address": {"street": "Main Street 1", "city": "Town"}}`, n, i, i)
}
