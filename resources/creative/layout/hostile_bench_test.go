package layout

import (
	"context"
	"strings"
	"testing"
	"time"
)

// hostileTemplates returns templates for which parsers tend to take more than
// linear time.
func hostileTemplates(length int) []string {
	fill := func(before, middle, after string) string {
		return before + strings.Repeat(middle, (length-len(before)-len(after))/len(middle)) + after
	}
	return []string{
		fill("", "{{a}}", ""), fill("", "{{ }}", ""), fill("", "{{", ""), fill("", "}}", ""), fill("", "<", "{{a}}"), fill("", "<!--", "{{a}}"),
		fill("", "<!--{{a}}-->", ""), fill("", "<p>{{a}}", ""), fill("", "<svg>", "{{a}}"), fill("", "<p {{a}}>", ""), fill("", "&{{a}}", ""),
		fill("<p title=\"", "{{a}}", "\">"), fill("<p title=\"", "&amp;{{a}}", "\">"), fill("<p ", "a=b ", "title={{a}}>"),
		fill("", "<p title={{a}}>", ""), fill("<a href=\"", "{{a}}", "\">"), fill("", "<a href={{a}}>", ""), fill("<a href=\"", "/?{{a}}", "\">"),
		fill("<img srcset=\"", "{{a}} 1x,", "\">"), fill("<img srcset=\"", ",", "{{a}}\">"), fill("<script>", "\"\"", "{{a}}</script>"),
		fill("<script>", "\"{{a}}\";", "</script>"), fill("<script>", "a{{a}};", "</script>"), fill("<script>", "/*{{a}}*/", "</script>"),
		fill("<script>", "=/a/", "{{a}}</script>"), fill("<script>", "{", "{{a}}</script>"[1:]), fill("<style>a{", "b:\"{{a}}\";", "}</style>"),
		fill("<style>a{", "b:url({{a}});", "}</style>"), fill("<style>a{b:", "url(", "{{a}}</style>"), fill("<p style=\"a:b", " {{a}}", "\">"),
		fill("<p style=\"", "\\a", "{{a}}\">"), fill("<textarea>", "</text", "{{a}}</textarea>"), fill("", "<noscript><p title={{a}}>", ""),
		fill("<meta http-equiv=refresh content='0;url=", "url", "{{a}}'>"), fill("<title>", "{{a}}", "</title>"), fill("", "{{a}}\n<p {{b}}>", ""),
		fill("<meta ", "0={{a}} ", ">"), fill("<meta ", "content={{a}} ", ">"), fill("<meta http-equiv=refresh ", "content='0;url={{a}}' ", ">"),
		fill("<p ", "title={{a}} ", ">"), fill("<p ", "a", " title={{a}}>"), fill("<p ", "{{a}} ", ">"), fill("<p title=\"", "a", "{{a}}\">"),
	}
}

// BenchmarkHostileTemplates compares templates with ones of a quarter of their
// length. A ratio of 4 is linear.
func BenchmarkHostileTemplates(b *testing.B) {
	took := func(html string) time.Duration {
		began := time.Now()
		if template, _, _ := Parse(context.Background(), html); template != nil {
			if _, err := template.Render(map[string]Value{"a": Text("<x>")}); err != nil && err != ErrTooLarge {
				b.Fatal(err)
			}
		}
		return time.Since(began)
	}
	for range b.N {
		worst, which := 0.0, ""
		short := hostileTemplates(MaxHTML / 40)
		for i, long := range hostileTemplates(MaxHTML / 10) {
			var times [2]time.Duration
			for range 3 {
				times[0] += took(short[i])
				times[1] += took(long)
			}
			if ratio := float64(times[1]) / float64(times[0]); ratio > worst {
				worst, which = ratio, long[:20]
			}
		}
		b.ReportMetric(worst, "time-of-4x")
		b.Logf("slowest: %q", which)
	}
}
