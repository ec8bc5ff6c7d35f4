package history

import (
	"strconv"
	"strings"
	"testing"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/store"
)

// account has a secret of its own and one within another property.
var account = &document.Shape{HasSecrets: true, Properties: map[string]*document.Shape{
	"name": document.AnyShape,
	"a/b":  document.AnyShape,
	"key":  {Secret: true, HasSecrets: true},
	"login": {HasSecrets: true, Properties: map[string]*document.Shape{
		"user": document.AnyShape, "password": {Secret: true, HasSecrets: true},
	}},
}}

func TestFields(t *testing.T) {
	login := map[string]any{"user": "ann", "password": "x"}
	for name, c := range map[string]struct {
		before, after      map[string]any
		stateBefore, state string
		touched            []string
		want               string
	}{
		"nothing": {state: "ACTIVE", stateBefore: "ACTIVE", want: `[]`},
		"created": {state: "ACTIVE", after: map[string]any{"name": "A"},
			want: `[{"field":"/objectState","to":"ACTIVE"},{"field":"/name","to":"A"}]`},
		"archived": {stateBefore: "ACTIVE", state: "ARCHIVED",
			want: `[{"field":"/objectState","from":"ACTIVE","to":"ARCHIVED"}]`},
		"changed": {before: map[string]any{"name": "A"}, after: map[string]any{"name": "B"}, want: `[{"field":"/name","from":"A","to":"B"}]`},
		"removed": {before: map[string]any{"name": "A"}, want: `[{"field":"/name","from":"A"}]`},
		"escaped": {after: map[string]any{"a/b": 1}, want: `[{"field":"/a~1b","to":1}]`},
		"secret":  {before: map[string]any{"key": "old"}, after: map[string]any{"key": "new"}, want: `[{"field":"/key"}]`},
		"within":  {after: map[string]any{"login": login}, want: `[{"field":"/login","to":{"user":"ann"}}]`},
		"touched": {touched: []string{"password"}, want: `[{"field":"/password"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			got := Fields(account, document.Diff(c.before, c.after), c.stateBefore, c.state, c.touched...)
			if string(got) != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// Changes that were stored before a property became a secret lose its values.
func TestRedact(t *testing.T) {
	for name, c := range map[string]struct {
		stored, want string
	}{
		"a secret":       {`[{"field":"/name","to":"A"},{"field":"/key","from":"old","to":"new"}]`, `[{"field":"/name","to":"A"},{"field":"/key"}]`},
		"a part":         {`[{"field":"/login","to":{"password":"x","user":"ann"}}]`, `[{"field":"/login","to":{"user":"ann"}}]`},
		"nothing secret": {`[{"field":"/name","from":"A","to":"B"}]`, ""},
		"done before":    {`[{"field":"/key"},{"field":"/login","to":{"user":"ann"}}]`, ""},
		"unknown":        {`[{"field":"/gone","to":"A"}]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			want, changed := c.want, true
			if want == "" {
				want, changed = c.stored, false
			}
			got, did, err := Redact(account, []byte(c.stored))
			if err != nil || string(got) != want || did != changed {
				t.Errorf("got %s, %t, %v, want %s, %t", got, did, err, want, changed)
			}
		})
	}
}

// Changes that were stored before a property became write-only are shown without its values.
func TestRedactWriteOnly(t *testing.T) {
	pin := &document.Shape{WriteOnly: true, HasWriteOnly: true}
	shape := &document.Shape{HasWriteOnly: true, Properties: map[string]*document.Shape{"pin": pin,
		"login": {HasWriteOnly: true, Properties: map[string]*document.Shape{"user": document.AnyShape, "pin": pin}}}}
	got, changed, err := Redact(shape, []byte(`[{"field":"/pin","from":"1","to":"2"},{"field":"/login","to":{"pin":"1","user":"ann"}}]`))
	if want := `[{"field":"/pin"},{"field":"/login","to":{"user":"ann"}}]`; err != nil || !changed || string(got) != want {
		t.Errorf("got %s, %t, %v, want %s", got, changed, err, want)
	}
}

// An erasure removes personal values, and leaves the rest.
func TestErase(t *testing.T) {
	personal := &document.Shape{Personal: true, HasPersonal: true}
	shape := &document.Shape{HasPersonal: true, Properties: map[string]*document.Shape{
		"name": personal, "ward": document.AnyShape,
		"contact": {HasPersonal: true, Properties: map[string]*document.Shape{"phone": personal, "kind": document.AnyShape}},
	}}
	stored := `[{"field":"/name","from":"A","to":"B"},{"field":"/ward","to":"C"},{"field":"/contact","from":{"kind":"x","phone":1},"to":{"kind":"y"}}]`
	want := `[{"field":"/name"},{"field":"/ward","to":"C"},{"field":"/contact","from":{"kind":"x"},"to":{"kind":"y"}}]`
	got, changed, err := Erase(shape, []byte(stored))
	if err != nil || !changed || string(got) != want {
		t.Errorf("got %s, %t, %v, want %s", got, changed, err, want)
	}
	if again, changed, err := Erase(shape, got); err != nil || changed || string(again) != want {
		t.Errorf("again: got %s, %t, %v", again, changed, err)
	}
}

func TestMessage(t *testing.T) {
	for version, code := range map[int64]string{1: message.AuditCreated.Code, 2: message.AuditUpdated.Code} {
		m := Message(store.Change{Collection: "wards", ID: "w", Version: version})
		if m.Code() != code || m.Params()["type"] != "wards" || m.Params()["id"] != "w" {
			t.Errorf("version %d has the message %+v", version, m)
		}
	}
}

// Only new warnings are reported to the creator of an object: neither those that stay
// nor another number of those that are not listed.
func TestAppeared(t *testing.T) {
	array := func(warnings ...message.Message) []byte {
		dst := []byte{'['}
		for i, w := range warnings {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, Encode(w)...)
		}
		return append(dst, ']')
	}
	warn := func(n int) message.Message {
		return message.PropertyRequired.With(message.Params{"field": "/" + strconv.Itoa(n)})
	}
	for name, c := range map[string]struct {
		before, after, want []byte
	}{
		"first":           {nil, array(warn(1)), array(warn(1))},
		"one more":        {array(warn(1)), array(warn(2), warn(1)), array(warn(2))},
		"the same":        {array(warn(1)), array(warn(1)), nil},
		"fewer":           {array(warn(1), warn(2)), array(warn(2)), nil},
		"more not listed": {array(Unlisted(3)), array(Unlisted(4)), nil},
		"now not listed":  {array(warn(1)), array(warn(1), Unlisted(1)), array(Unlisted(1))},
	} {
		if got := Appeared(c.before, c.after); string(got) != string(c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// Every store preserves the text, so that equal warnings stay equal.
func TestEncodeHasNoUnnecessaryEscapes(t *testing.T) {
	got := string(Encode(message.PropertyRequired.With(message.Params{"field": "/<a&b>"})))
	if document.MemberText([]byte(got), "code") != message.PropertyRequired.Code {
		t.Errorf("%s has no code", got)
	}
	for _, escape := range []string{`\u003c`, `\u0026`, `\u003e`} {
		if strings.Contains(got, escape) {
			t.Errorf("%s has %s", got, escape)
		}
	}
}
