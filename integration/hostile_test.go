package integration

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// hostile is a request that must be refused, with the status and the code of
// its first message.
type hostile struct {
	method, path string
	header       http.Header
	body         func() io.Reader
	status       int
	code         string
	params       string // a pattern of the first message's params
}

func text(s string) func() io.Reader { return func() io.Reader { return strings.NewReader(s) } }

// repeated makes the body for each request, as all of them together are large.
func repeated(before, unit string, n int, after string) func() io.Reader {
	return func() io.Reader { return strings.NewReader(before + strings.Repeat(unit, n) + after) }
}

func nested(levels int) func() io.Reader {
	return text(`{"name": "deep", "description": ` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + "}")
}

// bomb is gzip of many zeros, or spaces, around an object.
func bomb(fill byte, size int) func() io.Reader {
	return func() io.Reader {
		var packed bytes.Buffer
		w, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
		block := bytes.Repeat([]byte{fill}, 1<<16)
		for range size / len(block) {
			w.Write(block)
		}
		w.Write([]byte("{}"))
		w.Close()
		return &packed
	}
}

// endless never ends: the length of the body is not known beforehand.
func endless() io.Reader { return io.MultiReader(strings.NewReader(`[{"name":"`), spring{}) }

type spring struct{}

func (spring) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

const (
	collection = "/api/v1/teams?context=main"
	object     = "/api/v1/teams/t?context=main"
)

var packed = http.Header{"Content-Encoding": {"gzip"}}

