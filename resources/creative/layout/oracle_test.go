package layout

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// hostile are values that some escapers have let through as script or markup.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `"onload="alert(1)`,
	`</script><script>alert(1)</script>`, `</textarea><script>alert(1)</script>`, `</title><svg onload=alert(1)>`,
	`</style><script>alert(1)</script>`, `--><script>alert(1)</script>`, `--!><script>alert(1)</script>`, `]]><script>alert(1)</script>`,
	`javascript:alert(1)`, ` javascript:alert(1)`, "java\tscript:alert(1)", "java\nscript:alert(1)", "\x01javascript:alert(1)",
	`JaVaScRiPt:alert(1)`, `javascript&colon;alert(1)`, `java&Tab;script:alert(1)`, `&#106;avascript:alert(1)`, `vbscript:x`,
	`data:text/html,<script>alert(1)</script>`, `script:alert(1)`, `avascript:alert(1)`, `:alert(1)`, `\`, `\\`, `";alert(1)//`, `';alert(1)//`, "`;alert(1)//",
	`${alert(1)}`, `*/alert(1)/*`, "\nalert(1)\n", "\u2028alert(1)\u2029", `alert(1)`, `x" onclick=alert(1) y="`, `x onclick=alert(1)`,
	`a,javascript:alert(1) 1x`, `a 1x,javascript:alert(1)`, `0;url=javascript:alert(1)`, `expression(alert(1))`, `red;background:url(javascript:alert(1))`,
	`url(javascript:alert(1))`, `);behavior:url(x`, `}*{color:red`, `quot;`, `#x27;`, `lt;script`, `Tab;`, "\x00", "\xff<", `{{.}}`, `{{define "x"}}`, `{{-`,
	`!--<script>`, `/script>`, `script`, `<!--`, `//evil.example/`, `/`, `>`, `<`, `=`, `&`, ` `, ``, "\r\n", `x=1`, `onerror`, `http://x/"onerror=1`,
}

// checkSafe checks that a rendering has the structure of a harmless one, with and
// without scripting.
func checkSafe(t *testing.T, source string, template *Template, values map[string]Value) {
	t.Helper()
	harmless := map[string]Value{}
	for tag, value := range values {
		value.content = map[bool]string{true: "", false: "x"}[strings.Trim(value.content, htmlSpace) == ""]
		harmless[tag] = value
	}
	got, err := template.Render(values)
	if err != nil {
		t.Fatal(err)
	}
	want, err := template.Render(harmless)
	if err != nil {
		t.Fatal(err)
	}
	for _, scripting := range []bool{true, false} {
		a, err := html.ParseWithOptions(strings.NewReader(want), html.ParseOptionEnableScripting(scripting))
		if err != nil {
			return // nested too deeply for the parser
		}
		b, err := html.ParseWithOptions(strings.NewReader(got), html.ParseOptionEnableScripting(scripting))
		if err != nil {
			t.Fatalf("%q as %q: %v", source, got, err)
		}
		x, y := elements(a), elements(b)
		for i := range max(len(x), len(y)) {
			if i >= len(x) || i >= len(y) {
				t.Fatalf("%q with %v\nbecame %q\nwith other elements than %q", source, values, got, want)
			}
			if difference := compare(x[i], y[i]); difference != "" {
				t.Fatalf("%q with %v\nbecame %q\nunlike %q:\n%s", source, values, got, want, difference)
			}
		}
	}
	if strings.Contains(got, "ZgotmplZ") && !strings.Contains(want+fmt.Sprint(values), "ZgotmplZ") {
		t.Fatalf("%q with %v became %q", source, values, got)
	}
}

func elements(n *html.Node) []*html.Node {
	var all []*html.Node
	for d := range n.Descendants() {
		if d.Type == html.ElementNode || d.Type == html.CommentNode {
			all = append(all, d)
		}
	}
	return all
}

func compare(a, b *html.Node) string {
	if a.Type != b.Type || a.Data != b.Data || a.Namespace != b.Namespace || len(a.Attr) != len(b.Attr) || (a.Parent.Data != b.Parent.Data) {
		return fmt.Sprintf("%s %q %v and %s %q %v", a.Namespace, a.Data, a.Attr, b.Namespace, b.Data, b.Attr)
	}
	for i, x := range a.Attr {
		y := b.Attr[i]
		if x.Key != y.Key || x.Namespace != y.Namespace {
			return fmt.Sprintf("attributes %v and %v", x, y)
		}
		if x.Val == y.Val {
			continue
		}
		switch {
		case strings.HasPrefix(x.Key, "on"):
			if difference := compareScripts(x.Val, y.Val); difference != "" {
				return difference
			}
		case x.Key == "style":
			if difference := compareStyles(x.Val, y.Val); difference != "" {
				return difference
			}
		case strings.HasSuffix(x.Key, "srcset"):
			if strings.Count(x.Val, ",") < strings.Count(y.Val, ",") {
				return fmt.Sprintf("lists %q and %q", x.Val, y.Val)
			}
			for _, address := range strings.FieldsFunc(y.Val, func(r rune) bool { return r == ',' || r == ' ' }) {
				if isScriptURL(address) {
					return "script address " + address
				}
			}
		case x.Key == "content":
			if i := refreshURL.FindStringIndex(y.Val); a.Data == "meta" && i != nil && isScriptURL(y.Val[i[1]:]) && hasKey(a, "http-equiv") {
				return "script address " + y.Val
			}
		case urlAttributes[x.Key] || urlAttributes[x.Namespace+":"+x.Key]:
			if isScriptURL(y.Val) {
				return "script address " + y.Val
			}
		case x.Key == "srcdoc" || x.Key == "type" || x.Key == "http-equiv" || x.Key == "values" || x.Key == "to":
			return "value of " + x.Key
		}
	}
	switch a.Data {
	case "script":
		return compareScripts(textOf(a), textOf(b))
	case "style":
		return compareStyles(textOf(a), textOf(b))
	}
	return ""
}

var refreshURL = regexp.MustCompile(`(?i)url\s*=`)

func hasKey(n *html.Node, key string) bool {
	for _, a := range n.Attr {
		if a.Key == key {
			return true
		}
	}
	return false
}

func textOf(n *html.Node) string {
	if n.FirstChild == nil {
		return ""
	}
	return n.FirstChild.Data
}

// isScriptURL reads a URL as browsers do before they determine its scheme.
func isScriptURL(address string) bool {
	address = strings.TrimLeftFunc(address, func(r rune) bool { return r <= ' ' })
	address = strings.ToLower(strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(address))
	for _, scheme := range []string{"javascript:", "vbscript:", "data:", "livescript:", "view-source:"} {
		if strings.HasPrefix(address, scheme) {
			return true
		}
	}
	return false
}

// compareScripts compares tokens under both readings of an ambiguous slash.
func compareScripts(a, b string) string {
	for _, regexps := range []bool{true, false} {
		if x, y := scriptShape(a, regexps), scriptShape(b, regexps); x != y {
			return fmt.Sprintf("scripts %q and %q\n%s\n%s", a, b, x, y)
		}
	}
	return ""
}

var keyword = regexp.MustCompile(`(^|[^\w$])(return|typeof|case|delete|do|else|in|of|instanceof|new|throw|void|extends|default|yield|await)\s*$`)

// scriptShape returns a script without the content of its strings.
func scriptShape(text string, regexps bool) string {
	var b strings.Builder
	last := byte(0)
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '"' || c == '\'' || c == '`':
			end := i + 1
			for end < len(text) && text[end] != c && (c == '`' || text[end] != '\n' && text[end] != '\r') {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			if c == '`' || end >= len(text) || text[end] != c {
				b.WriteString(text[i:min(end, len(text))])
			}
			b.WriteByte('S')
			i = end + 1
			last = 'S'
			continue
		case strings.HasPrefix(text[i:], "//"):
			end := strings.IndexAny(text[i:], "\r\n\u2028\u2029")
			if end < 0 {
				end = len(text) - i
			}
			b.WriteString(text[i : i+end])
			i += end
			continue
		case strings.HasPrefix(text[i:], "/*"):
			end := strings.Index(text[i+2:], "*/")
			if end < 0 {
				end = len(text) - i - 4
			}
			b.WriteString(text[i : i+end+4])
			i += end + 4
			continue
		case c == '/':
			certain := last == 0 || strings.IndexByte("(,=:[!&|?{;*%<>~^", last) >= 0
			division := last == 'S' || last == ']' || isWord(last)
			if certain || regexps && (!division || keyword.MatchString(text[:i])) {
				end, class := i+1, false
				for end < len(text) && (text[end] != '/' || class) && text[end] != '\n' {
					switch text[end] {
					case '\\':
						end++
					case '[':
						class = true
					case ']':
						class = false
					}
					end++
				}
				end = min(end+1, len(text))
				b.WriteString("R" + text[i:end])
				i = end
				last = 'S'
				continue
			}
		}
		b.WriteByte(c)
		if strings.IndexByte(htmlSpace, c) < 0 {
			last = c
		}
		i++
	}
	return b.String()
}

