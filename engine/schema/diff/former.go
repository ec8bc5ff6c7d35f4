package diff

import (
	"slices"

	"marquee/engine/document"
)

// former returns the values of x-was-values, each with the one that takes its place.
func (v value) former() map[string]string {
	all := map[string]string{}
	for _, s := range v.all("x-was-values") {
		renamed, _ := s.value.(map[string]any)
		for from, to := range renamed {
			all[from], _ = to.(string)
		}
	}
	return all
}

// renamedText returns the value that takes the place of another one, or that one.
func (v value) renamedText(text string) string {
	if to, was := v.former()[text]; was {
		return to
	}
	return text
}

// renamed is renamedText for values as JSON.
func (v value) renamed(text string) string {
	value, err := document.Decode([]byte(text), document.Limits{})
	if name, is := value.(string); is && err == nil {
		return string(document.Append(nil, v.renamedText(name)))
	}
	return text
}

// renamedValues separates values, as JSON, that are no longer accepted from those whose places
// others take.
func (c *comparison) renamedValues(new value, all []string) (gone, renamed []string) {
	for _, text := range all {
		if new.renamed(text) != text {
			renamed = append(renamed, text)
		} else {
			gone = append(gone, text)
		}
	}
	return gone, renamed
}

// formerValues reports values of x-was-values that are no longer listed: stored objects may
// still have them, and clients may send them.
func (c *comparison) formerValues(old, new value) {
	after := new.former()
	var gone []string
	for from, to := range old.former() {
		if after[from] != to {
			gone = append(gone, string(document.Append(nil, from)))
		}
	}
	slices.Sort(gone)
	values, open := new.listed()
	if gone = lost(gone, values); len(gone) > 0 && !open {
		c.report("former-value-removed", tightened, placeOf(old, new, "x-was-values"), "these former values are no longer accepted: "+some(gone), "keep them as long as clients send them")
	}
}
