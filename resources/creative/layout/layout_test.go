package layout

import (
	"context"
	"reflect"
	"strings"
	"sync"
	"testing"
)

func parse(t *testing.T, html string) *Template {
	t.Helper()
	template, faults, _ := Parse(context.Background(), html)
	if len(faults) > 0 {
		t.Fatalf("%.100q: %v", html, faults)
	}
	return template
}

func TestFaultsHaveTheirPlace(t *testing.T) {
	for _, c := range []struct {
		html string
		want []Fault
	}{
		{"é\né{{ a}}", []Fault{{BadSlot, 2, 2, ""}}},
		{"{{.}}{{define \"x\"}}\n{{-a}}{{/*a*/}}{{}}", []Fault{{BadSlot, 1, 1, ""}, {BadSlot, 1, 6, ""}, {BadSlot, 2, 1, ""}, {BadSlot, 2, 7, ""}, {BadSlot, 2, 16, ""}}},
		{"{{`a`}}", []Fault{{BadSlot, 1, 1, ""}}},
		{"{{é}}", []Fault{{BadSlot, 1, 1, ""}}},
		{"{{a\n}}", []Fault{{BadSlot, 1, 1, ""}}},
		{"{{" + strings.Repeat("a", 129) + "}}", []Fault{{BadSlot, 1, 1, ""}}},
		{"{{{a}}}", []Fault{{BadSlot, 1, 1, ""}}},
		{"{{a}}\r\n {{a", []Fault{{UnclosedSlot, 2, 2, ""}}},
		{"<p>\n<p {{b}}>{{a}}<p {{c}}>", []Fault{{UnsafePlace, 2, 4, "b"}, {UnsafePlace, 2, 18, "c"}}},
		{"<a href='javascript:{{a}}'>", []Fault{{UnsafeURL, 1, 21, "a"}}},
		{"<frameset>\n{{a}}", []Fault{{AmbiguousPlace, 2, 1, "a"}}},
		{"a\n\x00{{a}}", []Fault{{NotText, 2, 1, ""}}},
		{"a\n\xff{{a}}", []Fault{{NotText, 1, 1, ""}}},
		{strings.Repeat("é", MaxHTML+1), []Fault{{TooLong, 1, 1, ""}}},
	} {
		template, faults, _ := Parse(context.Background(), c.html)
		if template != nil || !reflect.DeepEqual(faults, c.want) {
			t.Errorf("%.60q: %v, want %v", c.html, faults, c.want)
		}
	}
	if _, faults, _ := Parse(context.Background(), strings.Repeat("{{ }}", 1000)); len(faults) != MaxFaults {
		t.Errorf("%d faults", len(faults))
	}
	parse(t, strings.Repeat("é", MaxHTML))
}

func TestSlotsAreInOrderOfAppearance(t *testing.T) {
	template := parse(t, `{{b}}<a href="{{a}}">{{b}}{{C_1}}</a>`)
	if got := template.Slots(); !reflect.DeepEqual(got, []string{"b", "a", "C_1"}) {
		t.Error(got)
	}
	if !template.HasSlot("C_1") || template.HasSlot("c_1") {
		t.Error("the tags are others")
	}
}

