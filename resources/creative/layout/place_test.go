package layout

import (
	"context"
	"strings"
	"testing"
)

// places are templates with the slot {{a}}, and perhaps {{b}}, in accepted places.
var places = map[string]string{
	"text":               `<p>{{a}}</p>`,
	"text between":       `a{{a}}b{{b}}c`,
	"text after bracket": `1 < {{a}} > 2 & {{b}}`,
	"adjacent":           `<p>{{a}}{{b}}</p>`,
	"table":              `<table><tr><td>{{a}}</table>`,
	"double quotes":      `<p title="{{a}}">x</p>`,
	"single quotes":      `<p title='a {{a}} b'>x</p>`,
	"no quotes":          `<p title={{a}} class=b>x</p>`,
	"no quotes, parts":   `<p title=x{{a}}/{{b}}>x</p>`,
	"data":               `<p data-name="{{a}}" aria-label="{{b}}">x</p>`,
	"data address":       `<p data-src="{{a}}" data-click-url="{{b}}">x</p>`,
	"input":              `<input type=text name="{{a}}" value="{{b}}">`,
	"href":               `<a href="{{a}}">x</a>`,
	"href, parts":        `<a href="{{a}}{{b}}">x</a>`,
	"href, path":         `<a href="https://x.example/{{a}}?b={{b}}">x</a>`,
	"href, suffix":       `<a href="{{a}}/b?c=1&amp;d={{b}}">x</a>`,
	"href, letters":      `<a href="j{{a}}">x</a>`,
	"href, no quotes":    `<a href={{a}}>x</a>`,
	"href, before colon": `<a href="{{a}}#:{{b}}">x</a>`,
	"src":                `<img src='{{a}}' alt="{{b}}">`,
	"iframe":             `<iframe src="{{a}}"></iframe>`,
	"poster":             `<video poster="{{a}}" src="{{b}}"></video>`,
	"ping":               `<a ping="{{a}}" href="{{b}}">x</a>`,
	"formaction":         `<form action="{{a}}"><button formaction="{{b}}">x</button></form>`,
	"background":         `<table background="{{a}}"><tr><td background={{b}}></table>`,
	"srcset":             `<img srcset="{{a}} 1x, {{b}} 2x">`,
	"srcset, one":        `<img srcset="{{a}}">`,
	"srcset, parts":      `<source srcset="/i/{{a}}.png 100w,{{b}}">`,
	"refresh":            `<meta http-equiv="refresh" content="0;url={{a}}">`,
	"refresh, parts":     `<meta http-equiv=refresh content="3; URL = https://x.example/{{a}}">`,
	"description":        `<meta name="description" content="{{a}}">`,
	"style":              `<p style="color:{{a}};width:{{b}}px">x</p>`,
	"style string":       `<p style="font-family:'{{a}}'">x</p>`,
	"style url":          `<p style="background:url({{a}})">x</p>`,
	"style url, quoted":  `<p style='background: URL( "{{a}}" ) red; color: #{{b}}'>x</p>`,
	"style url, parts":   `<p style="background:url('https://x.example/{{a}}?{{b}}')">x</p>`,
	"style element":      `<style>.a{color:{{a}};background:url({{b}})}</style>`,
	"style, string":      `<style>.a::before{content:"{{a}}"} @media print{.b{color: {{b}} !important} }</style>`,
	"script string":      `<script>var a = "{{a}}", b = 'x{{b}}y';</script>`,
	"script value":       `<script>var a = {{a}}; f({{b}})</script>`,
	"script, regexp":     `<script>var r = /["'{{]/.length, a = 1/2; var a = "{{a}}"</script>`,
	"script, comment":    "<script>/* it's */ // \"\nvar a = \"{{a}}\"</script>",
	"script, literal":    "<script>var t = `\"`; var a = '{{a}}'</script>",
	"json":               `<script type="application/json">{"a":"{{a}}","b":{{b}}}</script>`,
	"json in ld":         `<script type="application/ld+json">{"name":{{a}},"url":"{{b}}"}</script>`,
	"handler":            `<p onclick="f('{{a}}', {{b}})">x</p>`,
	"handler, single":    `<p onclick='f("{{a}}")'>x</p>`,
	"handler, no quotes": `<p onclick=f({{a}})>x</p>`,
	"textarea":           `<textarea>{{a}}</textarea>`,
	"title":              `<title>{{a}} - {{b}}</title>`,
	"comment":            `<!-- {{a}} --><p>{{b}}</p>`,
	"svg":                `<svg><title>{{a}}</title><text x="{{a}}">{{b}}</text></svg><p>{{a}}</p>`,
	"svg link":           `<svg><a xlink:href="{{a}}"><image href="{{b}}"/></a></svg>`,
	"svg style":          `<svg><style>.a{b:c}</style><g title="{{a}}"/></svg><style>a{color:{{b}}}</style>`,
	"mathml":             `<math><mrow><maction>{{a}}</maction></mrow></math>{{b}}`,
	"noscript":           `<noscript><img src="{{a}}" alt="{{b}}"></noscript>`,
	"template":           `<template><p title="{{a}}">{{b}}</p></template>`,
	"select":             `<select><option value="{{a}}">{{b}}</select>`,
	"document":           `<!DOCTYPE html><html lang={{a}}><head><title>{{a}}</title></head><body>{{b}}</body></html>`,
	"go action":          "<p>{ {.} } `{{a}}` {- -} /* {{b}} */</p>",
}

