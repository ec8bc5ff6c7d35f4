package layout

import "strings"

const htmlSpace = " \t\n\f\r"

// tag is a parsed start tag.
type tag struct {
	element    string
	attributes []attribute
	// directive is the value of http-equiv, trimmed and in lower case, if
	// isDirective.
	directive   string
	isDirective bool
}

// attribute is an attribute of a start tag, with offsets into the html.
type attribute struct {
	name       string
	start, end int // of the value without quotes
	quote      byte
	repeated   bool
}

// readTag reads the attributes of the start tag at html[start:end) as the html
// standard prescribes.
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

// valueOf returns the value of the first attribute with a name, trimmed and in
// lower case.
func (m *markup) valueOf(attributes []attribute, name string) (string, bool) {
	m.steps += len(attributes)
	for _, a := range attributes {
		if a.name == name {
			return strings.ToLower(strings.Trim(m.blank[a.start:a.end], htmlSpace)), true
		}
	}
	return "", false
}
