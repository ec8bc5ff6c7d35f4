package document

import "testing"

func TestErase(t *testing.T) {
	personal := &Shape{Personal: true, HasPersonal: true}
	item := &Shape{HasPersonal: true, Properties: map[string]*Shape{"phone": personal, "kind": AnyShape}}
	shape := &Shape{HasPersonal: true, Properties: map[string]*Shape{
		"name": personal, "ward": AnyShape,
		"contacts": {Types: []string{"array"}, HasPersonal: true, Items: item, Element: item},
		"map":      {HasPersonal: true, Extra: personal},
	}}
	for text, want := range map[string]string{
		`{"name":"A","ward":"B"}`:                                 `{"ward":"B"}`,
		`{"contacts":[{"kind":"x","phone":1},{"kind":"y"},null]}`: `{"contacts":[{"kind":"x"},{"kind":"y"},null]}`,
		`{"map":{"a":{"b":1}}}`:                                   `{"map":{}}`,
		`{"contacts":"text","map":null}`:                          `{"contacts":"text","map":null}`,
	} {
		value, err := DecodeObject([]byte(text), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		erased := shape.Erase(value)
		if got := string(Append(nil, value)); got != want || erased != (text != want) {
			t.Errorf("%s: %s, %t", text, got, erased)
		}
		if shape.Erase(value) {
			t.Errorf("%s is erased again", text)
		}
	}
	for pointer, want := range map[string]bool{"": false, "/name": true, "/name/x": true, "/ward": false, "/contacts/0/phone": true, "/contacts/0/kind": false,
		"/contacts/0": false, "/map/0": true, "/nothing": false} {
		if got := shape.IsPersonal(pointer); got != want {
			t.Errorf("%q: %t", pointer, got)
		}
	}
}
