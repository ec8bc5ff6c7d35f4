package advertising

import (
	"fmt"
	"strings"
	"testing"

	"marquee/integration/service"
)

// TestRenderedHTMLIsBounded: values with which the html of a layout would be too
// large are refused. Creatives that are too large because of their layout say so,
// and can be changed otherwise.
func TestRenderedHTMLIsBounded(t *testing.T) { service.EachStore(t, testRenderedHTMLIsBounded) }

func testRenderedHTMLIsBounded(t *testing.T, fresh service.NewStore) {
	const limit = 1 << 20
	c := service.Converse(t, fresh)
	layout := func(slots int) string {
		return fmt.Sprintf(`{"name": "L", "textConstraints": [{"tag": "a"}], "html": %q}`, strings.Repeat("{{a}}", slots))
	}
	creative := func(id string, characters int) string {
		return fmt.Sprintf(`{"id": %q, "name": "C", "layout": "l", "verifiedSafe": true, "dimensionType": "FLEXIBLE", "layoutParameters": {"a": %q}}`,
			id, strings.Repeat("x", characters))
	}
	tooLarge := fmt.Sprintf(`{"messages": [{"code": "error.creative.html.too.large", "params": {"field": "/layoutParameters", "limit": %d, "type": "creatives"}}]}`, limit)
	warned := fmt.Sprintf(`{"renderedHtml": "<absent>", "validationWarnings": [{"code": "warning.creative.html.too.large", "params": {"field": "/layoutParameters", "limit": %d}}]}`, limit)
	whole := func(characters, slots int) string {
		return fmt.Sprintf(`{"renderedHtml": %q, "validationWarnings": []}`, strings.Repeat("x", characters*slots))
	}

	c.Send("POST", "/api/v1/layouts/l?context=main", layout(1024), 201, "")
	c.Send("POST", "/api/v1/creatives/c?context=main", creative("c", 1025), 422, tooLarge)
	var many strings.Builder
	for i := range 1000 {
		many.WriteString("," + creative(fmt.Sprint("m", i), 2000))
	}
	c.Faults(c.Send("POST", "/api/v1/creatives?context=main", "["+many.String()[1:]+"]", 422, ""), 100)
	c.Send("GET", "/api/v1/creatives?context=main", "", 200, `{"totalCount": 0}`)
	c.Send("POST", "/api/v1/creatives/c?context=main", creative("c", 1024), 201, whole(1024, 1024))
	c.Send("POST", "/api/v1/librarycreatives/c?context=main", creative("c", 1025), 422, strings.ReplaceAll(tooLarge, `"creatives"`, `"librarycreatives"`))

	c.Send("POST", "/api/v1/layouts/l?context=main", layout(1025), 200, "")
	c.Send("GET", "/api/v1/creatives/c?context=main", "", 200, warned)
	c.Send("GET", "/api/v1/creatives?context=main", "", 200, `{"totalCount": 1, "results": [`+warned+`]}`)
	c.Send("POST", "/api/v1/creatives/c?context=main", `{"name": "D"}`, 200, strings.Replace(warned, "{", `{"name": "D", `, 1))
	c.Send("POST", "/api/v1/creatives/c?context=main", creative("c", 1026), 422, tooLarge)
	c.Send("POST", "/api/v1/creatives/c?context=main", creative("c", 2), 200, whole(2, 1025))

	// Values of a library creative that are too large for one who takes them.
	c.Send("POST", "/api/v1/layouts/l?context=main", layout(1024), 200, "")
	c.Send("POST", "/api/v1/librarycreatives/lib?context=main", creative("lib", 1024), 201, "")
	c.Send("POST", "/api/v1/creatives/taking?context=main", `{"name": "C", "libraryCreative": "lib"}`, 201, whole(1024, 1024))
	c.Send("POST", "/api/v1/librarycreatives/lib?context=main", `{"layoutParameters": {"a": "y"}}`, 200, "")
	c.Send("POST", "/api/v1/layouts/l?context=main", layout(10_000), 200, "")
	c.Send("POST", "/api/v1/librarycreatives/lib?context=main", creative("lib", 105), 422, "")
	c.Send("POST", "/api/v1/layouts/l?context=main", layout(10_001), 422,
		`{"messages": [{"code": "error.layout.slots.too.many", "params": {"field": "/html", "limit": 10000}}]}`)
}

