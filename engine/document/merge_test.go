package document

import "testing"

// TestMergeShown sends values as clients see them.
func TestMergeShown(t *testing.T) {
	text := &Shape{Types: []string{"string"}, Plain: true}
	login := &Shape{Types: []string{"object"}, Properties: map[string]*Shape{
		"user": text, "pin": {WriteOnly: true}, "key": {Secret: true}, "last": {ReadOnly: true}, "kind": {HasDefault: true, Default: "a"}}}
	shape := &Shape{Properties: map[string]*Shape{"login": login, "logins": {Items: login}}}
	stored := `{"user":"u","pin":"1","key":"k","last":"t","gone":1}`
	for sent, kept := range map[string]string{
		`{"user":"u","key":"k"}`:                        "always",
		`{"user":"u","key":"k","kind":"a"}`:             "always",
		`{"user":"u","pin":"1","key":"k"}`:              "always",
		`{"user":"u"}`:                                  "secrets hidden",
		`{"user":"u","key":"k","pin":"2"}`:              "",
		`{"user":"u","key":"other"}`:                    "",
		`{"user":"v","key":"k"}`:                        "",
		`{"key":"k"}`:                                   "",
		`{"user":"u","key":"k","kind":"b"}`:             "",
		`{"user":"u","key":"k","more":1}`:               "",
		`{"user":{"user":"u"},"key":"k"}`:               "",
		`{"user":"u","key":"k","last":"x"}`:             "always",
		`{"user":"u","pin":"1","key":"k","gone":1}`:     "always",
		`{"user":"u","pin":null,"key":"k"}`:             "",
		`{"user":"u","pin":"1","key":null,"last":null}`: "",
	} {
		for _, hidden := range []bool{false, true} {
			for _, form := range [][2]string{{`{"login":`, `}`}, {`{"logins":[`, `]}`}} {
				before, patch := object(t, form[0]+stored+form[1]), object(t, form[0]+sent+form[1])
				want := patch
				if kept == "always" || kept != "" && hidden {
					want = before
				}
				if merged := Merge(shape, before, patch, hidden); !Equal(merged, want) {
					t.Errorf("%s with secrets hidden %t: %s", sent, hidden, Append(nil, merged))
				}
			}
		}
	}
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	o, err := DecodeObject([]byte(text), DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// The cases of RFC 7396, appendix A, below a member: a body is an object.
func TestMergePatch(t *testing.T) {
	for _, c := range []struct{ value, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
	} {
		decode := func(text string) any {
			object, err := DecodeObject([]byte(`{"x":`+text+`}`), DefaultLimits)
			if err != nil {
				t.Fatal(err)
			}
			return object["x"]
		}
		value, patch := decode(c.value), decode(c.patch)
		if got := string(Append(nil, MergePatch(nil, value, patch))); got != c.want {
			t.Errorf("%s with %s is %s", c.value, c.patch, got)
		}
		if !Equal(value, decode(c.value)) || !Equal(patch, decode(c.patch)) {
			t.Errorf("%s with %s changes its arguments", c.value, c.patch)
		}
	}
}
