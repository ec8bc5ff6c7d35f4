package schema

import (
	"fmt"
	"testing"
)

// What is derived is not stored: it has no index, and cannot be asked for.
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
			t.Errorf("%s can be asked for", name)
		}
		if !loaded.Shows(name) {
			t.Errorf("%s is not shown", name)
		}
	}
}
