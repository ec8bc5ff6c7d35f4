package openapi_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"marquee/engine/openapi"
	"marquee/engine/schema"
	"marquee/resources"
)

func load(tb testing.TB) *schema.Registry {
	tb.Helper()
	types, err := resources.LoadSchemas()
	if err != nil {
		tb.Fatal(err)
	}
	return types
}

// TestBuildIsReproducible checks that the document depends on the schemas alone.
func TestBuildIsReproducible(t *testing.T) {
	first, err := openapi.Build(load(t), "1")
	if err != nil {
		t.Fatal(err)
	}
	if second, err := openapi.Build(load(t), "1"); err != nil || !bytes.Equal(first, second) {
		t.Error("two documents of the same schemas differ", err)
	}
}

// TestReferencesLead checks that each reference in the document leads to something,
// and that no operation has the name of another one.
func TestReferencesLead(t *testing.T) {
	text, err := openapi.Build(load(t), "1")
	if err != nil {
		t.Fatal(err)
	}
	var whole map[string]any
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	components := whole["components"].(map[string]any)
	seen, references := map[string]bool{}, 0
	var visit func(value any)
	visit = func(value any) {
		switch v := value.(type) {
		case []any:
			for _, item := range v {
				visit(item)
			}
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				references++
				parts := strings.Split(ref, "/")
				kind, _ := components[parts[2]].(map[string]any)
				if len(parts) != 4 || kind[parts[3]] == nil {
					t.Errorf("%s leads nowhere", ref)
				}
			}
			if id, ok := v["operationId"].(string); ok {
				if seen[id] {
					t.Errorf("there are two operations %s", id)
				}
				seen[id] = true
			}
			for _, member := range v {
				visit(member)
			}
		}
	}
	visit(whole)
	if references < 1000 || len(seen) < 100 {
		t.Errorf("%d references and %d operations: the walk does not see them", references, len(seen))
	}
}

// TestFaultyFragments checks that a fragment which cannot be part of a document is
// refused.
func TestFaultyFragments(t *testing.T) {
	for name, fragment := range map[string]string{
		"no JSON":             `{`,
		"an unknown class":    `{"paths": {"/a": {"get": {"x-refusals": "sometimes"}}}}`,
		"an unknown code":     `{"paths": {"/a": {"get": {"x-refusals": "plain", "x-codes": ["error.unheard.of"]}}}}`,
		"no object of a path": `{"paths": []}`,
	} {
		if _, err := openapi.Build(load(t), "1", openapi.Fragment(fragment)); err == nil {
			t.Errorf("%s is not refused", name)
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	types := load(b)
	for b.Loop() {
		if _, err := openapi.Build(types, "1"); err != nil {
			b.Fatal(err)
		}
	}
}
