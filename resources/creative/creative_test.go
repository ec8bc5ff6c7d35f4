package creative_test

import (
	"reflect"
	"strings"
	"testing"

	"marquee/resources/resourcetest"
)

type object = resourcetest.Object

// newCreatives returns a service with the layout "link", whose slots are a required
// URL and a text of at most 12 characters.
func newCreatives(t *testing.T) *resourcetest.Service {
	s := resourcetest.New(t)
	s.Write("layouts", object{"id": "link", "name": "Link", "html": `<a href="{{click}}">{{headline}}</a>`,
		"textConstraints": []any{object{"tag": "headline", "maxLength": 12}},
		"urlConstraints":  []any{object{"tag": "click", "required": true}}})
	return s
}

// creative returns a creative of that layout with some values.
func creative(parameters object) object {
	return object{"id": "c", "name": "C", "layout": "link", "width": 300, "height": 250, "verifiedSafe": true, "layoutParameters": parameters}
}

func check(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Reading a creative renders its layout, with every value escaped for its place.
func TestRenderedHtmlEscapesValues(t *testing.T) {
	s := newCreatives(t)
	s.Write("creatives", creative(object{"click": "https://example.com/?a=1&b=2", "headline": "<b>Sale"}))
	check(t, s.Read("creatives", "c")["renderedHtml"], `<a href="https://example.com/?a=1&amp;b=2">&lt;b&gt;Sale</a>`)

	s.Write("creatives", creative(object{"click": "javascript:alert(1)", "headline": "Sale"}))
	check(t, s.Read("creatives", "c")["renderedHtml"], `<a href="#">Sale</a>`)
	check(t, s.Warnings("creatives", "c"), []string{"warning.creative.url.unsafe"})
}

// A value that a layout requires or cannot use is a warning, not a fault: the layout
// may change later.
func TestUnsuitableValuesAreWarnings(t *testing.T) {
	const url = "https://example.com/"
	for name, c := range map[string]struct {
		parameters object
		want       []string
	}{
		"all suitable":    {object{"click": url, "headline": "Sale"}, nil},
		"required slot":   {object{"headline": "Sale"}, []string{"warning.creative.slot.empty"}},
		"empty value":     {object{"click": "", "headline": "Sale"}, []string{"warning.creative.slot.empty"}},
		"too long":        {object{"click": url, "headline": "Spring and summer"}, []string{"warning.creative.slot.too.long"}},
		"undeclared slot": {object{"click": url, "footer": "Sale"}, []string{"warning.creative.slot.unknown"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newCreatives(t)
			s.Write("creatives", creative(c.parameters))
			check(t, s.Warnings("creatives", "c"), c.want)
		})
	}
}

// A change of a layout updates the warnings of the creatives that use it.
func TestChangedLayoutUpdatesWarnings(t *testing.T) {
	s := newCreatives(t)
	s.Write("creatives", creative(object{"click": "https://example.com/"}))
	check(t, s.Warnings("creatives", "c"), []string(nil))

	s.Write("layouts", object{"id": "link", "textConstraints": []any{object{"tag": "headline", "required": true}}})
	check(t, s.Warnings("creatives", "c"), []string{"warning.creative.slot.empty"})

	s.Write("layouts", object{"id": "link", "objectState": "INACTIVE"})
	check(t, s.Warnings("creatives", "c"), []string{"warning.creative.layout.not.active", "warning.creative.slot.empty"})
}

// The values of slots are also shown by kind, and can be written in either place.
func TestSlotsAreShownAndWrittenByKind(t *testing.T) {
	s := newCreatives(t)
	s.Write("creatives", creative(object{"click": "https://example.com/", "headline": "Sale"}))
	read := s.Read("creatives", "c")
	check(t, read["constraintsToText"], object{"headline": "Sale"})
	check(t, read["constraintsToUrls"], object{"click": "https://example.com/"})

	// The value that differs from the stored one counts.
	read["constraintsToText"] = object{"headline": "Summer"}
	s.Write("creatives", object{"id": "c", "layoutParameters": read["layoutParameters"], "constraintsToText": read["constraintsToText"]})
	check(t, s.Read("creatives", "c")["layoutParameters"], object{"click": "https://example.com/", "headline": "Summer"})

	// A slot that is missing from its kind is cleared; other kinds stay.
	s.Write("creatives", object{"id": "c", "constraintsToText": object{}})
	check(t, s.Read("creatives", "c")["layoutParameters"], object{"click": "https://example.com/"})

	// Two different new values of one slot are refused.
	got := s.Refused("creatives", object{"id": "c", "layoutParameters": object{"headline": "One"}, "constraintsToText": object{"headline": "Two"}})
	check(t, got, []string{"error.creative.slot.ambiguous"})
}

// A creative inherits the values of its library creative, except those that it
// overrides, and follows later changes.
func TestCreativeInheritsFromItsLibraryCreative(t *testing.T) {
	s := newCreatives(t)
	s.Write("librarycreatives", object{"id": "library", "name": "Library", "layout": "link", "width": 300, "height": 250, "verifiedSafe": true,
		"layoutParameters": object{"click": "https://example.com/", "headline": "Library"}})
	s.Write("creatives", object{"id": "c", "name": "C", "libraryCreative": "library", "width": 980, "overrideFields": []any{"width"}})

	read := s.Read("creatives", "c")
	check(t, []any{read["width"], read["height"], read["renderedHtml"]},
		[]any{980.0, 250.0, `<a href="https://example.com/">Library</a>`})

	s.Write("librarycreatives", object{"id": "library", "width": 160, "height": 600,
		"layoutParameters": object{"click": "https://example.com/", "headline": "Changed"}})
	read = s.Read("creatives", "c")
	check(t, []any{read["width"], read["height"], read["renderedHtml"]},
		[]any{980.0, 600.0, `<a href="https://example.com/">Changed</a>`})
}

// A layout is refused if values cannot be escaped safely in all of its slots. Slots
// that are only declared, or only in the html, are warnings.
func TestLayoutsAreChecked(t *testing.T) {
	s := resourcetest.New(t)
	for html, want := range map[string]string{
		"{{ headline }}":                 "error.layout.slot.syntax",
		"{{headline":                     "error.layout.slot.open",
		"<{{tag}}>":                      "error.layout.place.unsafe",
		"<frameset>{{text}}":             "error.layout.place.ambiguous",
		`<a href="javascript:{{code}}">`: "error.layout.url.unsafe",
		strings.Repeat("{{a}}", 10_001):  "error.layout.slots.too.many",
	} {
		check(t, s.Refused("layouts", object{"id": "l", "name": "L", "html": html}), []string{want})
	}
	s.Write("layouts", object{"id": "l", "name": "L", "html": "{{headline}}", "urlConstraints": []any{object{"tag": "click"}}})
	check(t, s.Warnings("layouts", "l"), []string{"warning.layout.slot.missing", "warning.layout.slot.undeclared"})
}

// A write whose values would render too much html is refused. A creative that a later
// change of its layout makes too large gets a warning and is not rendered.
func TestRenderedHtmlIsBounded(t *testing.T) {
	s := newCreatives(t)
	long := creative(object{"click": "https://example.com/", "headline": strings.Repeat("x", 100_000)})
	s.Write("creatives", long)

	s.Write("layouts", object{"id": "link", "html": strings.Repeat("{{headline}}", 11), "urlConstraints": []any{}})
	check(t, s.Warnings("creatives", "c"), []string{"warning.creative.html.too.large", "warning.creative.slot.too.long", "warning.creative.slot.unknown"})
	check(t, s.Read("creatives", "c")["renderedHtml"], nil)

	long["id"] = "another"
	check(t, s.Refused("creatives", long), []string{"error.creative.html.too.large"})
}
