package integration

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"math"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"marquee/engine/store"
	"marquee/resources/asset/assettest"
)

// withCreative is a conversation with a service that has the creative c.
func withCreative(t *testing.T, fresh newStore) *conversation {
	t.Helper()
	c := converse(t, fresh)
	c.send("POST", "/api/v1/layouts/l?context=main", `{"name": "L", "html": "<p>"}`, 201, "")
	c.send("POST", "/api/v1/creatives/c?context=main", `{"name": "C", "layout": "l", "verifiedSafe": true, "dimensionType": "FLEXIBLE"}`, 201, "")
	return c
}

// form is a body of multipart/form-data with a file.
func form(name string, content []byte) (contentType string, body []byte) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, err := w.CreateFormFile("file", name)
	if err != nil {
		panic(err)
	}
	part.Write(content)
	w.Close()
	return w.FormDataContentType(), b.Bytes()
}

// upload sends a file, and expects a status and a pattern of the answer.
func (c *conversation) upload(id, name string, content []byte, status int, pattern string) *answer {
	c.Helper()
	contentType, body := form(name, content)
	a, err := c.s.send("POST", "/api/v1/assets/c/"+id+"?context=main", c.header("Content-Type", contentType), bytes.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	c.expect(a, status, pattern)
	return a
}

func (c *conversation) header(more ...string) http.Header {
	h := http.Header{"Authorization": {"Bearer " + c.token}}
	for i := 0; i < len(more); i += 2 {
		h.Set(more[i], more[i+1])
	}
	return h
}

func (c *conversation) expect(a *answer, status int, pattern string) {
	c.Helper()
	if a.status != status {
		c.Fatalf("status is %d, not %d: %.500s", a.status, status, a.body)
	}
	wrong := a.promises(false)
	if pattern != "" {
		expected, err := decode([]byte(pattern))
		if err != nil {
			c.Fatal(err)
		}
		wrong = append(wrong, match(expected, a.json(), "", map[string]string{})...)
	}
	for _, text := range wrong {
		c.Error(text)
	}
}

// cdnID is where an answer says that its file is delivered.
func (c *conversation) cdnID(a *answer) string {
	c.Helper()
	object, _ := a.json().(map[string]any)
	place, _ := object["cdnId"].(string)
	if !strings.HasPrefix(place, "/delivery/") {
		c.Fatalf("it is delivered at %q: %s", place, a.body)
	}
	return place
}

// fetch gets a delivered file as everybody can.
func (c *conversation) fetch(method, place string, header ...string) *answer {
	c.Helper()
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	a, err := c.s.send(method, place, h, nil)
	if err != nil {
		c.Fatal(err)
	}
	return a
}

// wantHeaders compares headers of an answer; "" is one that is not there.
func (c *conversation) wantHeaders(a *answer, want map[string]string) {
	c.Helper()
	for name, value := range want {
		if got := a.header.Get(name); got != value {
			c.Errorf("%s is %q, not %q", name, got, value)
		}
	}
}

// TestAssetKinds uploads a file of each type, and gets it back as it was.
func TestAssetKinds(t *testing.T) { eachStore(t, testAssetKinds) }

func testAssetKinds(t *testing.T, fresh newStore) {
	const closed, drawing, page = "default-src 'none'", "default-src 'none'; sandbox", "sandbox allow-scripts allow-popups"
	c := withCreative(t, fresh)
	for name, kind := range map[string]struct {
		content               []byte
		mimeType, size, media string
		policy                string
	}{
		"a.jpg":  {assettest.JPEG(30, 20), "IMAGE_JPEG", `"width": 30, "height": 20`, "image/jpeg", closed},
		"a.png":  {assettest.PNG(31, 21), "IMAGE_PNG", `"width": 31, "height": 21`, "image/png", closed},
		"a.gif":  {assettest.GIF(32, 22, 3), "IMAGE_GIF", `"width": 32, "height": 22`, "image/gif", closed},
		"a.webp": {assettest.WebP("extended", 33, 23, 2), "IMAGE_WEBP", `"width": 33, "height": 23`, "image/webp", closed},
		"a.mp4":  {assettest.MP4(1920, 1080), "VIDEO_MP4", `"width": 1920, "height": 1080`, "video/mp4", closed},
		"a.svg":  {assettest.SVG(34, 24), "IMAGE_SVG", `"width": 34, "height": 24`, "image/svg+xml", drawing},
		"a.html": {[]byte("<!doctype html><p>"), "TEXT_HTML", `"width": "<absent>", "height": "<absent>"`, "text/html", page},
		// What a file is called, and what its part says, tells nothing of it.
		"png.html": {assettest.PNG(31, 21), "IMAGE_PNG", `"width": 31, "height": 21`, "image/png", closed},
	} {
		a := c.upload(name, name, kind.content, 201, fmt.Sprintf(`{"mimeType": %q, "fileName": %q, "fileSizeBytes": %d, %s}`, kind.mimeType, name, len(kind.content), kind.size))
		got := c.fetch("GET", c.cdnID(a))
		if got.status != 200 || !bytes.Equal(got.body, kind.content) {
			t.Errorf("%s: %d, %d bytes of %d", name, got.status, len(got.body), len(kind.content))
		}
		sum := sha256.Sum256(kind.content)
		c.wantHeaders(got, map[string]string{"Content-Type": kind.media, "Content-Security-Policy": kind.policy, "X-Content-Type-Options": "nosniff",
			"ETag": `"` + hex.EncodeToString(sum[:]) + `"`, "Content-Disposition": "inline; filename=" + name})
	}
}

// TestAssetRanges asks for parts of a file that is kept in several pieces, in
// every way that HTTP knows.
func TestAssetRanges(t *testing.T) { eachStore(t, testAssetRanges) }

func testAssetRanges(t *testing.T, fresh newStore) {
	c := withCreative(t, fresh)
	content := append(assettest.PNG(3, 3), pattern(900<<10)...)
	place := c.cdnID(c.upload("a", "a.png", content, 201, ""))
	size, end := len(content), len(content)-1
	whole := c.fetch("GET", place)
	etag, modified := whole.header.Get("ETag"), whole.header.Get("Last-Modified")
	for _, r := range []struct{ header, from, to int }{{0, 0, 0}, {0, 0, end}, {0, 262143, 262144}, {0, 524288, end}, {0, 300000, 800000}} {
		a := c.fetch("GET", place, "Range", fmt.Sprintf("bytes=%d-%d", r.from, r.to), "If-Range", etag, "Accept-Encoding", "gzip, zstd")
		if a.status != 206 || !bytes.Equal(a.body, content[r.from:r.to+1]) {
			t.Errorf("%v: %d, %d bytes", r, a.status, len(a.body))
		}
		c.wantHeaders(a, map[string]string{"Content-Range": fmt.Sprintf("bytes %d-%d/%d", r.from, r.to, size), "Content-Encoding": "",
			"ETag": etag, "Content-Type": "image/png", "No-Gzip-Compression": ""})
	}
	for header, want := range map[string]struct {
		status int
		body   []byte
	}{
		"bytes=-5":                     {206, content[size-5:]},
		fmt.Sprintf("bytes=%d-", end):  {206, content[end:]},
		"bytes=5-999999999":            {206, content[5:]},
		fmt.Sprintf("bytes=%d-", size): {416, nil},
		"bytes=5-2":                    {416, nil},
		"bytes=x":                      {416, nil},
		"lines=1-2":                    {416, nil},
		"bytes=" + strings.Repeat("0-0,", 16) + "0-0": {200, content},
		"bytes=0-,0-": {200, content},
	} {
		a := c.fetch("GET", place, "Range", header)
		if a.status != want.status || want.body != nil && !bytes.Equal(a.body, want.body) {
			t.Errorf("%s: %d, %d bytes", header, a.status, len(a.body))
		}
		for _, wrong := range a.promises(false) {
			t.Error(header, wrong)
		}
	}
	several := c.fetch("GET", place, "Range", fmt.Sprintf("bytes=0-9,%d-,400000-400009", end), "Accept-Encoding", "gzip")
	c.wantHeaders(several, map[string]string{"Content-Encoding": ""})
	_, parameters, err := mime.ParseMediaType(several.header.Get("Content-Type"))
	if several.status != 206 || err != nil {
		t.Fatal(several.status, err)
	}
	parts := multipart.NewReader(bytes.NewReader(several.body), parameters["boundary"])
	for _, want := range [][]byte{content[:10], content[end:], content[400000:400010]} {
		part, err := parts.NextPart()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(part); err != nil || !bytes.Equal(got, want) || part.Header.Get("Content-Type") != "image/png" {
			t.Errorf("%d bytes of type %s: %v", len(got), part.Header.Get("Content-Type"), err)
		}
	}
	for _, condition := range []struct {
		name, value string
		status      int
	}{
		{"If-None-Match", etag, 304}, {"If-None-Match", "W/" + etag, 304}, {"If-None-Match", "*", 304}, {"If-None-Match", `"x"`, 206},
		{"If-Modified-Since", modified, 304}, {"If-Unmodified-Since", modified, 206}, {"If-Unmodified-Since", "Mon, 02 Jan 2006 15:04:05 GMT", 412},
		{"If-Match", etag, 206}, {"If-Match", `"x"`, 412}, {"If-Range", `"x"`, 200}, {"If-Range", modified, 206}, {"If-Range", "W/" + etag, 200},
	} {
		if a := c.fetch("GET", place, "Range", "bytes=1-1", condition.name, condition.value); a.status != condition.status {
			t.Errorf("%v: %d", condition, a.status)
		}
	}
	head := c.fetch("HEAD", place)
	c.wantHeaders(head, map[string]string{"Content-Length": fmt.Sprint(size), "ETag": etag, "Last-Modified": modified, "Accept-Ranges": "bytes"})
	if head.status != 200 || len(head.body) > 0 {
		t.Error(head.status, head.body)
	}
}

// pattern is bytes of which none is like those beside it.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 ^ i>>8 ^ i>>16)
	}
	return b
}

