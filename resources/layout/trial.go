package layout

import (
	"math"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// trials are values that leave the places of templates which were misjudged;
// the first is the harmless one that the others are compared with.
var trials = []string{
	"x",
	"",
	`'"><script>x</script>`,
	"--><b></textarea></title></style>",
	"javascript:x(1)//",
	"\\*/`${x}\n ' onx=\"",
}

// try renders a template with harmless and with hostile values. All renderings
// must have the same elements and attributes; otherwise the slot before the
// first difference is at fault.
func try(pieces []piece, slots []slot) []faultAt {
	if len(slots) == 0 {
		return nil
	}
	var harmless []string
	for _, content := range trials {
		text, starts := render(pieces, slots, content)
		shape, ends := shapeOf(text)
		if harmless == nil {
			harmless = shape
			continue
		}
		if slices.Equal(shape, harmless) {
			continue
		}
		same := 0
		for same < len(shape) && same < len(harmless) && shape[same] == harmless[same] {
			same++
		}
		at := len(text)
		if same < len(ends) {
			at = ends[same]
		}
		guilty := 0
		for guilty+1 < len(starts) && starts[guilty+1].at < at {
			guilty++
		}
		s := starts[guilty].slot
		return []faultAt{{kind: UnsafePlace, offset: s.start, tag: s.tag}}
	}
	return nil
}

// renderedSlot is a slot and where its value starts in a rendering.
type renderedSlot struct {
	slot *slot
	at   int
}

func render(pieces []piece, slots []slot, content string) (string, []renderedSlot) {
	r := renderer{values: map[string]Value{}, limit: math.MaxInt / 2}
	for _, s := range slots {
		r.values[s.tag] = Text(content)
	}
	var starts []renderedSlot
	for _, p := range pieces {
		s := p.slot
		if p.url != nil {
			for _, part := range p.url.parts {
				if part.slot != nil {
					s = part.slot
					break
				}
			}
		}
		if s != nil {
			starts = append(starts, renderedSlot{slot: s, at: r.out.Len()})
		}
		if err := r.piece(p); err != nil {
			break // unreachable: there is no limit
		}
	}
	return r.out.String(), starts
}

// shapeOf answers the tags of a text with their attributes' names, and the
// offset at which each ends.
func shapeOf(text string) ([]string, []int) {
	var shape []string
	var ends []int
	tokens := html.NewTokenizer(strings.NewReader(text))
	at := 0
	for {
		kind := tokens.Next()
		at += len(tokens.Raw())
		switch kind {
		case html.ErrorToken:
			return shape, ends
		case html.TextToken:
			continue
		}
		var b strings.Builder
		b.WriteString(kind.String())
		if kind == html.StartTagToken || kind == html.SelfClosingTagToken || kind == html.EndTagToken {
			name, more := tokens.TagName()
			b.Write(name)
			if string(name) == "noscript" {
				tokens.NextIsNotRawText()
			}
			for more {
				var key []byte
				key, _, more = tokens.TagAttr()
				b.WriteByte(' ')
				b.Write(key)
			}
		}
		shape = append(shape, b.String())
		ends = append(ends, at)
	}
}