var hostileBodies = map[string]hostile{
	"invalid UTF-8":            {path: object, body: text("{\n\"name\": \"a\xffb\"}"), status: 400, code: "error.body.encoding", params: `{"line": 2}`},
	"half a character":         {path: object, body: text("{\"name\": \"\xe2\x82\"}"), status: 400, code: "error.body.encoding"},
	"encoded surrogate":        {path: object, body: text("{\"name\": \"\xed\xa0\x80\"}"), status: 400, code: "error.body.encoding"},
	"overlong":                 {path: object, body: text("{\"name\": \"\xc0\xaf\"}"), status: 400, code: "error.body.encoding"},
	"UTF-16":                   {path: object, body: text("{\x00\"\x00n\x00\"\x00"), status: 400, code: "error.body.syntax"},
	"byte order mark":          {path: object, body: text("\ufeff{\"name\": \"a\"}"), status: 400, code: "error.body.syntax"},
	"lone high surrogate":      {path: object, body: text(`{"name": "\ud83d"}`), status: 400},
	"lone low surrogate":       {path: object, body: text(`{"name": "\udf52x"}`), status: 400},
	"surrogates reversed":      {path: object, body: text(`{"name": "\udf52\ud83d"}`), status: 400},
	"raw control character":    {path: object, body: text("{\"name\": \"a\nb\"}"), status: 400, code: "error.body.syntax"},
	"raw NUL":                  {path: object, body: text("{\"name\": \"a\x00b\"}"), status: 400, code: "error.body.syntax"},
	"escaped NUL":              {path: object, body: text(`{"name": "a\u0000b"}`), status: 422, code: "error.value.character", params: `{"field": "/name"}`},
	"NUL in a name":            {path: object, body: text(`{"name": "a", "x\u0000y": 1}`), status: 422, code: "error.value.character"},
	"NUL behind the body":      {path: object, body: text("{\"name\": \"a\"}\x00"), status: 400, code: "error.body.syntax"},
	"65 levels":                {path: object, body: nested(65), status: 400, code: "error.body.too.deep", params: `{"limit": 64}`},
	"70 levels":                {path: object, body: nested(70), status: 400, code: "error.body.too.deep"},
	"65 levels in a list":      {path: collection, body: text("[{\"x\":" + strings.Repeat("[", 63) + strings.Repeat("]", 63) + "}]"), status: 400, code: "error.body.too.deep"},
	"a million levels":         {path: object, body: repeated("", "[", 1_000_000, ""), status: 400, code: "error.body.too.deep"},
	"a million objects deep":   {path: object, body: repeated("", `{"a":`, 200_000, ""), status: 400, code: "error.body.too.deep"},
	"duplicate name":           {path: object, body: text(`{"name": "a", "description": {"x": 1, "x": 1}}`), status: 400, code: "error.body.duplicate.name", params: `{"field": "/description/x", "line": 1}`},
	"1e999":                    {path: "/api/v1/tiers/t?context=main", body: text(`{"name": "a", "priority": 1e999}`), status: 422, code: "error.value.out.of.range", params: `{"field": "/priority"}`},
	"a number of 400 digits":   {path: "/api/v1/tiers/t?context=main", body: repeated(`{"name": "a", "priority": 1`, "0", 400, "}"), status: 422, code: "error.value.out.of.range"},
	"a number of 1 MB":         {path: "/api/v1/tiers/t?context=main", body: repeated(`{"name": "a", "priority": 1`, "0", 900_000, "}"), status: 422, code: "error.value.out.of.range"},
	"exponent of 1 MB":         {path: "/api/v1/tiers/t?context=main", body: repeated(`{"name": "a", "priority": 1e`, "9", 900_000, "}"), status: 422, code: "error.value.out.of.range"},
	"object above 1 MiB":       {path: object, body: repeated(`{"name": "a", "description": "`, "x", 1<<20, `"}`), status: 413, code: "error.object.too.large", params: `{"limit": 1048576}`},
	"second object above":      {path: collection, body: repeated(`[{"name": "a"}, {"name": "b", "description": "`, "x", 1<<20, `"}]`), status: 413, code: "error.object.too.large", params: `{"index": 1}`},
	"body above 16 MiB":        {path: collection, body: repeated("[", " ", 16<<20, "{}]"), status: 413, code: "error.body.too.large", params: `{"limit": 16777216}`},
	"endless body":             {path: collection, body: endless, status: 413, code: "error.body.too.large"},
	"1,001 objects":            {path: collection, body: repeated("[", `{"name": "a"},`, 1000, `{"name": "a"}]`), status: 413, code: "error.too.many.objects", params: `{"limit": 1000}`},
	"1,001 operations":         {path: "/api/v1/batch?context=main", body: repeated(`{"operations": [`, `{"type": "teams", "object": {"name": "a"}},`, 1000, `{"type": "teams", "object": {"name": "a"}}]}`), status: 413, code: "error.too.many.objects"},
	"operation above 1 MiB":    {path: "/api/v1/batch?context=main", body: repeated(`{"operations": [{"type": "teams", "object": {"name": "a", "description": "`, "x", 1<<20, `"}}]}`), status: 413, code: "error.object.too.large", params: `{"index": 0}`},
	"a million names":          {path: object, body: repeated(`{"name": "a"`, `,"`+strings.Repeat("x", 9)+`": 0`, 1_000_000, "}"), status: 413, code: "error.object.too.large"},
	"a million values":         {path: collection, body: repeated(`[{"name": "a"}`, `,{"x":[`+strings.Repeat("0,", 200_000)+`0]}`, 6, "]"), status: 413, code: "error.too.many.values"},
	"gzip bomb":                {path: collection, header: packed, body: bomb(' ', 64<<20), status: 413, code: "error.body.too.large"},
	"gzip bomb of zeros":       {path: object, header: packed, body: bomb(0, 64<<20), status: 413, code: "error.body.too.large"},
	"gzip cut short":           {path: object, header: packed, body: text(string(pack([]byte(`{"name": "a"}`))[:20])), status: 400, code: "error.body.compression"},
	"gzip with a wrong sum":    {path: object, header: packed, body: text(strings.Replace(string(pack([]byte(`{"name": "a"}`))), "\x0d\x00\x00\x00", "\x0e\x00\x00\x00", 1)), status: 400, code: "error.body.compression"},
	"gzip of nothing":          {path: object, header: packed, body: text(""), status: 400, code: "error.body.compression"},
	"gzip twice":               {path: object, header: packed, body: text(string(pack(pack([]byte(`{"name": "a"}`))))), status: 400},
	"empty":                    {path: object, body: text(""), status: 400, code: "error.body.syntax"},
	"nothing but spaces":       {path: collection, body: text(" \n "), status: 400, code: "error.body.syntax"},
	"id of 1 MB":               {path: collection, body: repeated(`{"name": "a", "id": "`, "x", 1_000_000, `"}`), status: 400, code: "error.id.invalid"},
	"reference of 1 MB":        {path: "/api/v1/advertisers/a?context=main", body: repeated(`{"name": "a", "team": "`, "x", 1_000_000, `"}`), status: 422, code: "error.reference.malformed"},
	"reference to a dot":       {path: "/api/v1/advertisers/a?context=main", body: text(`{"name": "a", "team": ".."}`), status: 422, code: "error.reference.malformed"},
	"a regular expression":     {path: "/api/v1/users", body: repeated(`{"username": "x", "locale": "`, "a_", 30, `!"}`), status: 422, code: "error.value.pattern"},
	"prototype":                {path: object + "&fieldValidation=Strict", body: text(`{"name": "a", "__proto__": {"admin": true}}`), status: 422, code: "error.property.unknown"},
	"token request of 1 MB":    {path: "/api/authenticate", body: repeated("grant_type=password&username=", "x", 1<<20, ""), status: 413, code: "error.body.too.large"},
	"token request too deep":   {path: "/api/authenticate", body: nested(70), status: 400, code: "error.body.too.deep"},
	"token request with a NUL": {path: "/api/authenticate", body: text(`{"grant_type": "password", "username": "a\u0000", "password": "b"}`), status: 400, code: "error.value.character"},
}

