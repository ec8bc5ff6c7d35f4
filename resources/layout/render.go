package layout

import "strings"

// place is the kind of place where a slot stands.
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
	placeComment:           escapeNothing,
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

// url is a URL that holds slots. It is judged as a whole, because neither a
// literal nor a value tells the scheme alone.
type url struct {
	parts []piece
	// list is whether commas would separate URLs, as in srcset.
	list bool
	// raw is whether the URL stands in a style element, which has no character
	// references.
	raw bool
}

type escaped struct {
	tag   string
	place place
}

// renderer makes one rendering. What it escaped is kept, so that a slot that
// appears many times costs its value once.
type renderer struct {
	values map[string]Value
	limit  int
	out    strings.Builder
	done   map[escaped]string
	// spent counts the bytes of URLs that were refused, which are work though
	// they are no output.
	spent int
}

func (r *renderer) write(text string) error {
	if len(text) > r.limit-r.spent-r.out.Len() {
		return ErrTooLarge
	}
	r.out.WriteString(text)
	return nil
}

func (r *renderer) piece(p piece) error {
	switch {
	case p.url != nil:
		return r.url(p.url)
	case p.slot == nil:
		return r.write(p.literal)
	}
	text, err := r.escape(p)
	if err != nil {
		return err
	}
	return r.write(text)
}

func (r *renderer) escape(p piece) (string, error) {
	key := escaped{p.slot.tag, p.place}
	if text, ok := r.done[key]; ok {
		return text, nil
	}
	value := r.values[p.slot.tag]
	if len(value.content) > r.limit {
		return "", ErrTooLarge
	}
	content := strings.ToValidUTF8(value.content, "\uFFFD")
	if value.isURL && !SafeURL(value.content) {
		content = refusedURL
	}
	text := escapers[p.place](content)
	if r.done == nil {
		r.done = map[escaped]string{}
	}
	r.done[key] = text
	return text, nil
}

func (r *renderer) url(u *url) error {
	var whole strings.Builder
	for i, p := range u.parts {
		text := p.literal
		if p.slot != nil {
			var err error
			if text, err = r.escape(p); err != nil {
				return err
			}
			if start := r.values[p.slot.tag].content; i == 0 && !SafeURL(start) {
				r.spent += len(start)
				return r.write(refusedURL)
			}
			if u.list {
				text = strings.ReplaceAll(text, ",", "%2c")
			}
		}
		if whole.Len()+len(text) > r.limit-r.spent-r.out.Len() {
			return ErrTooLarge
		}
		whole.WriteString(text)
	}
	address := whole.String()
	if !SafeURL(address) {
		r.spent += len(address)
		address = refusedURL
	}
	if !u.raw {
		address = escapeHTML(address)
	}
	return r.write(address)
}