// TestObjectWarningsAreBounded: an object has as many warnings as are listed, and
// one that says how many are not; which ones, does not change from write to
// write.
func TestObjectWarningsAreBounded(t *testing.T) { service.EachStore(t, testObjectWarningsAreBounded) }

func testObjectWarningsAreBounded(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	constraints := func(kind string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,{"tag": "%s%04d", "required": true}`, kind, i)
		}
		return "[" + strings.TrimPrefix(b.String(), ",") + "]"
	}
	// The slots are in comments, so that the layout has no warnings itself.
	layout := func(texts, urls int) string {
		var html strings.Builder
		for i := range texts {
			fmt.Fprintf(&html, "<!-- {{t%04d}} -->", i)
		}
		for i := range urls {
			fmt.Fprintf(&html, "<!-- {{u%04d}} -->", i)
		}
		return fmt.Sprintf(`{"name": "L", "html": %q, "textConstraints": %s, "urlConstraints": %s}`, html.String(), constraints("t", texts), constraints("u", urls))
	}
	listed := func(unlisted int) string {
		var b strings.Builder
		for i := range 100 {
			fmt.Fprintf(&b, `{"code": "warning.creative.slot.empty", "params": {"slot": "t%04d", "field": "/layoutParameters/t%04d"}},`, i, i)
		}
		return fmt.Sprintf(`{"validationWarnings": [%s{"type": "ValidationWarningMessage", "code": "warning.others.unlisted", "params": {"count": %d, "field": ""}}]}`, b.String(), unlisted)
	}
	creative := `{"name": "C", "layout": "l", "verifiedSafe": true, "dimensionType": "FLEXIBLE"}`
	total := func(n int) string { return fmt.Sprintf(`{"totalCount": %d}`, n) }

	c.Send("POST", "/api/v1/layouts/l?context=main", layout(1000, 1000), 201, `{"validationWarnings": []}`)
	c.Send("POST", "/api/v1/creatives/c?context=main", creative, 201, listed(1900))
	c.Send("GET", "/api/v1/creatives/c?context=main", "", 200, listed(1900))
	c.Send("GET", "/api/v1/notifications?context=main", "", 200, total(101))
	first := c.Send("GET", "/api/v1/creatives/c?context=main", "", 200, "").Header.Get("ETag")
	if again := c.Send("POST", "/api/v1/creatives/c?context=main", creative, 200, listed(1900)).Header.Get("ETag"); again != first {
		t.Errorf("the same object has the tag %s, and had %s", again, first)
	}
	// One more or less that is not listed is no news.
	c.Send("POST", "/api/v1/creatives/c?context=main", `{"layoutParameters": {"u0007": "https://x.example/"}}`, 200, listed(1899))
	c.Send("GET", "/api/v1/notifications?context=main", "", 200, total(101))
	c.Send("POST", "/api/v1/layouts/l?context=main", layout(100, 1), 200, "")
	c.Send("GET", "/api/v1/creatives/c?context=main", "", 200, listed(2)) // u0000, and u0007 that is unknown
	c.Send("POST", "/api/v1/layouts/l?context=main", layout(100, 0), 200, "")
	c.Send("GET", "/api/v1/creatives/c?context=main", "", 200, listed(1))
	c.Send("POST", "/api/v1/creatives/c?context=main", `{"layoutParameters": {}}`, 200,
		strings.Replace(listed(0), `,{"type": "ValidationWarningMessage", "code": "warning.others.unlisted", "params": {"count": 0, "field": ""}}`, "", 1))
	c.Send("POST", "/api/v1/layouts/l?context=main", layout(1001, 1), 422, `{"messages": [{"code": "error.items.too.many", "params": {"field": "/textConstraints", "limit": 1000}}]}`)
}