func compareStyles(a, b string) string {
	if x, y := styleShape(a), styleShape(b); x != y {
		return fmt.Sprintf("styles %q and %q\n%s\n%s", a, b, x, y)
	}
	return ""
}

// styleShape returns the punctuation of a style and the schemes of its URLs.
func styleShape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '"' || c == '\'':
			end := i + 1
			for end < len(text) && text[end] != c && text[end] != '\n' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			b.WriteByte('S')
			if end < len(text) && text[end] != c {
				b.WriteString("broken")
			}
			i = end
		case strings.HasPrefix(text[i:], "/*"):
			end := strings.Index(text[i+2:], "*/")
			if end < 0 {
				return b.String() + "open"
			}
			i += end + 3
		case len(text)-i > 4 && strings.EqualFold(text[i:i+4], "url(") && (i == 0 || !isWord(text[i-1])):
			end := strings.IndexAny(text[i+4:], `)"'`)
			if end < 0 || isScriptURL(strings.Trim(text[i+4:], ` "'`)) {
				return b.String() + "script"
			}
			b.WriteString("U")
			if text[i+4+end] == ')' {
				i += 4 + end
			} else {
				i += 3 + end
			}
		case strings.IndexByte(`{}()[];:@!\<>`, c) >= 0:
			b.WriteByte(c)
		case strings.HasPrefix(strings.ToLower(text[i:]), "expression"):
			b.WriteString("expression")
		}
		i++
	}
	return b.String()
}
