package feed

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"marquee/integration/service"
)

// TestErasedChanges checks that no change shows a value when its erasure is complete, although the
// change was read with others before.
func TestErasedChanges(t *testing.T) { service.EachStore(t, testErasedChanges) }

func testErasedChanges(t *testing.T, fresh service.NewStore) {
	c := service.ConverseWith(t, service.NewPlain(t, fresh, service.TypeWith("persons", "", `"name": {"type": "string", "x-personal": true}`)))
	for _, id := range []string{"a", "b"} {
		c.Send("PUT", "/api/v1/persons/"+id+"?context=main", `{"name": "geheim"}`, http.StatusCreated, "")
	}
	page := func(after string) (string, string) {
		body := c.Send("GET", "/api/v1/changes?context=main&type=persons&limit=1&after="+url.QueryEscape(after), "", http.StatusOK, "")
		position, _ := body.JSON().(map[string]any)["position"].(string)
		return string(body.Body), position
	}
	first, position := page("begin")
	c.Send("POST", "/api/v1/persons/b/erase?context=main", "", http.StatusOK, `{"complete": true}`)
	second, _ := page(position)
	if !strings.Contains(first, "geheim") || !strings.Contains(second, `"id":"b"`) || strings.Contains(second, "geheim") {
		t.Errorf("after %s comes %s", first, second)
	}
}
