package schema

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
)

// TestRulesKeepNoCompilers: a rule keeps what it says, but not the compilers of the set, which
// have its files in another form.
func TestRulesKeepNoCompilers(t *testing.T) {
	size := func(rules string) uint64 {
		files := fstest.MapFS{}
		for n := range 40 {
			var properties strings.Builder
			for p := range 50 {
				fmt.Fprintf(&properties, `, "p%d": {"type": "string", "maxLength": %d}`, p, 100+p)
			}
			name := "type" + string(rune('a'+n/26)) + string(rune('a'+n%26))
			files[name+".json"] = &fstest.MapFile{Data: fmt.Appendf(nil, `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "x-resource": {"path": "%s"}%s, "properties": {"n": {"type": "integer"}%s}}`, name, rules, properties.String())}
			rules = "" // of the others
		}
		memory := func() uint64 {
			var stats runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&stats)
			return stats.HeapAlloc
		}
		before := memory()
		registry, err := Load(Source{FS: files})
		if err != nil {
			t.Fatal(err)
		}
		after := memory()
		runtime.KeepAlive(registry)
		return after - before
	}
	condition := `{"properties": {"n": {"minimum": 3}}, "required": ["n"]}`
	size("") // what every load prepares once
	without := size("")
	for _, rules := range []string{
		`"x-frozen": {"code": "error.full", "text": "Full", "when": ` + condition + `}`,
		`"x-warnings": [{"code": "warning.full", "text": "Full", "when": ` + condition + `}]`,
		`"x-compare": [{"left": "p0", "op": "<", "right": "p1"}]`,
		`"x-validations": [{"rule": "!has(self.n) || self.n < 3", "code": "error.full", "text": "Full"}]`,
	} {
		if with := size(", " + rules); with > without+without/4 { // CEL prepares itself once
			t.Errorf("%s: a set takes %d bytes, %d without", rules, with, without)
		}
	}
}