var hostileQueries = map[string]hostile{
	"where of 10,000 conditions": {path: "/api/v1/tiers?context=main&where=" + strings.Repeat("name=x;", 10_000), status: 400, code: "error.where.too.long"},
	"where of 10,000 values":     {path: "/api/v1/tiers?context=main&where=name%20in%20x" + strings.Repeat(",x", 9_999), status: 400, code: "error.where.too.long"},
	"where with a deep path":     {path: "/api/v1/tiers?context=main&where=name" + strings.Repeat(".x", 1_000) + "=1", status: 400, code: "error.field.unknown"},
	"where that is code":         {path: "/api/v1/tiers?context=main&where=name%27)%20UNION%20SELECT%20*--%20=x", status: 400},
	"where with a NUL":           {path: "/api/v1/tiers?context=main&where=name=a%00", status: 400, code: "error.parameter.invalid"},
	"where with bad UTF-8":       {path: "/api/v1/tiers?context=main&where=name=%ff", status: 400, code: "error.parameter.invalid"},
	"1,001 ids":                  {path: "/api/v1/tiers?context=main&id=" + ids(1001), status: 400, code: "error.parameter.invalid", params: `{"parameter": "id"}`},
	"page beyond all":            {path: "/api/v1/tiers?context=main&page=9223372036854775807&pageSize=1000", status: 400, code: "error.parameter.invalid"},
	"orderBy that is code":       {path: "/api/v1/tiers?context=main&orderBy=name;DROP%20TABLE%20tiers", status: 400, code: "error.field.unknown"},
	"fields that are code":       {path: "/api/v1/tiers?context=main&fields=name,'||'", status: 400, code: "error.field.unknown"},
	"context with a NUL":         {path: "/api/v1/tiers?context=main%00", status: 403, code: "error.network.forbidden"},
	"context with bad UTF-8":     {path: "/api/v1/tiers?context=%ff", status: 403, code: "error.network.forbidden"},
	"context of 50 KB":           {path: "/api/v1/tiers?context=" + strings.Repeat("x", 50_000), status: 403, code: "error.network.forbidden"},
	"cursor of 50 KB":            {path: "/api/v1/tiers?context=main&cursor=" + strings.Repeat("x", 50_000), status: 400, code: "error.cursor.invalid"},
	"a parameter of bad UTF-8":   {path: "/api/v1/tiers?context=main&%ff=1", status: 400, code: "error.parameter.unknown"},
	"a type of bad UTF-8":        {path: "/api/v1/%ff?context=main", status: 404},
	"dot segments":               {path: "/api/v1/tiers/../teams?context=main", status: 404},
	"encoded dot segments":       {path: "/api/v1/tiers/%2e%2e%2fteams?context=main", status: 404, code: "error.object.not.found"},
	"many slashes":               {path: "/api/v1//tiers?context=main", status: 404},
	"id that is a path":          {path: "/api/v1/tiers/..%2F..%2Fetc%2Fpasswd?context=main", status: 404, code: "error.object.not.found"},
	"id that is a format":        {path: "/api/v1/tiers/%25s%25n%25d?context=main", status: 404, code: "error.object.not.found"},
	"If-None-Match of 30 KB":     {path: "/api/v1/tiers/x?context=main", header: http.Header{"If-None-Match": {strings.Repeat(`"x",`, 7_000)}}, status: 404},
	"token of 30 KB":             {path: "/api/v1/tiers?context=main", header: http.Header{"Authorization": {"Bearer " + strings.Repeat("x", 30_000)}}, status: 401, code: "error.token.invalid"},
	"search of 20 KB":            {path: "/api/v1/tiers?context=main&q=" + strings.Repeat("word+", 4_000), status: 200},
}

