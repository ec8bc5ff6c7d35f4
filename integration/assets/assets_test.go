package assets

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"marquee/engine/store"
	"marquee/integration/process"
	"marquee/integration/service"
	"marquee/resources/asset/assettest"
)

// withCreative is a conversation with a service that has the creative c.
func withCreative(t *testing.T, fresh service.NewStore) *service.Conversation {
	t.Helper()
	return service.AddCreative(service.Converse(t, fresh))
}

// fetch gets a delivered file as everybody can.
func fetch(c *service.Conversation, method, place string, header ...string) *service.Answer {
	c.Helper()
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	a, err := c.Service.Send(method, place, h, nil)
	if err != nil {
		c.Fatal(err)
	}
	return a
}

// wantHeaders compares headers of an answer; "" is one that is not there.
func wantHeaders(c *service.Conversation, a *service.Answer, want map[string]string) {
	c.Helper()
	for name, value := range want {
		if got := a.Header.Get(name); got != value {
			c.Errorf("%s is %q, not %q", name, got, value)
		}
	}
}

// TestAssetKinds uploads a file of each type, and gets it back as it was.
func TestAssetKinds(t *testing.T) { service.EachStore(t, testAssetKinds) }

func testAssetKinds(t *testing.T, fresh service.NewStore) {
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
		// The name of a file and the headers of its part say nothing about its content.
		"png.html": {assettest.PNG(31, 21), "IMAGE_PNG", `"width": 31, "height": 21`, "image/png", closed},
	} {
		a := c.Upload(name, name, kind.content, 201, fmt.Sprintf(`{"mimeType": %q, "fileName": %q, "fileSizeBytes": %d, %s}`, kind.mimeType, name, len(kind.content), kind.size))
		got := fetch(c, "GET", c.CDNID(a))
		if got.Status != 200 || !bytes.Equal(got.Body, kind.content) {
			t.Errorf("%s: %d, %d bytes of %d", name, got.Status, len(got.Body), len(kind.content))
		}
		sum := sha256.Sum256(kind.content)
		wantHeaders(c, got, map[string]string{"Content-Type": kind.media, "Content-Security-Policy": kind.policy, "X-Content-Type-Options": "nosniff",
			"ETag": `"` + hex.EncodeToString(sum[:]) + `"`, "Content-Disposition": "inline; filename=" + name})
	}
}

