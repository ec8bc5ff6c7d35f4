package layout

import (
	"strings"
	"testing"
)

// The computed size is at least that of the rendering, for every kind of value and
// of place.
func TestSizeIsNoLessThanRendered(t *testing.T) {
	for name, html := range places {
		if name == "script, regexp" {
			html = strings.ReplaceAll(html, `{{]`, `{]`)
		}
		template := parse(t, html)
		for i, content := range hostile {
			for _, make := range []func(string) Value{Text, URL} {
				values := map[string]Value{"a": make(content), "b": make(hostile[(i+5)%len(hostile)])}
				computed := template.size.empty
				for tag := range values {
					for _, u := range template.size.uses[tag] {
						size := u.size(&renderer{values: values}, tag)
						if most := maxGrowth*len(values[tag].content) + maxQuotes; size > most {
							t.Errorf("%s: %q becomes %d bytes, more than %d", name, values[tag].content, size, most)
						}
						computed += u.times * (size - u.sizeOfEmpty)
					}
				}
				got, err := template.Render(values)
				if err != nil || len(got) > computed {
					t.Errorf("%s: %q: %d bytes, %v, and %d were computed", name, content, len(got), err, computed)
				}
				if !strings.Contains(got, refusedURL) && len(got) != computed {
					t.Errorf("%s: %q: %d bytes, and %d were computed", name, content, len(got), computed)
				}
			}
		}
	}
}

// A rendering that would be too large is not made, and its values are not escaped
// to the end.
func TestNothingTooLargeIsRendered(t *testing.T) {
	template := parse(t, strings.Repeat(`<p title="{{a}}">{{b}}</p>`, 1900))
	values := map[string]Value{"a": Text(strings.Repeat("<", 2000)), "b": Text("x")}
	if template.Fits(values) {
		t.Error("it fits")
	}
	bytes := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			if _, err := template.Render(values); err != ErrTooLarge {
				b.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
	if bytes > MaxRendered/10 {
		t.Errorf("%d bytes are allocated", bytes)
	}
}
