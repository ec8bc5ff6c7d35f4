package layout

import "strings"

// place is the kind of place of a slot.
type place int

const (
	placeText place = iota
	placeComment
	placeJSString
	placeJSValue
	placeJSStringAttribute
	placeJSValueAttribute
	placeCSSString
	placeCSSValue
	placeURLPath
	placeURLQuery
)

var escapers = [...]escaper{
	placeText:              escapeHTML,
	placeComment:           escapeToNothing,
	placeJSString:          escapeJSString,
	placeJSValue:           escapeJSValue,
	placeJSStringAttribute: escapeJSString.then(escapeHTML),
	placeJSValueAttribute:  escapeJSValue.then(escapeHTML),
	placeCSSString:         escapeCSS,
	placeCSSValue:          escapeCSSValue,
	placeURLPath:           normalizeURL,
	placeURLQuery:          escapeQuery,
}

// piece is a part of a template: a literal, a slot, or a URL with its slots.
type piece struct {
	literal string
	slot    *slot
	place   place
	url     *url
}

// url is a URL with slots. It is checked as a whole, because the scheme may span
// literals and values.
type url struct {
	parts []piece
	// list reports that commas would separate URLs, as in srcset.
	list bool
	// raw reports that the URL is in a style element, where character references
	// are not resolved.
	raw bool
}

type escaped struct {
	tag   string
	place place
}

// renderer makes one rendering. It escapes the value of a slot once, however often
// the slot appears.
type renderer struct {
	values map[string]Value
	out    strings.Builder
	done   map[escaped]string
}

func (r *renderer) piece(p piece) {
	switch {
	case p.url != nil:
		r.url(p.url)
	case p.slot == nil:
		r.out.WriteString(p.literal)
	default:
		r.out.WriteString(r.escape(p.slot.tag, p.place))
	}
}

func (r *renderer) escape(tag string, where place) string {
	key := escaped{tag, where}
	if text, ok := r.done[key]; ok {
		return text
	}
	value := r.values[tag]
	content := strings.ToValidUTF8(value.content, "\uFFFD")
	if value.isURL && !SafeURL(value.content) {
		content = refusedURL
	}
	text := escapers[where](content)
	if r.done == nil {
		r.done = map[escaped]string{}
	}
	r.done[key] = text
	return text
}

func (r *renderer) url(u *url) {
	var whole strings.Builder
	for i, p := range u.parts {
		text := p.literal
		if p.slot != nil {
			text = u.part(r.escape(p.slot.tag, p.place))
			if i == 0 && !SafeURL(r.values[p.slot.tag].content) {
				r.out.WriteString(refusedURL)
				return
			}
		}
		whole.WriteString(text)
	}
	address := whole.String()
	if !SafeURL(address) {
		address = refusedURL
	}
	r.out.WriteString(u.shown(address))
}

// part returns an escaped value as part of the URL.
func (u *url) part(text string) string {
	if u.list {
		return strings.ReplaceAll(text, ",", "%2c")
	}
	return text
}

// shown returns a URL, or part of one, as it is written in the html.
func (u *url) shown(address string) string {
	if u.raw {
		return address
	}
	return escapeHTML(address)
}
