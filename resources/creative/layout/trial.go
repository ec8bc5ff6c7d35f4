package layout

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// trials are values that would break out of misclassified places. The first is
// harmless, and the others are compared with it.
var trials = []string{
	"x",
	"",
	`'"><script>x</script>`,
	"--><b></textarea></title></style>",
	"javascript:x(1)//",
	"\\*/`${x}\n ' onx=\"",
}

// try renders a template with harmless and with hostile values. If the elements
// and attributes of two renderings differ, it refuses the slot before the first
// difference.
func try(ctx context.Context, pieces []piece, slots []slot) ([]faultAt, error) {
	if len(slots) == 0 {
		return nil, nil
	}
	var harmless []string
	for _, content := range trials {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
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
		return []faultAt{{kind: UnsafePlace, offset: s.start, tag: s.tag}}, nil
	}
	return nil, nil
}

// renderedSlot is a slot and the offset of its value in a rendering.
type renderedSlot struct {
	slot *slot
	at   int
}

func render(pieces []piece, slots []slot, content string) (string, []renderedSlot) {
	r := renderer{values: map[string]Value{}}
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
		r.piece(p)
	}
	return r.out.String(), starts
}

// shapeOf returns the tags of a text with the names of their attributes, and the
// offset at which each tag ends.
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