// TestAssetCompressed gets pages packed, and is told when they have not changed.
func TestAssetCompressed(t *testing.T) { eachStore(t, testAssetCompressed) }

func testAssetCompressed(t *testing.T, fresh newStore) {
	c := withCreative(t, fresh)
	content := []byte("<!doctype html>" + strings.Repeat("<p>text</p>", 30_000))
	place := c.cdnID(c.upload("a", "a.html", content, 201, ""))
	for _, coding := range []string{"gzip", "zstd"} {
		a := c.fetch("GET", place, "Accept-Encoding", coding)
		etag := a.header.Get("ETag")
		if a.status != 200 || a.header.Get("Content-Encoding") != coding || !strings.HasSuffix(etag, "-"+coding+`"`) || coding == "gzip" && !bytes.Equal(a.body, content) {
			t.Errorf("%s: %d %v", coding, a.status, a.header)
		}
		again := c.fetch("GET", place, "Accept-Encoding", coding, "If-None-Match", etag)
		c.wantHeaders(again, map[string]string{"ETag": etag})
		if again.status != 304 {
			t.Errorf("%s: %d", coding, again.status)
		}
		// A range is of the bytes as they are, of which the client does not hold any.
		if part := c.fetch("GET", place, "Accept-Encoding", coding, "If-Range", etag, "Range", "bytes=0-4"); part.status != 200 || !bytes.Equal(part.body, content) {
			t.Errorf("%s: %d, %d bytes", coding, part.status, len(part.body))
		}
		object := c.fetch("GET", "/api/v1/assets/c/a?context=main&auth_token="+c.token, "Accept-Encoding", coding)
		if object.status != 200 {
			t.Error(object.status)
		}
	}
}