func ids(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "id%d;", i)
	}
	return strings.TrimSuffix(b.String(), ";")
}

// TestHostile sends what nobody means well by: each request has its exact
// status and code, and the store is as before.
func TestHostile(t *testing.T) { eachStore(t, testHostile) }

func testHostile(t *testing.T, fresh newStore) {
	skipSequential(t)
	s := newService(t, fresh)
	token, err := s.signIn(admin)
	if err != nil {
		t.Fatal(err)
	}
	for name, h := range hostileBodies {
		h.method = http.MethodPost
		t.Run(name, func(t *testing.T) { h.run(t, s, token) })
	}
	for name, h := range hostileQueries {
		h.method = http.MethodGet
		t.Run(name, func(t *testing.T) { h.run(t, s, token) })
	}
}

func (h hostile) run(t *testing.T, s *service, token string) {
	before, err := s.camera.picture()
	if err != nil {
		t.Fatal(err)
	}
	header := h.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	oauth := strings.HasPrefix(h.path, "/api/authenticate")
	if header.Get("Authorization") == "" && !oauth {
		header.Set("Authorization", "Bearer "+token)
	}
	var body io.Reader
	if h.body != nil {
		body = h.body()
	}
	a, err := s.send(h.method, h.path, header, body)
	if err != nil {
		t.Fatal(err)
	}
	if a.status != h.status {
		t.Errorf("status is %d, not %d: %.500s", a.status, h.status, a.body)
	}
	for _, wrong := range a.promises(oauth) {
		t.Error(wrong)
	}
	pattern := map[string]any{}
	if h.code != "" {
		message := map[string]any{"code": h.code}
		if h.params != "" {
			if message["params"], err = decode([]byte(h.params)); err != nil {
				t.Fatal(err)
			}
		}
		pattern["messages"] = []any{message}
	}
	for _, wrong := range match(pattern, a.json(), "", map[string]string{}) {
		t.Errorf("%s: %.500s", wrong, a.body)
	}
	after, err := s.camera.picture()
	if err != nil || after != before {
		t.Errorf("the store is not as before: %v", err)
	}
}
