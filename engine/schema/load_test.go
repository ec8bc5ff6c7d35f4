package schema

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"marquee/engine/document"
	"marquee/engine/schema/keyword"
	"marquee/schemas"
)

func TestBuiltInTypesLoad(t *testing.T) {
	registry, err := Load(Source{FS: schemas.FS})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(registry.Types()); n != 26 {
		t.Errorf("%d types", n)
	}
}

// The same files always result in the same types.
func TestLoadIsDeterministic(t *testing.T) {
	describe := func() string {
		registry, err := Load(Source{FS: schemas.FS})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, loaded := range registry.Types() {
			b.WriteString(loaded.Name + "\n")
			describeShape(&b, loaded.Shape, 0)
			for _, index := range loaded.Indexes {
				b.WriteString(index.Property + " " + index.Order + "\n")
			}
		}
		return b.String()
	}
	first := describe()
	for range 5 {
		if describe() != first {
			t.Fatal("another load gives other types")
		}
	}
}

func describeShape(b *strings.Builder, shape *document.Shape, depth int) {
	if depth > 6 {
		return
	}
	b.WriteString(strings.Join(shape.Types, ",") + string(shape.Empty))
	for _, flag := range []bool{shape.ReadOnly, shape.WriteOnly, shape.Secret, keyword.Immutable.Has(shape), shape.Complete, shape.UniqueItems,
		shape.HasSecrets, shape.Plain, shape.Time, shape.HasDefault, shape.Ref != nil} {
		b.WriteByte("01"[map[bool]int{true: 1}[flag]])
	}
	for _, name := range sortedNames(shape) {
		b.WriteString("\n" + name + " ")
		describeShape(b, shape.Properties[name], depth+1)
	}
	for _, inner := range []*document.Shape{shape.Items, shape.Extra} {
		if inner != nil {
			b.WriteString("\n[] ")
			describeShape(b, inner, depth+1)
		}
	}
}

// TestRuleLimit loads types with as many rules as there can be, and with one more.
func TestRuleLimit(t *testing.T) {
	for n, want := range map[int]string{100: "", 101: "#/properties/inner/x-validations/49: a has more than 100 rules (combine some of them), line 1"} {
		rules := func(count int) string {
			list := make([]string, count)
			for i := range list {
				list[i] = `{"rule": "self.?x.orValue(1) > 0", "code": "error.limit.x", "text": "X."}`
			}
			return `"properties": {"x": {"type": "integer"}INNER}, "x-validations": [` + strings.Join(list, ",") + "]"
		}
		inner := `, "inner": {"type": "object", ` + strings.Replace(rules(50), "INNER", "", 1) + `}`
		text := `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "x-resource": {"path": "a"}, ` + strings.Replace(rules(n-50), "INNER", inner, 1) + `}`
		_, err := Load(Source{FS: fstest.MapFS{"a.json": {Data: []byte(text)}}})
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && !strings.Contains(got, want) {
			t.Errorf("%d rules: %s", n, got)
		}
	}
}