// TestAssetBundle delivers the files of a ZIP where its page looks for them.
func TestAssetBundle(t *testing.T) { eachStore(t, testAssetBundle) }

func testAssetBundle(t *testing.T, fresh newStore) {
	c := withCreative(t, fresh)
	image := string(assettest.PNG(5, 5))
	files := map[string]string{"index.html": `<img src="i/a%20b.png">`, "i/a b.png": image, "i/copy.png": image, "i/d.svg": string(assettest.SVG(1, 1)),
		"s/é.css": "p {}", "more/index.html": "<p>", "j.js": "1", "empty.txt": ""}
	var entries []assettest.Entry
	for name, content := range files {
		entries = append(entries, assettest.Entry{Name: name, Content: content})
	}
	bundle := assettest.ZIP(append(entries, assettest.Entry{Name: "i/"}, assettest.Entry{Name: "__MACOSX/x.exe", Content: "x"})...)
	a := c.upload("a", "banner.zip", bundle, 201,
		`{"mimeType": "APPLICATION_ZIP", "fileName": "banner.zip", "primaryHtmlAsset": true, "width": "<absent>", "cdnId": "<~ ^/delivery/[A-Z2-7]{26}/index.html$>"}`)
	object, _ := a.json().(map[string]any)
	urls, _ := object["htmlUrls"].(map[string]any)
	if len(urls) != len(files) || urls["index.html"] != c.cdnID(a) {
		t.Errorf("%v", urls)
	}
	policies := map[string]string{"html": "sandbox allow-scripts allow-popups", "svg": "default-src 'none'; sandbox"}
	media := map[string]string{"html": "text/html", "svg": "image/svg+xml", "png": "image/png", "css": "text/css", "js": "text/javascript", "txt": "text/plain"}
	base := strings.TrimSuffix(c.cdnID(a), "index.html")
	for name, content := range files {
		place, _ := urls[name].(string)
		got := c.fetch("GET", place)
		_, ending, _ := strings.Cut(name, ".")
		policy, is := policies[ending]
		if !is {
			policy = "default-src 'none'"
		}
		if got.status != 200 || string(got.body) != content || !strings.HasPrefix(place, base) {
			t.Errorf("%s at %s: %d %q", name, place, got.status, got.body)
		}
		c.wantHeaders(got, map[string]string{"Content-Type": media[ending], "Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff"})
	}
	// As a browser finds it from the page.
	if got := c.fetch("GET", base+"i/a%20b.png?v=1"); string(got.body) != image {
		t.Error(got.status)
	}
	for _, nowhere := range []string{"", "i", "i/", "i/nothing.png", "../" + strings.TrimPrefix(base, "/delivery/") + "index.html", "INDEX.html", "__MACOSX/x.exe", "banner.zip"} {
		if got := c.fetch("GET", base+nowhere); got.status != 404 {
			t.Errorf("%q: %d", nowhere, got.status)
		}
	}
	if n := c.blobs(); len(n) != len(files)-1 {
		t.Errorf("%d blobs of %d contents", len(n), len(files)-1)
	}
	// Another asset shares what is the same; the first one has another page.
	c.upload("b", "banner.zip", bundle, 201, "")
	c.upload("a", "banner.zip", assettest.ZIP(assettest.Entry{Name: "p/page.htm", Content: "<p>"}), 200,
		`{"cdnId": "<~ /p/page.htm$>", "htmlUrls": {"<only>": true, "p/page.htm": "<~ /p/page.htm$>"}}`)
	if got := c.fetch("GET", base+"j.js"); got.status != 404 {
		t.Error("what was replaced is delivered:", got.status)
	}
	if n := c.blobs(); len(n) != len(files)-1 {
		t.Errorf("%d blobs", len(n))
	}
	c.send("GET", "/api/v1/assets/c?context=main&orderBy=fileName&fields=id,htmlUrls", "", 200,
		`{"results": [{"id": "a", "htmlUrls": {"<only>": true, "p/page.htm": "<text>"}}, {"id": "b", "htmlUrls": {"i/d.svg": "<text>", "s/é.css": "<~ /s/%C3%A9.css$>"}}]}`)
}