// blobsOf are the sizes of what is stored, by content.
func blobsOf(c *service.Conversation) map[string]int64 {
	c.Helper()
	sizes := map[string]int64{}
	err := c.Service.Store.Read(c.Context(), func(s store.Snapshot) error {
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
func TestAssetRefused(t *testing.T) { service.EachStore(t, testAssetRefused) }

func testAssetRefused(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
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
	// 4 KB when sent, and of no entry that is suspicious by itself.
	bomb := []assettest.Entry{page}
	for i := range 21 {
		bomb = append(bomb, assettest.Entry{Name: fmt.Sprintf("%d.txt", i), Content: strings.Repeat(fmt.Sprint(i%10), 1<<20)})
	}
	before := c.Service.CameraPicture(t)
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
		"bomb":      {assettest.ZIP(bomb...), 413, `{"code": "error.bundle.too.large", "params": {"limit": 20971520}}`},
		"large svg": {bytes.Join([][]byte{[]byte(`<svg xmlns="http://www.w3.org/2000/svg">`), bytes.Repeat([]byte(" "), 20<<20), []byte("</svg>")}, nil), 413, `{"code": "error.asset.too.large", "params": {"limit": 20971520}}`},
		"large":     {append(assettest.PNG(3, 3), make([]byte, 20<<20)...), 413, `{"code": "error.asset.too.large", "params": {"limit": 20971520}}`},
		"too large": {append(assettest.PNG(3, 3), make([]byte, 22<<20)...), 413, `{"code": "error.asset.too.large", "params": {"limit": 20971520}}`},
	} {
		t.Run(name, func(t *testing.T) {
			c := &service.Conversation{T: t, Service: c.Service, Token: c.Token}
			a := c.Upload("x", "x.png", refused.content, refused.status, `{"messages": [`+refused.pattern+`]}`)
			if refused.status == 422 {
				c.Expect(a, 422, `{"messages": [{"params": {"field": "/file", "type": "assets", "objectId": "x"}}]}`)
			}
		})
	}
	t.Run("too large, of no known length, packed", func(t *testing.T) {
		contentType, body := service.Form("x.png", append(assettest.PNG(3, 3), make([]byte, 21<<20)...))
		a, err := c.Service.Send("PUT", "/api/v1/assets/c/x?context=main", c.Header("Content-Type", contentType, "Content-Encoding", "gzip"), io.MultiReader(bytes.NewReader(service.Pack(body))))
		if err != nil {
			t.Fatal(err)
		}
		c.Expect(a, 413, `{"messages": [{"code": "error.asset.too.large"}]}`)
	})
	t.Run("too many parts", func(t *testing.T) {
		var b strings.Builder
		for i := range 21 {
			fmt.Fprintf(&b, "--b\r\nContent-Disposition: form-data; name=\"%d\"\r\n\r\n\r\n", i)
		}
		a, err := c.Service.Send("PUT", "/api/v1/assets/c/x?context=main", c.Header("Content-Type", "multipart/form-data; boundary=b"), strings.NewReader(b.String()+"--b--"))
		if err != nil {
			t.Fatal(err)
		}
		c.Expect(a, 413, `{"messages": [{"code": "error.form.too.many.parts", "params": {"limit": 20}}]}`)
	})
	t.Run("too much text in all parts", func(t *testing.T) {
		var b strings.Builder
		for i := range 3 {
			fmt.Fprintf(&b, "--b\r\nContent-Disposition: form-data; name=\"%d\"\r\n\r\n%s\r\n", i, strings.Repeat("x", 30<<10))
		}
		a, err := c.Service.Send("PUT", "/api/v1/assets/c/x?context=main", c.Header("Content-Type", "multipart/form-data; boundary=b"), strings.NewReader(b.String()+"--b--"))
		if err != nil {
			t.Fatal(err)
		}
		c.Expect(a, 413, `{"messages": [{"code": "error.body.too.large", "params": {"limit": 65536}}]}`)
	})
	if c.Service.CameraPicture(t) != before {
		t.Error("the store has changed")
	}
	// As much as may be.
	full := append(assettest.PNG(3, 3), pattern(20<<20)...)[:20<<20]
	a := c.Upload("x", "x.png", full, 201, `{"fileSizeBytes": 20971520}`)
	if got := fetch(c, "GET", c.CDNID(a)); !bytes.Equal(got.Body, full) {
		t.Errorf("%d: %d bytes", got.Status, len(got.Body))
	}
}

// TestAssetNetworks: the same content is stored once in each network, and what
// one network does to it is nothing to the other.
func TestAssetNetworks(t *testing.T) { service.EachStore(t, testAssetNetworks) }

func testAssetNetworks(t *testing.T, fresh service.NewStore) {
	c := withCreative(t, fresh)
	c.Send("POST", "/api/v1/networks/other", `{"name": "Other"}`, 201, "")
	c.Send("POST", "/api/v1/layouts/l?context=other", `{"name": "L", "html": "<p>"}`, 201, "")
	c.Send("POST", "/api/v1/creatives/c?context=other", `{"name": "C", "layout": "l", "verifiedSafe": true, "dimensionType": "FLEXIBLE"}`, 201, "")
	content := assettest.SVG(1, 1)
	first := c.CDNID(c.Upload("a", "a.svg", content, 201, ""))
	second := c.CDNID(c.Upload("b", "a.svg", content, 201, ""))
	contentType, body := service.Form("a.svg", content)
	other, err := c.Service.Send("PUT", "/api/v1/assets/c/a?context=other", c.Header("Content-Type", contentType), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	c.Expect(other, 201, `{"url": "/api/v1/assets/c/a?context=other"}`)
	third := c.CDNID(other)
	if first == second || second == third || third == first {
		t.Error("two assets are delivered at one place")
	}
	if n := blobsOf(c); len(n) != 2 {
		t.Errorf("the content is stored %d times", len(n))
	}
	c.Send("POST", "/api/v1/assets/c/a?context=other", `{"objectState": "HIDDEN"}`, 200, "")
	for place, status := range map[string]int{first: 200, second: 200, third: 404} {
		if got := fetch(c, "GET", place); got.Status != status {
			t.Errorf("%s: %d", place, got.Status)
		}
	}
}
