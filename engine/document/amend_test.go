package document

import "testing"

// An amended value is what the schema asks for; the stored one stays as it is.
func TestAmended(t *testing.T) {
	unit := &Shape{Default: "pcs", HasDefault: true}
	line := &Shape{Properties: map[string]*Shape{"unit": unit}, Fills: []string{"unit"}, Amends: true}
	phone := &Shape{Default: "none", HasDefault: true, HasPersonal: true, Personal: true}
	shape := &Shape{Properties: map[string]*Shape{"lines": {Items: line, Amends: true, AmendsMembers: true}, "phone": phone},
		Fills: []string{"phone"}, Amends: true, AmendsMembers: true}
	for _, c := range []struct {
		stored, want string
		erased       bool
	}{
		{`{}`, `{"phone":"none"}`, false},
		{`{}`, `{}`, true},
		{`{"phone":null}`, `{"phone":null}`, false},
		{`{"lines":[{"n":1},{"unit":"h"}],"phone":"1"}`, `{"lines":[{"n":1,"unit":"pcs"},{"unit":"h"}],"phone":"1"}`, false},
		{`{"lines":[{}]}`, `{"lines":[{"unit":"pcs"}]}`, true},
		{`{"lines":"none","phone":"1"}`, `{"lines":"none","phone":"1"}`, false},
	} {
		stored, err := DecodeObject([]byte(c.stored), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		amended, differs := shape.Amended(stored, c.erased)
		if got := string(Append(nil, amended)); got != c.want || differs != (c.want != c.stored) {
			t.Errorf("%s is amended to %s (%t), want %s", c.stored, got, differs, c.want)
		}
		if after := string(Append(nil, stored)); after != c.stored {
			t.Errorf("%s has become %s", c.stored, after)
		}
		if again, differs := shape.Amended(amended, c.erased); differs {
			t.Errorf("%s is amended again to %s", c.stored, Append(nil, again))
		}
	}
}