// blobs are the sizes of what is stored, by content.
func (c *conversation) blobs() map[string]int64 {
	c.Helper()
	sizes := map[string]int64{}
	err := c.s.store.Read(c.Context(), func(s store.Snapshot) error {
		clear(sizes)
		return s.Blobs(c.Context(), store.Key{}, math.MaxInt32, func(b store.Blob) error {
			sizes[b.Network+" "+b.ID] = b.Size
			return nil
		})
	})
	if err != nil {
		c.Fatal(err)
	}
	return sizes
}

// TestAssetRefused sends files of many faults, none of which leaves anything.
func TestAssetRefused(t *testing.T) { eachStore(t, testAssetRefused) }

func testAssetRefused(t *testing.T, fresh newStore) {
	c := withCreative(t, fresh)
	gif := assettest.GIF(3, 3, 4)
	copy(gif[6:], "\xff\xff\xff\xff")
	page := assettest.Entry{Name: "index.html", Content: "<p>"}
	zip := func(name, content string) []byte {
		return assettest.ZIP(page, assettest.Entry{Name: name, Content: content})
	}
	var many []assettest.Entry
	for i := range 1001 {
		many = append(many, assettest.Entry{Name: fmt.Sprintf("%d.css", i)})
	}
	before := c.s.cameraPicture(t)
	for name, refused := range map[string]struct {
		content []byte
		status  int
		pattern string
	}{
		"other":     {[]byte("%PDF-1.7"), 415, `{"code": "error.asset.type", "params": {"allowed": "<~ IMAGE_JPEG, .*APPLICATION_ZIP>"}}`},
		"damaged":   {assettest.PNG(3, 3)[:30], 422, `{"code": "error.asset.damaged", "type": "ValidationErrorMessage", "params": {"value": "IMAGE_PNG"}}`},
		"pixels":    {gif, 422, `{"code": "error.asset.pixels", "params": {"width": 65535, "height": 65535, "frames": 4, "limit": 100000000}}`},
		"markup":    {[]byte(`<svg xmlns="http://www.w3.org/2000/svg">`), 422, `{"code": "error.asset.markup", "params": {"limit": 200}}`},
		"no page":   {assettest.ZIP(), 422, `{"code": "error.bundle.primary"}`},
		"broken":    {assettest.ZIP(page)[:50], 422, `{"code": "error.bundle.damaged"}`},
		"path":      {zip("../x.css", ""), 422, `{"code": "error.bundle.path", "params": {"entry": "../x.css", "limit": 255, "levels": 16}}`},
		"long path": {zip(strings.Repeat("\xff", 1000), ""), 422, `{"code": "error.bundle.path", "params": {"entry": "<~ ^.{1,256}$>"}}`},
		"repeated":  {zip("index.html", ""), 422, `{"code": "error.bundle.path.repeated", "params": {"entry": "index.html"}}`},
		"type":      {zip("x.exe", ""), 422, `{"code": "error.bundle.entry.type", "params": {"entry": "x.exe", "allowed": "<~ html>"}}`},
		"lie":       {zip("x.png", "<script>"), 422, `{"code": "error.bundle.entry.type", "params": {"entry": "x.png"}}`},
		"ratio":     {zip("x.css", strings.Repeat(" ", 4<<20)), 422, `{"code": "error.bundle.ratio", "params": {"entry": "x.css", "limit": 200}}`},
		"entries":   {assettest.ZIP(many...), 422, `{"code": "error.bundle.entries.too.many", "params": {"limit": 1000}}`},
		"large svg": {bytes.Join([][]byte{[]byte(`<svg xmlns="http://www.w3.org/2000/svg">`), bytes.Repeat([]byte(" "), 5<<20), []byte("</svg>")}, nil), 413, `{"code": "error.asset.too.large", "params": {"limit": 5242880}}`},
		"large":     {append(assettest.PNG(3, 3), make([]byte, 20<<20)...), 413, `{"code": "error.asset.too.large", "params": {"limit": 20971520}}`},
		"too large": {append(assettest.PNG(3, 3), make([]byte, 22<<20)...), 413, `{"code": "error.asset.too.large", "params": {"limit": 20971520}}`},
	} {
		t.Run(name, func(t *testing.T) {
			c := &conversation{t, c.s, c.token}
			a := c.upload("x", "x.png", refused.content, refused.status, `{"messages": [`+refused.pattern+`]}`)
			if refused.status == 422 {
				c.expect(a, 422, `{"messages": [{"params": {"field": "/file", "type": "assets", "objectId": "x"}}]}`)
			}
		})
	}
	t.Run("too large, of no known length, packed", func(t *testing.T) {
		contentType, body := form("x.png", append(assettest.PNG(3, 3), make([]byte, 21<<20)...))
		a, err := c.s.send("PUT", "/api/v1/assets/c/x?context=main", c.header("Content-Type", contentType, "Content-Encoding", "gzip"), io.MultiReader(bytes.NewReader(pack(body))))
		if err != nil {
			t.Fatal(err)
		}
		c.expect(a, 413, `{"messages": [{"code": "error.asset.too.large"}]}`)
	})
	t.Run("too many parts", func(t *testing.T) {
		var b strings.Builder
		for i := range 21 {
			fmt.Fprintf(&b, "--b\r\nContent-Disposition: form-data; name=\"%d\"\r\n\r\n\r\n", i)
		}
		a, err := c.s.send("PUT", "/api/v1/assets/c/x?context=main", c.header("Content-Type", "multipart/form-data; boundary=b"), strings.NewReader(b.String()+"--b--"))
		if err != nil {
			t.Fatal(err)
		}
		c.expect(a, 413, `{"messages": [{"code": "error.form.too.many.parts", "params": {"limit": 20}}]}`)
	})
	if c.s.cameraPicture(t) != before {
		t.Error("the store has changed")
	}
	// As much as may be.
	full := append(assettest.PNG(3, 3), pattern(20<<20)...)[:20<<20]
	a := c.upload("x", "x.png", full, 201, `{"fileSizeBytes": 20971520}`)
	if got := c.fetch("GET", c.cdnID(a)); !bytes.Equal(got.body, full) {
		t.Errorf("%d: %d bytes", got.status, len(got.body))
	}
}

