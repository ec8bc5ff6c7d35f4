package openapi

import "testing"

// Readers of YAML 1.1, such as PyYAML, refuse a bare = and read << or 10:30:00 as something
// other than a string.
func TestYAMLQuotesWhatIsNotAStringEverywhere(t *testing.T) {
	for object, want := range map[string]string{
		`{"enum": ["=", "<<", "10:30:00", "yes", "?", "---", ".inf", ""]}`: `enum:
- "="
- "<<"
- "10:30:00"
- "yes"
- "?"
- "---"
- ".inf"
- ""
`,
		`{"=": {"<<": "a\u0085\nb: #"}}`: `"=":
  "<<": "a\u0085\nb: #"
`,
		`{"type": "object", "x": 1000000, "no": true}`: `"no": true
type: object
"x": 1000000
`,
	} {
		got, err := toYAML([]byte(object))
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s", object, err, got)
		}
	}
}
