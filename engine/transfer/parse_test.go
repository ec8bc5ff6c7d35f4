package transfer

import (
	"testing"
)

// An envelope contains a type and an object, and the network where the import
// does not specify it.
func TestEnvelopes(t *testing.T) {
	registry := newEngine(t).Registry()
	for _, c := range []struct{ context, text, key, code string }{
		{"main", `{"type": "folders", "object": {"id": "a"}}`, "folders main a", ""},
		{"", `{"type": "folders", "context": "main", "object": {"id": "a"}}`, "folders main a", ""},
		{"", `{"type": "networks", "object": {"id": "n"}}`, "networks  n", ""},
		{"main", `{"type": "networks", "companionOf": "other", "object": {"id": "other"}}`, "networks  main", ""},
		{"", `{"type": "folders", "object": {"id": "a"}}`, "", "error.parameter.invalid"},
		{"main", `{"type": "folders", "context": "other", "object": {"id": "a"}}`, "", "error.parameter.invalid"},
		{"main", `{"type": "none", "object": {"id": "a"}}`, "", "error.batch.type.unknown"},
		{"main", `{"type": "folders", "companionOf": "other", "object": {"id": "a"}}`, "", "error.batch.member"},
		{"main", `{"type": "folders", "object": {"id": "a"}, "more": 1}`, "", "error.batch.member"},
		{"main", `{"id": "a"}`, "", "error.batch.member"},
		{"main", `{"type": "folders", "object": {"id": "a"}`, "", "error.body.syntax"},
	} {
		p := parser{registry: registry, context: c.context, seed: "s"}
		it, faults := p.parse(line{text: []byte(c.text)})
		switch {
		case len(faults) > 0 && faults[0].Code() != c.code, len(faults) == 0 && c.code != "":
			t.Errorf("%s: %v, want %s", c.text, faults, c.code)
		case len(faults) == 0 && it.t.Name+" "+it.network+" "+it.id != c.key:
			t.Errorf("%s: %s %q %s", c.text, it.t.Name, it.network, it.id)
		}
	}
}

// The id of an object without one depends on the import and the line.
func TestGeneratedIDs(t *testing.T) {
	registry := newEngine(t).Registry()
	id := func(seed string, number int64) string {
		p := parser{registry: registry, context: "main", seed: seed}
		it, faults := p.parse(line{place: place{number: number}, text: []byte(`{"type": "folders", "object": {"name": "A"}}`)})
		if len(faults) > 0 || it.object["id"] != it.id {
			t.Fatalf("%v %v", faults, it.object)
		}
		return it.id
	}
	if first, again := id("s", 1), id("s", 1); len(first) != 16 || first != again {
		t.Errorf("the ids are %s and %s, want the same 16 characters", first, again)
	}
	if id("s", 1) == id("s", 2) || id("s", 1) == id("t", 1) {
		t.Error("other lines have the same id")
	}
}

func TestSkippedLines(t *testing.T) {
	for text, want := range map[string]bool{"": true, " \t": true, "# note": true, "  # note": true, "{}": false, "x # note": false} {
		if skipped([]byte(text)) != want {
			t.Errorf("%q is skipped: %v", text, !want)
		}
	}
	if skipped(nil) {
		t.Error("a line that is too long is skipped")
	}
}
