package layout

import "strings"

const htmlSpace = " \t\n\f\r"

// attribute is one attribute of a start tag; offsets are those of the html.
type attribute struct {
	name       string
	start, end int // of the value, without its quotes
	quote      byte
	repeated   bool
}

// readTag reads the attributes of the start tag in html[start:end), by the
// steps of the html standard.
func readTag(html string, start, end int) []attribute {
	var attributes []attribute
	seen := map[string]bool{}
	at := start + 1
	until := func(stops string) {
		for at < end && !strings.ContainsRune(stops, rune(html[at])) {
			at++
		}
	}
	space := func(also string) {
		for at < end && strings.ContainsRune(htmlSpace+also, rune(html[at])) {
			at++
		}
	}
	until(htmlSpace + "/>")
	for {
		space("/")
		if at >= end || html[at] == '>' {
			return attributes
		}
		nameStart := at
		at++ // a leading `=` belongs to the name
		until(htmlSpace + "/>=")
		a := attribute{name: strings.ToLower(html[nameStart:at])}
		a.repeated = seen[a.name]
		seen[a.name] = true
		space("")
		a.start, a.end = at, at
		if at < end && html[at] == '=' {
			at++
			space("")
			switch {
			case at < end && (html[at] == '"' || html[at] == '\''):
				a.quote = html[at]
				at++
				a.start = at
				until(string(a.quote))
				a.end = at
				at = min(at+1, end)
			default:
				a.start = at
				until(htmlSpace + ">")
				a.end = at
			}
		}
		attributes = append(attributes, a)
	}
}

// valueOf answers an attribute of the tag, trimmed and in lower case; the first
// of its name counts.
func valueOf(html string, attributes []attribute, name string) (string, bool) {
	for _, a := range attributes {
		if a.name == name {
			return strings.ToLower(strings.Trim(html[a.start:a.end], htmlSpace)), true
		}
	}
	return "", false
}
