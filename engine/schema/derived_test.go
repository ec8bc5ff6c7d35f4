package schema

import (
	"fmt"
	"testing"
)

// Derived values are not stored: they have no index, and cannot be queried.
func TestDerived(t *testing.T) {
	loaded := load(t, `"part": {"x-ref": "things"}, "all": {"type": "object", "readOnly": true, "x-derived": true, "properties": {
		"first": {"x-ref": "things"}, "rest": {"type": "array", "items": {"x-ref": "things"}}}}`, "")
	if got := fmt.Sprint(loaded.Indexes); got != "[{part }]" {
		t.Errorf("the indexes are %s", got)
	}
	if len(loaded.TermFields()) > 0 {
		t.Errorf("%v has terms", loaded.TermFields())
	}
	for _, name := range []string{"all", "all.first", "all.first.id", "all.rest"} {
		if _, err := loaded.Field("where", name); err == nil {
			t.Errorf("%s can be queried", name)
		}
		if !loaded.Shows(name) {
			t.Errorf("%s is not shown", name)
		}
	}
}
