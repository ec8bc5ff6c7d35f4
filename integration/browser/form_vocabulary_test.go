package browser

import (
	"encoding/json"
	"testing"

	"marquee/engine/schema"
	"marquee/engine/schema/dialect"
	"marquee/engine/schema/keyword"
)

// notInForms are keywords of the vocabulary that random schemas do not have, with the reasons.
var notInForms = map[string]string{
	"$id": "the root alone can have it, and nothing reads it", "definitions": "the former name of $defs",
	"$anchor": refused, "$dynamicAnchor": refused, "$dynamicRef": refused, "$recursiveAnchor": refused, "$recursiveRef": refused,
	"$vocabulary": refused, "additionalItems": refused, "dependencies": refused,
}

const refused = "the service refuses it"

// notInResources are members of x-resource that random types do not have.
var notInResources = map[string]string{"accepts": "it is about the previous version of a schema"}

// TestFormVocabulary: twenty random schemas are accepted, and have each keyword, each format and each member of
// x-resource of the vocabulary.
func TestFormVocabulary(t *testing.T) {
	all := dialect.Keywords()
	for _, k := range keyword.All() {
		all = append(all, k.Name)
	}
	for seed := range uint64(10) {
		r := newRandomForm(seed)
		files, _ := r.types(20)
		app := application()
		if _, err := app.Load(schema.Source{Name: "random", FS: files}); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		seen, seenFormats, seenResources := map[string]bool{}, map[string]bool{}, map[string]bool{}
		var look func(s any)
		look = func(s any) {
			object, is := s.(map[string]any)
			if !is {
				return
			}
			for name, value := range object {
				seen[name] = true
				if format, is := value.(string); is && name == "format" {
					seenFormats[format] = true
				}
				if resource, is := value.(map[string]any); is && name == "x-resource" {
					for member := range resource {
						seenResources[member] = true
					}
				}
				dialect.Applied(name, value, func(_ string, s any) { look(s) })
			}
		}
		for _, file := range files {
			var s any
			if err := json.Unmarshal(file.Data, &s); err != nil {
				t.Fatal(err)
			}
			look(s)
		}
		for _, name := range all {
			if _, left := notInForms[name]; seen[name] == left {
				t.Errorf("seed %d: %s: %v, left out because %q", seed, name, seen[name], notInForms[name])
			}
		}
		for _, format := range vocabulary("subschemas", "properties", "format")["enum"].([]any) {
			if !seenFormats[format.(string)] {
				t.Errorf("seed %d: no value has the format %s", seed, format)
			}
		}
		for name := range vocabulary("resource", "properties") {
			if _, left := notInResources[name]; seenResources[name] == left {
				t.Errorf("seed %d: x-resource.%s: %v, left out because %q", seed, name, seenResources[name], notInResources[name])
			}
		}
	}
}

// vocabulary returns a part of the definitions of the vocabulary.
func vocabulary(path ...string) map[string]any {
	at := keyword.Vocabulary()
	for _, name := range append([]string{"$defs"}, path...) {
		at, _ = at[name].(map[string]any)
	}
	return at
}
