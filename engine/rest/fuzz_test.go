package rest

import (
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/rest/header"
	"marquee/engine/schema"
)

func checkKind(t *testing.T, err error, kind message.Kind) {
	t.Helper()
	var fault *message.Error
	if !errors.As(err, &fault) || fault.Kind != kind || len(fault.Messages) == 0 {
		t.Fatalf("%#v, want an error of kind %d", err, kind)
	}
}

// Every id that an object can have is reachable by its escaped path.
func FuzzPathOfID(f *testing.F) {
	for _, id := range []string{"a", "a b", "a/b", "a/", "/", "//", "%2F", "a;b", "a?b#c", "a+b", "é", "日本語", "...", "a%", `a\b`, "a:b", "~", "a//b"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if !document.ValidID(id) {
			return
		}
		for _, suffix := range []string{"", "/"} {
			target := "/api/v1/orders/" + url.PathEscape(id) + suffix
			r := httptest.NewRequest(http.MethodGet, target, nil)
			parts, err := segments(r.URL.EscapedPath())
			if err != nil || len(parts) != 2 || parts[0] != "orders" || parts[1] != id {
				t.Fatalf("%q became %q: %v", target, parts, err)
			}
		}
		if err := checkID(&schema.Type{}, id); err != nil {
			t.Fatal(err)
		}
	})
}

// Every path is split into segments or unknown.
func FuzzSegments(f *testing.F) {
	for _, path := range []string{"/api/v1/", "/api/v1", "/api/v1/orders/%zz", "/api/v1/a/b/c", "/api/v1//", "/", "", "/api/v1/%2F", "/api/v1/a%00"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		parts, err := segments(path)
		if err != nil {
			checkKind(t, err, message.NotFound)
			return
		}
		if len(parts) == 0 {
			t.Fatalf("%q has no part", path)
		}
		escaped := make([]string, len(parts))
		for i, part := range parts {
			escaped[i] = url.PathEscape(part)
		}
		again, err := segments("/api/v1/" + strings.Join(escaped, "/") + "/")
		if err != nil || strings.Join(again, "\n") != strings.Join(parts, "\n") {
			t.Fatalf("%q became %q, then %q: %v", path, parts, again, err)
		}
	})
}

// A query is parsed as by net/url, except that a semicolon belongs to its value, that
// no parameter has two values, and that names with an underscore are omitted.
func FuzzParseQuery(f *testing.F) {
	for _, raw := range []string{"", "a=b", "a=b;c&d=e%20f+g", "a=1&a=2", "a=1&a=%31", "_=1&_=2&a=1", "%5F=1", "a=%zz", "%zz=a", "a", "=", "&&a=b&", "a=b=c", "a%3D=b", "id=a;b;c", "a=%FF%00"} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		parameters, err := ParseQuery(raw)
		peer, peerErr := url.ParseQuery(strings.ReplaceAll(raw, ";", "%3B"))
		if err != nil {
			checkKind(t, err, message.Malformed)
			if peerErr == nil && !ambiguous(peer) {
				t.Fatalf("%q is rejected (%v), and net/url parses %v", raw, err, peer)
			}
			return
		}
		maps.DeleteFunc(peer, func(name string, _ []string) bool { return strings.HasPrefix(name, "_") })
		if peerErr != nil || len(peer) != len(parameters) || ambiguous(peer) {
			t.Fatalf("%q is %v, and net/url says %v (%v)", raw, parameters, peer, peerErr)
		}
		for name, value := range parameters {
			if values := peer[name]; len(values) == 0 || values[0] != value {
				t.Fatalf("%q: %q is %q, to net/url %q", raw, name, value, values)
			}
		}
	})
}

// ambiguous reports whether a parameter has several values.
func ambiguous(values url.Values) bool {
	for _, list := range values {
		if len(slices.Compact(list)) > 1 {
			return true
		}
	}
	return false
}

// Lists of entity tags are split, and tags of the service are recognized in them.
func FuzzTags(f *testing.F) {
	for _, value := range []string{`"1-a"`, `W/"1-a"`, `"a", "b"`, `"a",,"b"`, `"a" "b"`, `""`, `"`, `*`, ``, ` , `, `"1-a-gzip"`, `a`, `W/`, `"a"x`} {
		f.Add(value, "1-abc")
	}
	f.Fuzz(func(t *testing.T, value, tag string) {
		list, ok := header.Tags(value)
		if !ok && len(list) > 0 {
			t.Fatalf("%q: %q, %t", value, list, ok)
		}
		for _, tag := range list {
			if strings.Contains(tag, `"`) {
				t.Fatalf("%q has the tag %q", value, tag)
			}
		}
		header.NotModified(value, `"1-a"`)
		if match, err := holds(http.Header{"If-Match": {value}}, true, 0); err != nil {
			checkKind(t, err, message.Malformed)
		} else if match {
			t.Fatalf("%q matches an object that is not there", value)
		}
		notInTag := func(c rune) bool { return c <= ' ' || c == '"' || c == 0x7f } // etagc, RFC 9110 section 8.8.3
		if strings.ContainsFunc(tag, notInTag) || header.Uncompressed(tag) != tag {
			return
		}
		etag := `"` + tag + `"`
		for _, sent := range []string{etag, `W/` + etag, `"x", ` + etag, `"` + tag + header.CompressedSuffixes[0] + `"`, `"` + tag + header.CompressedSuffixes[1] + `"`} {
			if !header.NotModified(sent, etag) {
				t.Fatalf("%q is not recognized in %q", etag, sent)
			}
		}
	})
}

// Every Content-Type is accepted or rejected.
func FuzzMediaType(f *testing.F) {
	for _, header := range []string{"", "application/json", "application/json; charset=utf-8", "application/problem+json", "text/plain", "text/html", "+json", "a/b+json;;", ";", "application/x-www-form-urlencoded"} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		for _, patch := range []bool{false, true} {
			if err := checkMediaType(header, patch); err != nil {
				checkKind(t, err, message.UnsupportedMediaType)
			}
		}
	})
}