func TestRendering(t *testing.T) {
	for _, c := range []struct {
		html  string
		value Value
		want  string
	}{
		{`<p>{{a}}</p>`, Text(`<b> & "x"`), `<p>&lt;b&gt; &amp; &#34;x&#34;</p>`},
		{`<p title={{a}}>`, Text(`a b`), `<p title="a b">`},
		{`<p title={{a}} class=b>`, Text(``), `<p title="" class=b>`},
		{`<a href="{{a}}">`, URL(`https://x/é?a=1&b=2`), `<a href="https://x/%c3%a9?a=1&amp;b=2">`},
		{`<a href="{{a}}">`, Text(`javascript:x`), `<a href="#">`},
		{`<a href="{{a}}">`, URL("java\tscript:x"), `<a href="#">`},
		{`<a href="{{a}}">`, URL(``), `<a href="">`},
		{`<a href="/x?u={{a}}&amp;v=1">`, URL(`https://x/?a=1&b`), `<a href="/x?u=https%3a%2f%2fx%2f%3fa%3d1%26b&amp;v=1">`},
		{`<a href="java{{a}}">`, Text(`script:x`), `<a href="#">`},
		{`<a href="{{a}}script:x">`, Text(`java`), `<a href="#">`},
		{`<img srcset="{{a}} 1x, /b 2x">`, URL(`/a,b c`), `<img srcset="/a%2cb%20c 1x, /b 2x">`},
		{`<img srcset="{{a}} 1x, /b 2x">`, URL(`javascript:x`), `<img srcset="# 1x, /b 2x">`},
		{`<p style="background:url('{{a}}')">`, URL(`/a'b)`), `<p style="background:url('/a%27b%29')">`},
		{`<p style="color:{{a}}">`, Text(`red;x:y`), `<p style="color:">`},
		{`<p style="color:{{a}}">`, Text(`#fff`), `<p style="color:#fff">`},
		{`<p style="font:'{{a}}'">`, Text(`a'b`), `<p style="font:'a\27 b'">`},
		{`<script>a = "{{a}}"</script>`, Text(`"</script>`), `<script>a = "\u0022\u003c\/script\u003e"</script>`},
		{`<script>a = {{a}}</script>`, Text(`"x"`), `<script>a = "\"x\""</script>`},
		{`<script>a = "{{a}}"</script>`, URL(`javascript:x`), `<script>a = "#"</script>`},
		{`<!-- a{{a}} -->`, Text(`x`), `<!-- a -->`},
		{`a { b } <!--[if IE]>x<![endif]--><!-- {.} --> {{a}}`, Text(`{{.}}`), `a { b } <!--[if IE]>x<![endif]--><!-- {.} --> {{.}}`},
		{`{{a}}`, Text("\xff\x00"), "\uFFFD\uFFFD"},
	} {
		got, err := parse(t, c.html).Render(map[string]Value{"a": c.value, "unused": Text("x")})
		if err != nil || got != c.want {
			t.Errorf("%q: %q, %v, want %q", c.html, got, err, c.want)
		}
	}
	if got, err := parse(t, `<p title="{{a}}">{{b}}</p>`).Render(nil); got != `<p title=""></p>` || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestSafeURL(t *testing.T) {
	for url, want := range map[string]bool{
		"": true, "a": true, "/a": true, "//host/a": true, "?a:b": true, "#a:b": true, "a/b:c": true, "http://x": true, "HTTPS://x": true,
		"https://x/?a=1&copy=2": true, "https://x/é": true, "https://x/a b": true,
		"javascript:x": false, "JavaScript:x": false, " javascript:x": false, "\tjavascript:x": false, "java\tscript:x": false,
		"java\nscript:x": false, "java\rscript:x": false, "\x01javascript:x": false, "javascript\x00:x": false, "javascript&colon;x": false,
		"javascript&#58;x": false, "java&Tab;script:x": false, "&#106;avascript:x": false, "data:text/html,x": false, "vbscript:x": false,
		"mailto:x": false, "tel:1": false, "file:///x": false, "blob:https://x": false, ":x": false, "a:b": false, "\u00a0javascript:x": false,
		`\\host`: false, `/\host`: false, `https:\\host`: false, " https://x": false, "https://x ": false, "https://x/\n": false, "\x7f": false, "\xff": false,
	} {
		if got := SafeURL(url); got != want {
			t.Errorf("SafeURL(%q) = %v", url, got)
		}
	}
}

func TestRenderingIsBounded(t *testing.T) {
	long := strings.Repeat("x", MaxRendered/2)
	for _, html := range []string{`{{a}}{{a}}{{a}}`, `<p title="{{a}}{{b}}{{a}}">`, `<a href="{{a}}{{a}}{{a}}">`} {
		if _, err := parse(t, html).Render(map[string]Value{"a": Text(long)}); err != ErrTooLarge {
			t.Errorf("%q: %v", html, err)
		}
	}
	if got, err := parse(t, `{{a}}{{a}}`).Render(map[string]Value{"a": Text(long)}); err != nil || len(got) != MaxRendered {
		t.Errorf("%d, %v", len(got), err)
	}
	for _, html := range []string{`{{a}}`, `<a href="{{a}}">`, `<!--{{a}}-->`} {
		if _, err := parse(t, html).Render(map[string]Value{"a": Text(strings.Repeat("x", MaxRendered+1))}); err != ErrTooLarge {
			t.Errorf("%q: %v", html, err)
		}
	}
}

func TestOneTemplateServesManyGoroutines(t *testing.T) {
	template := parse(t, places["href, suffix"]+places["script string"])
	want, _ := template.Render(map[string]Value{"a": Text("x"), "b": Text("<")})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 200 {
				if got, err := template.Render(map[string]Value{"a": Text("x"), "b": Text("<")}); got != want || err != nil {
					t.Error(got, err)
				}
			}
		})
	}
	group.Wait()
}
