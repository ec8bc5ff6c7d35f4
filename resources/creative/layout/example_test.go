package layout_test

import (
	"context"
	"fmt"

	"marquee/resources/creative/layout"
)

// Values are escaped for the place of their slot, and cannot become markup or script. A
// slot is refused where that is impossible.
func ExampleParse() {
	ctx := context.Background()
	template, _, err := layout.Parse(ctx, `<a href="{{target}}" title="{{title}}">{{title}}</a>`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(template.Slots())
	for _, values := range []map[string]layout.Value{
		{"target": layout.URL("https://example.com/?a=1&b=2"), "title": layout.Text("Fish & chips")},
		{"target": layout.URL("javascript:alert(1)"), "title": layout.Text(`"><script>alert(1)</script>`)},
	} {
		fmt.Println(template.Render(values))
	}

	_, faults, err := layout.Parse(ctx, "<p>\n<p {{attributes}}>")
	for _, fault := range faults {
		fmt.Println(fault.Kind == layout.UnsafePlace, fault.Tag, fault.Line, fault.Column)
	}
	fmt.Println(err)
	// Output:
	// [target title]
	// <a href="https://example.com/?a=1&amp;b=2" title="Fish &amp; chips">Fish &amp; chips</a> <nil>
	// <a href="#" title="&#34;&gt;&lt;script&gt;alert(1)&lt;/script&gt;">&#34;&gt;&lt;script&gt;alert(1)&lt;/script&gt;</a> <nil>
	// true attributes 2 4
	// <nil>
}
