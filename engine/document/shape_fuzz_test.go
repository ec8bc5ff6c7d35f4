package document

import (
	"bytes"
	"testing"
	"time"
	"unicode/utf8"

	"marquee/engine/message"
)

// sample is a shape with all features of the normaliser.
func sample() *Shape {
	text, team := &Shape{Types: []string{"string"}}, &Shape{Ref: &Reference{Type: "teams"}}
	moment := &Shape{Types: []string{"string"}, Time: true}
	entry := &Shape{Types: []string{"object"}, Complete: true, Properties: map[string]*Shape{
		"teams":   {Types: []string{"array"}, Items: team, UniqueItems: true},
		"negated": {Types: []string{"boolean"}, Default: false, HasDefault: true},
	}}
	node := &Shape{Types: []string{"object"}}
	node.Properties = map[string]*Shape{"team": team, "at": moment, "child": node, "children": {Types: []string{"array"}, Items: node}}
	return &Shape{Types: []string{"object"}, Properties: map[string]*Shape{
		"name":     text,
		"team":     team,
		"readOnly": {Types: []string{"string"}, ReadOnly: true},
		"weight":   {Types: []string{"integer"}, Default: int64(1), HasDefault: true},
		"at":       moment,
		"times":    {Types: []string{"array"}, Items: moment, UniqueItems: true},
		"settings": {Types: []string{"object"}, Properties: map[string]*Shape{
			"on":   {Types: []string{"boolean"}, Default: true, HasDefault: true},
			"made": {Types: []string{"string"}, ReadOnly: true, Default: "here", HasDefault: true},
			"list": {Types: []string{"array"}, Default: []any{int64(1)}, HasDefault: true},
		}},
		"targeting": {Types: []string{"object"}, Complete: true, Properties: map[string]*Shape{
			"one": entry, "many": {Types: []string{"array"}, Items: entry},
			"deep": {Types: []string{"object"}, Properties: map[string]*Shape{"one": entry}},
		}},
		"byKey": {Types: []string{"object"}, Extra: entry},
		"free":  {Types: []string{"object"}},
		"node":  node,
	}}
}

var samples = []string{
	`{}`, `{"name":null,"weight":null,"targeting":null}`, `{"name":"a","unknown":1,"readOnly":"x"}`,
	`{"team":"a","node":{"team":{"id":"b","name":"B"},"child":{"child":{"team":"c","x":1}},"children":[{},{"at":"2030-01-01"}]}}`,
	`{"team":{"id":1}}`, `{"team":{}}`, `{"team":""}`, `{"team":"."}`, `{"team":{"id":"a\u0001"}}`, `{"team":["a"]}`,
	`{"at":"2030-01-01T00:00:00+02:00","times":["2030-01-01T00:00:00Z","2030-01-01T02:00:00+02:00"]}`, `{"at":"soon"}`,
	`{"settings":{}}`, `{"settings":{"on":false,"made":"there","list":[]}}`, `{"settings":null}`, `{"settings":[1]}`,
	`{"targeting":{}}`, `{"targeting":{"one":{}}}`, `{"targeting":{"one":{"negated":false,"teams":[]}}}`,
	`{"targeting":{"one":{"teams":["a",{"id":"a"}]},"many":[],"deep":{"one":{}}}}`, `{"targeting":{"many":[{},{"negated":true}]}}`,
	`{"byKey":{"a":{},"b":{"teams":["x"]},"c":null}}`, `{"free":{"team":{"id":"x","name":"X"},"a":null}}`,
}

// normalised normalises a copy, and returns the number of faults.
func normalised(t *testing.T, shape *Shape, object map[string]any) (map[string]any, int) {
	t.Helper()
	object, faults := Clone(object).(map[string]any), 0
	n := Normaliser{
		Unknown: func(at Pointer, _ bool) { checkPointer(t, at) },
		Fault: func(d *message.Definition, at Pointer, params message.Params) {
			checkPointer(t, at)
			faults++
		},
	}
	n.Object(shape, object)
	return object, faults
}

func checkPointer(t *testing.T, at Pointer) {
	t.Helper()
	if len(at) == 0 {
		t.Error("a pointer to the whole object")
	}
}

// FuzzNormalise checks that normalising again changes nothing, so that clients can
// send back what they read.
func FuzzNormalise(f *testing.F) {
	for _, body := range samples {
		f.Add([]byte(body))
	}
	shape := sample()
	f.Fuzz(func(t *testing.T, body []byte) {
		object, err := DecodeObject(body, DefaultLimits)
		if err != nil {
			return
		}
		once, faults := normalised(t, shape, object)
		twice, again := normalised(t, shape, once)
		if !Equal(once, twice) {
			t.Fatalf("%s became %s, then %s", body, Append(nil, once), Append(nil, twice))
		}
		if faults == 0 && again > 0 {
			t.Fatalf("%d faults in %s, which came from %s", again, Append(nil, once), body)
		}
		if faults > 0 {
			return
		}
		shape.References(once, func(at Pointer, ref *Reference, id, network string) {
			if !ValidID(id) || ref.Type != "teams" || network != "" {
				t.Fatalf("at %s: the id %q of %v in %q", at, id, ref, network)
			}
		})
	})
}

