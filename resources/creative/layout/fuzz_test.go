package layout

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
)

// Any html is either refused, or safe with any values.
func FuzzRender(f *testing.F) {
	i := 0
	for _, html := range places {
		f.Add(html, hostile[i%len(hostile)], hostile[(i+7)%len(hostile)])
		i++
	}
	f.Fuzz(func(t *testing.T, html, a, b string) {
		template, faults, _ := Parse(context.Background(), html)
		if (template == nil) == (len(faults) == 0) {
			t.Fatalf("%q: %v and %v", html, template, faults)
		}
		if template != nil {
			checkTemplate(t, html, template, a, b)
		}
	})
}

func checkTemplate(t *testing.T, html string, template *Template, a, b string) {
	t.Helper()
	values := map[string]Value{}
	for i, tag := range template.Slots() {
		values[tag] = Value{content: []string{a, b}[i%2], isURL: i%4 > 1}
	}
	checkSafe(t, html, template, values)
	for _, value := range hostile {
		for tag := range values {
			values[tag] = Text(value)
		}
		checkSafe(t, html, template, values)
	}
}

// fragments change how the rest of a template is parsed.
var fragments = []string{
	`{{a}}`, `{{a}}`, `{{a}}`, `{{b}}`, `{{a}}`, `<svg>`, `</svg>`, `<math>`, `<svg/>`, `<style>`, `</style>`, `<script>`, `</script>`, `<title>`, `</title>`,
	`<textarea>`, `</textarea>`, `<noscript>`, `</noscript>`, `<template>`, `</template>`, `<select>`, `</select>`, `<option>`, `<table>`, `</table>`,
	`<td>`, `<col>`, `<!--`, `-->`, `--!>`, `<![CDATA[`, `]]>`, `<p title="`, `<p title=`, `<a href='`, `<a href="`, `<img srcset="`, `<p style="`,
	`<p onclick="`, `<p onclick='`, `"`, `'`, `>`, `">`, `'>`, `<`, `</`, `a{b:`, `:`, `;`, `}`, `{`, `url(`, `)`, `(`, `/`, `*`, `"`, "`", `${`, `\`, `&`, `#`,
	`,`, `=`, ` `, "\n", `//`, `/*`, `*/`, `return `, `x`, `+`, `]`, `[`, `<desc>`, `</desc>`, `<foreignobject>`, `<mi>`, `</mi>`, `<frameset>`,
	`<iframe>`, `</iframe>`, `<xmp>`, `</xmp>`, `<plaintext>`, `</p>`, `<br>`, `<b>`, `</b>`, `<form>`, `<body>`, `<head>`, `</head>`, `<meta http-equiv=refresh content="1;url=`,
	`javascript:`, `script`, `?`, `1`, `!`, `-`, `<title/>`, `<style/>`, `<script/>`, `<annotation-xml encoding="text/html">`, `</math>`, `<g>`, `</g>`,
}

func TestFragmentsAreSafe(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for range 10_000 {
		var b strings.Builder
		for range 2 + random.IntN(12) {
			b.WriteString(fragments[random.IntN(len(fragments))])
		}
		// Close an element that may still be open, so that slots are accepted.
		html := b.String() + [...]string{"", `">`, `'>`, `"</script>`, `</script>`, `}</style>`, `</title>`, `</textarea>`}[random.IntN(8)]
		template, _, _ := Parse(context.Background(), html)
		if template == nil || len(template.Slots()) == 0 {
			continue
		}
		accepted++
		checkTemplate(t, html, template, hostile[random.IntN(len(hostile))], hostile[random.IntN(len(hostile))])
	}
	if accepted < 500 {
		t.Errorf("only %d templates were tried", accepted)
	}
}