func TestEveryPlaceIsSafe(t *testing.T) {
	for name, html := range places {
		if name == "script, regexp" {
			html = strings.ReplaceAll(html, `{{]`, `{]`)
		}
		template, faults, _ := Parse(context.Background(), html)
		if len(faults) > 0 {
			t.Errorf("%s: %q: %v", name, html, faults)
			continue
		}
		for i, value := range hostile {
			for _, other := range []string{value, "x", hostile[(i+11)%len(hostile)]} {
				for _, make := range []func(string) Value{Text, URL} {
					checkSafe(t, html, template, map[string]Value{"a": make(value), "b": make(other)})
					checkSafe(t, html, template, map[string]Value{"a": make(other), "b": make(value)})
				}
			}
		}
	}
}

func TestUnsafePlacesAreRefused(t *testing.T) {
	for html, kind := range map[string]Kind{
		`<{{a}}>`: UnsafePlace, `<p{{a}}>`: UnsafePlace, `</{{a}}>`: UnsafePlace, `</p {{a}}>`: UnsafePlace, `<!{{a}}>`: UnsafePlace,
		`<?{{a}}>`: UnsafePlace, `<!DOCTYPE {{a}}>`: UnsafePlace, `<p {{a}}>`: UnsafePlace, `<p {{a}}="x">`: UnsafePlace,
		`<p title{{a}}="x">`: UnsafePlace, `<p title="x" {{a}}`: UnsafePlace, `<p title="{{a}}`: UnsafePlace,
		`<p title=a"{{a}}>`: UnsafePlace, `<p title=a title={{a}}>`: UnsafePlace, `<p unknown={{a}}>`: UnsafePlace,
		`<iframe srcdoc="{{a}}">`: UnsafePlace, `<iframe sandbox="{{a}}">`: UnsafePlace, `<script src="{{a}}"></script>`: UnsafePlace,
		`<base href="{{a}}">`: UnsafePlace, `<link href="{{a}}">`: UnsafePlace, `<object data="{{a}}">`: UnsafePlace,
		`<embed src="{{a}}">`: UnsafePlace, `<meta http-equiv="{{a}}">`: UnsafePlace, `<meta http-equiv="x" content="{{a}}">`: UnsafePlace,
		`<meta http-equiv="refresh" content="{{a}}">`: UnsafePlace, `<meta http-equiv="refresh" content="0;url='{{a}}'">`: UnsafePlace,
		`<svg><animate values="{{a}}"/></svg>`: UnsafePlace, `<svg><set to="{{a}}"/></svg>`: UnsafePlace, `<svg><use href="{{a}}"/></svg>`: UnsafePlace,
		`<svg><script>"{{a}}"</script></svg>`: UnsafePlace, `<svg><style>a{b:{{a}}}</style></svg>`: UnsafePlace,
		`<svg><p>{{a}}</p></svg>`: AmbiguousPlace, `<svg><style><a title="</style>{{a}}"></style></svg>`: AmbiguousPlace,
		`<svg><![CDATA[{{a}}]]></svg>`: AmbiguousPlace, `<svg><foreignObject>{{a}}</foreignObject></svg>`: AmbiguousPlace,
		`<svg><g></svg>{{a}}`: AmbiguousPlace, `<select><style></style>{{a}}</select>`: AmbiguousPlace, `<frameset>{{a}}`: AmbiguousPlace,
		`<template><col><style></style>{{a}}</template>`: AmbiguousPlace, `<noscript><p title="</noscript>{{a}}"></p>`: AmbiguousPlace,
		`<noscript><style><</style>{{a}}</noscript>`: AmbiguousPlace, `<!--{{a}}>`: AmbiguousPlace, `<!--> {{a}} -->`: AmbiguousPlace,
		`<!-- --!> {{a}} -->`: AmbiguousPlace, `<!--{{a}}> x --><p>`: AmbiguousPlace, `<!-{{a}}- x -->`: UnsafePlace,
		`<xmp>{{a}}</xmp>`: UnsafePlace, `<plaintext>{{a}}`: UnsafePlace, `<iframe>{{a}}</iframe>`: UnsafePlace,
		`<noembed>{{a}}</noembed>`: UnsafePlace, `<noframes>{{a}}</noframes>`: UnsafePlace, `<textarea><{{a}}</textarea>`: UnsafePlace,
		`<textarea></text{{a}}area></textarea>`: UnsafePlace, `<p title="&{{a}};">`: UnsafePlace, `&#{{a}}`: UnsafePlace, `<a href="java&T{{a}};">`: UnsafePlace,
		`<a href="javascript:{{a}}">`: UnsafeURL, `<a href="java&#115;cript:{{a}}">`: UnsafeURL, `<a href=" {{a}}">`: UnsafeURL,
		`<a href="data:text/html,{{a}}">`: UnsafeURL, `<a href="mailto:{{a}}">`: UnsafeURL, `<img srcset="a {{a}}">`: UnsafePlace,
		`<img srcset="a,{{a}} 1x">`: UnsafePlace, `<img srcset="data:{{a}} 1x">`: UnsafeURL, `<div data-on="{{a}}">`: UnsafePlace, `<p x:onclick="{{a}}">`: UnsafePlace,
		`<script type="text/template">{{a}}</script>`: UnsafePlace, `<script type="{{a}}"></script>`: UnsafePlace,
		"<script>`{{a}}`</script>": UnsafePlace, "<script>`${{{a}}}`</script>": BadSlot, "<script>`${ {{a}} }`</script>": AmbiguousPlace,
		"<script>`${1}`;{{a}}</script>": AmbiguousPlace, `<script>/{{a}}/</script>`: UnsafePlace, `<script>// {{a}}</script>`: UnsafePlace,
		`<script>/* {{a}} */</script>`: UnsafePlace, `<script>f() / "{{a}}"</script>`: AmbiguousPlace, `<script>a{{a}}</script>`: UnsafePlace,
		`<script>f() / 1; a = "{{a}}" / 2</script>`: AmbiguousPlace, `<script>f() /"/; a = '{{a}}'</script>`: AmbiguousPlace,
		`<script>{{a}}b</script>`: UnsafePlace, `<script>{{a}}{{b}}</script>`: UnsafePlace, `<script>"\{{a}}"</script>`: UnsafePlace,
		`<script>"<b>{{a}}"</script>`: UnsafePlace, `<script>"javascript:{{a}}"</script>`: UnsafePlace, `<script>"{{a}}</script>`: AmbiguousPlace,
		`<script>import {{a}}</script>`: AmbiguousPlace, `<script><!-- "{{a}}"</script>`: AmbiguousPlace, `<p onclick="f(&quot;{{a}}&quot;)">`: UnsafePlace,
		`<style>{{a}}</style>`: UnsafePlace, `<style>a{ {{a}}:b}</style>`: UnsafePlace, `<style>@import "{{a}}";</style>`: UnsafePlace,
		`<style>a{b:"\{{a}}"}</style>`: UnsafePlace, `<style>a{b:{{a}}(c)}</style>`: UnsafePlace, `<style>a{b:/{{a}}*}</style>`: UnsafePlace,
		`<style>/*{{a}}*/</style>`: UnsafePlace, `<style>a{b:"{{a}}</style>`: AmbiguousPlace, `<style>a{behavior:url({{a}})}</style>`: UnsafePlace,
		`<style>a[b="{{a}}"]{}</style>`: UnsafePlace, `<style>a{b:url({{a}} x)}</style>`: AmbiguousPlace, `<p style="b:{{a}}{{b}}">`: UnsafePlace,
		`<style>a{b:url(javascript:{{a}})}</style>`: UnsafeURL,
	} {
		template, faults, _ := Parse(context.Background(), html)
		if len(faults) == 0 {
			rendered, _ := template.Render(map[string]Value{"a": Text("VALUE"), "b": Text("VALUE")})
			if strings.Contains(rendered, "VALUE") {
				t.Errorf("%q was accepted: %q", html, rendered)
			}
			continue
		}
		if faults[0].Kind != kind {
			t.Errorf("%q: kind %d, want %d", html, faults[0].Kind, kind)
		}
	}
}