// FuzzMerge checks the rules of an update.
func FuzzMerge(f *testing.F) {
	for i, stored := range samples {
		f.Add([]byte(stored), []byte(samples[(i*7+3)%len(samples)]))
	}
	f.Add([]byte(``), []byte(`{"weight":null,"name":"a"}`))
	f.Add([]byte(`{"weight":5}`), []byte(`{"weight":null}`))
	shape := sample()
	f.Fuzz(func(t *testing.T, before, change []byte) {
		patch, err := DecodeObject(change, DefaultLimits)
		if err != nil {
			return
		}
		stored, err := DecodeObject(before, DefaultLimits)
		if err != nil {
			stored = nil
		}
		checkMerge(t, shape, stored, patch)
	})
}

func checkMerge(t *testing.T, shape *Shape, stored, patch map[string]any) {
	t.Helper()
	storedBefore, patchBefore := Append(nil, stored), Append(nil, patch)
	merged := Merge(shape, stored, patch, false)
	if !bytes.Equal(storedBefore, Append(nil, stored)) || !bytes.Equal(patchBefore, Append(nil, patch)) {
		t.Fatalf("merging %s into %s changed what it was given", patchBefore, storedBefore)
	}
	if again := Merge(shape, merged, patch, false); !Equal(merged, again) {
		t.Fatalf("%s merged into %s is %s, and once more %s", patchBefore, storedBefore, Append(nil, merged), Append(nil, again))
	}
	if stored != nil && !Equal(stored, Merge(shape, stored, nil, false)) {
		t.Fatalf("an empty patch changes %s", storedBefore)
	}
	for name, value := range merged {
		if want := expected(shape, stored, patch, name); !Equal(want, value) {
			t.Fatalf("%s merged into %s: %q is %#v, want %#v", patchBefore, storedBefore, name, value, want)
		}
	}
	for _, source := range []map[string]any{stored, patch} {
		for name := range source {
			if _, there := merged[name]; !there && expected(shape, stored, patch, name) != nil {
				t.Fatalf("%s merged into %s: %q is lost", patchBefore, storedBefore, name)
			}
		}
	}
}

// expected returns the value of a merged member; nil if it must be absent.
func expected(shape *Shape, stored, patch map[string]any, name string) any {
	value, sent := patch[name]
	was, there := stored[name]
	member := shape.Properties[name]
	switch {
	case sent && value != nil && there && (sight{}).same(shape.Member(name), was, value):
		return was
	case sent && value != nil:
		return value
	case !sent && there:
		return was
	case member != nil && member.HasDefault && (sent || stored == nil):
		return member.Default
	}
	return nil
}

// FuzzTime checks that converting a stored time does not change it.
func FuzzTime(f *testing.F) {
	for _, s := range []string{"2030-01-01T00:00:00Z", "2030-01-01T00:00:00.1234567+14:00", "2030-01-01T00:00", "2030-01-01T24:00:00Z",
		"0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59.9999-01:00", "2030-06-30T23:59:60Z", "2030-01-01", "now"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		canonical, ok := CanonicalTime(s)
		if !ok {
			return
		}
		if again, ok := CanonicalTime(canonical); !ok || again != canonical {
			t.Fatalf("%q became %q, then %q", s, canonical, again)
		}
		if _, err := time.Parse(TimeLayout, canonical); err != nil || len(canonical) != len(TimeLayout) {
			t.Fatalf("%q became %q: %v", s, canonical, err)
		}
	})
}

// FuzzValidID checks the rules for ids.
func FuzzValidID(f *testing.F) {
	for _, id := range []string{"", ".", "..", "...", "a", "a/b", "a;b", " ", "é", "\xff", "a\x00", "\u0085", "\u2028", "%2F", "日本語"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if !ValidID(id) {
			if len(id) > 2 && len(id) <= MaxIDBytes && utf8.ValidString(id) && bytes.IndexFunc([]byte(id), isControl) < 0 {
				t.Fatalf("%q is rejected", id)
			}
			return
		}
		if id == "" || id == "." || id == ".." || len(id) > MaxIDBytes || bytes.IndexFunc([]byte(id), isControl) >= 0 {
			t.Fatalf("%q is accepted", id)
		}
		if again, err := Decode(AppendString(nil, id), Limits{}); err != nil || again != id {
			t.Fatalf("%q becomes %#v: %v", id, again, err)
		}
	})
}

func isControl(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }
