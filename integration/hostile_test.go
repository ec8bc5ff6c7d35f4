package integration

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

func nested(levels int) func() io.Reader {
	return service.Text(`{"name": "deep", "description": ` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + "}")
}

var hostileBodies = map[string]service.Hostile{
	"invalid UTF-8":            {Path: service.Object, Body: service.Text("{\n\"name\": \"a\xffb\"}"), Status: 400, Code: "error.body.encoding", Params: `{"line": 2}`},
	"half a character":         {Path: service.Object, Body: service.Text("{\"name\": \"\xe2\x82\"}"), Status: 400, Code: "error.body.encoding"},
	"encoded surrogate":        {Path: service.Object, Body: service.Text("{\"name\": \"\xed\xa0\x80\"}"), Status: 400, Code: "error.body.encoding"},
	"overlong":                 {Path: service.Object, Body: service.Text("{\"name\": \"\xc0\xaf\"}"), Status: 400, Code: "error.body.encoding"},
	"UTF-16":                   {Path: service.Object, Body: service.Text("{\x00\"\x00n\x00\"\x00"), Status: 400, Code: "error.body.syntax"},
	"byte order mark":          {Path: service.Object, Body: service.Text("\ufeff{\"name\": \"a\"}"), Status: 400, Code: "error.body.syntax"},
	"lone high surrogate":      {Path: service.Object, Body: service.Text(`{"name": "\ud83d"}`), Status: 400},
	"lone low surrogate":       {Path: service.Object, Body: service.Text(`{"name": "\udf52x"}`), Status: 400},
	"surrogates reversed":      {Path: service.Object, Body: service.Text(`{"name": "\udf52\ud83d"}`), Status: 400},
	"raw control character":    {Path: service.Object, Body: service.Text("{\"name\": \"a\nb\"}"), Status: 400, Code: "error.body.syntax"},
	"raw NUL":                  {Path: service.Object, Body: service.Text("{\"name\": \"a\x00b\"}"), Status: 400, Code: "error.body.syntax"},
	"escaped NUL":              {Path: service.Object, Body: service.Text(`{"name": "a\u0000b"}`), Status: 422, Code: "error.value.character", Params: `{"field": "/name"}`},
	"NUL in a name":            {Path: service.Object, Body: service.Text(`{"name": "a", "x\u0000y": 1}`), Status: 422, Code: "error.value.character"},
	"NUL behind the body":      {Path: service.Object, Body: service.Text("{\"name\": \"a\"}\x00"), Status: 400, Code: "error.body.syntax"},
	"65 levels":                {Path: service.Object, Body: nested(65), Status: 400, Code: "error.body.too.deep", Params: `{"limit": 64}`},
	"70 levels":                {Path: service.Object, Body: nested(70), Status: 400, Code: "error.body.too.deep"},
	"65 levels in a list":      {Path: service.Collection, Body: service.Text("[{\"x\":" + strings.Repeat("[", 63) + strings.Repeat("]", 63) + "}]"), Status: 400, Code: "error.body.too.deep"},
	"a million levels":         {Path: service.Object, Body: service.Repeated("", "[", 1_000_000, ""), Status: 400, Code: "error.body.too.deep"},
	"a million objects deep":   {Path: service.Object, Body: service.Repeated("", `{"a":`, 200_000, ""), Status: 400, Code: "error.body.too.deep"},
	"duplicate name":           {Path: service.Object, Body: service.Text(`{"name": "a", "description": {"x": 1, "x": 1}}`), Status: 400, Code: "error.body.duplicate.name", Params: `{"field": "/description/x", "line": 1}`},
	"1e999":                    {Path: "/api/v1/tiers/t?context=main", Body: service.Text(`{"name": "a", "priority": 1e999}`), Status: 422, Code: "error.value.out.of.range", Params: `{"field": "/priority"}`},
	"a number of 400 digits":   {Path: "/api/v1/tiers/t?context=main", Body: service.Repeated(`{"name": "a", "priority": 1`, "0", 400, "}"), Status: 422, Code: "error.value.out.of.range"},
	"a number of 1 MB":         {Path: "/api/v1/tiers/t?context=main", Body: service.Repeated(`{"name": "a", "priority": 1`, "0", 900_000, "}"), Status: 422, Code: "error.value.out.of.range"},
	"exponent of 1 MB":         {Path: "/api/v1/tiers/t?context=main", Body: service.Repeated(`{"name": "a", "priority": 1e`, "9", 900_000, "}"), Status: 422, Code: "error.value.out.of.range"},
	"object above 1 MiB":       {Path: service.Object, Body: service.Repeated(`{"name": "a", "description": "`, "x", 1<<20, `"}`), Status: 413, Code: "error.object.too.large", Params: `{"limit": 1048576}`},
	"second object above":      {Path: service.Collection, Body: service.Repeated(`[{"name": "a"}, {"name": "b", "description": "`, "x", 1<<20, `"}]`), Status: 413, Code: "error.object.too.large", Params: `{"index": 1}`},
	"body above 16 MiB":        {Path: service.Collection, Body: service.Repeated("[", " ", 16<<20, "{}]"), Status: 413, Code: "error.body.too.large", Params: `{"limit": 16777216}`},
	"endless body":             {Path: service.Collection, Body: service.Endless, Status: 413, Code: "error.body.too.large"},
	"1,001 objects":            {Path: service.Collection, Body: service.Repeated("[", `{"name": "a"},`, 1000, `{"name": "a"}]`), Status: 413, Code: "error.too.many.objects", Params: `{"limit": 1000}`},
	"1,001 operations":         {Path: "/api/v1/batch?context=main", Body: service.Repeated(`{"operations": [`, `{"type": "teams", "object": {"name": "a"}},`, 1000, `{"type": "teams", "object": {"name": "a"}}]}`), Status: 413, Code: "error.too.many.objects"},
	"operation above 1 MiB":    {Path: "/api/v1/batch?context=main", Body: service.Repeated(`{"operations": [{"type": "teams", "object": {"name": "a", "description": "`, "x", 1<<20, `"}}]}`), Status: 413, Code: "error.object.too.large", Params: `{"index": 0}`},
	"a million names":          {Path: service.Object, Body: service.Repeated(`{"name": "a"`, `,"`+strings.Repeat("x", 9)+`": 0`, 1_000_000, "}"), Status: 413, Code: "error.object.too.large"},
	"a million values":         {Path: service.Collection, Body: service.Repeated(`[{"name": "a"}`, `,{"x":[`+strings.Repeat("0,", 200_000)+`0]}`, 6, "]"), Status: 413, Code: "error.too.many.values"},
	"gzip bomb":                {Path: service.Collection, Header: service.Packed, Body: service.Bomb(' ', 64<<20), Status: 413, Code: "error.body.too.large"},
	"gzip bomb of zeros":       {Path: service.Object, Header: service.Packed, Body: service.Bomb(0, 64<<20), Status: 413, Code: "error.body.too.large"},
	"gzip cut short":           {Path: service.Object, Header: service.Packed, Body: service.Text(string(service.Pack([]byte(`{"name": "a"}`))[:20])), Status: 400, Code: "error.body.compression"},
	"gzip with a wrong sum":    {Path: service.Object, Header: service.Packed, Body: service.Text(strings.Replace(string(service.Pack([]byte(`{"name": "a"}`))), "\x0d\x00\x00\x00", "\x0e\x00\x00\x00", 1)), Status: 400, Code: "error.body.compression"},
	"gzip of nothing":          {Path: service.Object, Header: service.Packed, Body: service.Text(""), Status: 400, Code: "error.body.compression"},
	"gzip twice":               {Path: service.Object, Header: service.Packed, Body: service.Text(string(service.Pack(service.Pack([]byte(`{"name": "a"}`))))), Status: 400},
	"empty":                    {Path: service.Object, Body: service.Text(""), Status: 400, Code: "error.body.syntax"},
	"nothing but spaces":       {Path: service.Collection, Body: service.Text(" \n "), Status: 400, Code: "error.body.syntax"},
	"id of 1 MB":               {Path: service.Collection, Body: service.Repeated(`{"name": "a", "id": "`, "x", 1_000_000, `"}`), Status: 400, Code: "error.id.invalid"},
	"reference of 1 MB":        {Path: "/api/v1/advertisers/a?context=main", Body: service.Repeated(`{"name": "a", "team": "`, "x", 1_000_000, `"}`), Status: 422, Code: "error.reference.malformed"},
	"reference to a dot":       {Path: "/api/v1/advertisers/a?context=main", Body: service.Text(`{"name": "a", "team": ".."}`), Status: 422, Code: "error.reference.malformed"},
	"a regular expression":     {Path: "/api/v1/users", Body: service.Repeated(`{"username": "x", "locale": "`, "a_", 30, `!"}`), Status: 422, Code: "error.value.pattern"},
	"prototype":                {Path: service.Object + "&fieldValidation=Strict", Body: service.Text(`{"name": "a", "__proto__": {"admin": true}}`), Status: 422, Code: "error.property.unknown"},
	"token request of 1 MB":    {Path: "/api/authenticate", Body: service.Repeated("grant_type=password&username=", "x", 1<<20, ""), Status: 413, Code: "error.body.too.large"},
	"token request too deep":   {Path: "/api/authenticate", Body: nested(70), Status: 400, Code: "error.body.too.deep"},
	"token request with a NUL": {Path: "/api/authenticate", Body: service.Text(`{"grant_type": "password", "username": "a\u0000", "password": "b"}`), Status: 400, Code: "error.value.character"},
}