func (s *service) cameraPicture(t *testing.T) picture {
	t.Helper()
	p, err := s.camera.picture()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestAssetNetworks: the same content is stored once in each network, and what
// one network does to it is nothing to the other.
func TestAssetNetworks(t *testing.T) { eachStore(t, testAssetNetworks) }

func testAssetNetworks(t *testing.T, fresh newStore) {
	c := withCreative(t, fresh)
	c.send("POST", "/api/v1/networks/other", `{"name": "Other"}`, 201, "")
	c.send("POST", "/api/v1/layouts/l?context=other", `{"name": "L", "html": "<p>"}`, 201, "")
	c.send("POST", "/api/v1/creatives/c?context=other", `{"name": "C", "layout": "l", "verifiedSafe": true, "dimensionType": "FLEXIBLE"}`, 201, "")
	content := assettest.SVG(1, 1)
	first := c.cdnID(c.upload("a", "a.svg", content, 201, ""))
	second := c.cdnID(c.upload("b", "a.svg", content, 201, ""))
	contentType, body := form("a.svg", content)
	other, err := c.s.send("PUT", "/api/v1/assets/c/a?context=other", c.header("Content-Type", contentType), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	c.expect(other, 201, `{"url": "/api/v1/assets/c/a?context=other"}`)
	third := c.cdnID(other)
	if len(maps.Collect(func(yield func(string, bool) bool) {
		_ = yield(first, true) && yield(second, true) && yield(third, true)
	})) != 3 {
		t.Error("two assets are delivered at one place")
	}
	if n := c.blobs(); len(n) != 2 {
		t.Errorf("the content is stored %d times", len(n))
	}
	c.send("POST", "/api/v1/assets/c/a?context=other", `{"objectState": "HIDDEN"}`, 200, "")
	for place, status := range map[string]int{first: 200, second: 200, third: 404} {
		if got := c.fetch("GET", place); got.status != status {
			t.Errorf("%s: %d", place, got.status)
		}
	}
}