var hostileQueries = map[string]service.Hostile{
	"where of 10,000 conditions": {Path: "/api/v1/tiers?context=main&where=" + strings.Repeat("name=x;", 10_000), Status: 400, Code: "error.where.too.long"},
	"where of 10,000 values":     {Path: "/api/v1/tiers?context=main&where=name%20in%20x" + strings.Repeat(",x", 9_999), Status: 400, Code: "error.where.too.long"},
	"where with a deep path":     {Path: "/api/v1/tiers?context=main&where=name" + strings.Repeat(".x", 1_000) + "=1", Status: 400, Code: "error.field.unknown"},
	"where that is code":         {Path: "/api/v1/tiers?context=main&where=name%27)%20UNION%20SELECT%20*--%20=x", Status: 400},
	"where with a NUL":           {Path: "/api/v1/tiers?context=main&where=name=a%00", Status: 400, Code: "error.parameter.invalid"},
	"where with bad UTF-8":       {Path: "/api/v1/tiers?context=main&where=name=%ff", Status: 400, Code: "error.parameter.invalid"},
	"1,001 ids":                  {Path: "/api/v1/tiers?context=main&id=" + ids(1001), Status: 400, Code: "error.parameter.invalid", Params: `{"parameter": "id"}`},
	"page beyond all":            {Path: "/api/v1/tiers?context=main&page=9223372036854775807&pageSize=1000", Status: 400, Code: "error.parameter.invalid"},
	"orderBy that is code":       {Path: "/api/v1/tiers?context=main&orderBy=name;DROP%20TABLE%20tiers", Status: 400, Code: "error.field.unknown"},
	"fields that are code":       {Path: "/api/v1/tiers?context=main&fields=name,'||'", Status: 400, Code: "error.field.unknown"},
	"context with a NUL":         {Path: "/api/v1/tiers?context=main%00", Status: 403, Code: "error.network.forbidden"},
	"context with bad UTF-8":     {Path: "/api/v1/tiers?context=%ff", Status: 403, Code: "error.network.forbidden"},
	"context of 50 KB":           {Path: "/api/v1/tiers?context=" + strings.Repeat("x", 50_000), Status: 403, Code: "error.network.forbidden"},
	"cursor of 50 KB":            {Path: "/api/v1/tiers?context=main&cursor=" + strings.Repeat("x", 50_000), Status: 400, Code: "error.cursor.invalid"},
	"a parameter of bad UTF-8":   {Path: "/api/v1/tiers?context=main&%ff=1", Status: 400, Code: "error.parameter.unknown"},
	"a type of bad UTF-8":        {Path: "/api/v1/%ff?context=main", Status: 404},
	"dot segments":               {Path: "/api/v1/tiers/../teams?context=main", Status: 404},
	"encoded dot segments":       {Path: "/api/v1/tiers/%2e%2e%2fteams?context=main", Status: 404, Code: "error.object.not.found"},
	"many slashes":               {Path: "/api/v1//tiers?context=main", Status: 404},
	"id that is a path":          {Path: "/api/v1/tiers/..%2F..%2Fetc%2Fpasswd?context=main", Status: 404, Code: "error.object.not.found"},
	"id that is a format":        {Path: "/api/v1/tiers/%25s%25n%25d?context=main", Status: 404, Code: "error.object.not.found"},
	"If-None-Match of 30 KB":     {Path: "/api/v1/tiers/x?context=main", Header: http.Header{"If-None-Match": {strings.Repeat(`"x",`, 7_000)}}, Status: 404},
	"token of 30 KB":             {Path: "/api/v1/tiers?context=main", Header: http.Header{"Authorization": {"Bearer " + strings.Repeat("x", 30_000)}}, Status: 401, Code: "error.token.invalid"},
	"search of 20 KB":            {Path: "/api/v1/tiers?context=main&q=" + strings.Repeat("word+", 4_000), Status: 200},
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
func TestHostile(t *testing.T) { service.EachStore(t, testHostile) }

func testHostile(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	s := service.New(t, fresh)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	for name, h := range hostileBodies {
		h.Method = http.MethodPost
		t.Run(name, func(t *testing.T) { h.Run(t, s, token) })
	}
	for name, h := range hostileQueries {
		h.Method = http.MethodGet
		t.Run(name, func(t *testing.T) { h.Run(t, s, token) })
	}
}
