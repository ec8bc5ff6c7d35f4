package assets

import (
	"fmt"
	"strings"
	"testing"

	"marquee/integration/service"
	"marquee/resources/asset/assettest"
)

// TestAssetBundle delivers the files of a ZIP where its page looks for them.
func TestAssetBundle(t *testing.T) { service.EachStore(t, testAssetBundle) }

func testAssetBundle(t *testing.T, fresh service.NewStore) {
	c := withCreative(t, fresh)
	image := string(assettest.PNG(5, 5))
	files := map[string]string{"index.html": `<img src="i/a%20b.png">`, "i/a b.png": image, "i/copy.png": image, "i/d.svg": string(assettest.SVG(1, 1)),
		"s/é.css": "p {}", "more/index.html": "<p>", "j.js": "1", "empty.txt": ""}
	var entries []assettest.Entry
	for name, content := range files {
		entries = append(entries, assettest.Entry{Name: name, Content: content})
	}
	bundle := assettest.ZIP(append(entries, assettest.Entry{Name: "i/"}, assettest.Entry{Name: "__MACOSX/x.exe", Content: "x"})...)
	a := c.Upload("a", "banner.zip", bundle, 201,
		`{"mimeType": "APPLICATION_ZIP", "fileName": "banner.zip", "primaryHtmlAsset": true, "width": "<absent>", "cdnId": "<~ ^/delivery/[A-Z2-7]{26}/index.html$>"}`)
	object, _ := a.JSON().(map[string]any)
	urls, _ := object["htmlUrls"].(map[string]any)
	if len(urls) != len(files) || urls["index.html"] != c.CDNID(a) {
		t.Errorf("%v", urls)
	}
	policies := map[string]string{"html": "sandbox allow-scripts allow-popups", "svg": "default-src 'none'; sandbox"}
	media := map[string]string{"html": "text/html", "svg": "image/svg+xml", "png": "image/png", "css": "text/css", "js": "text/javascript", "txt": "text/plain"}
	base := strings.TrimSuffix(c.CDNID(a), "index.html")
	for name, content := range files {
		place, _ := urls[name].(string)
		got := fetch(c, "GET", place)
		_, ending, _ := strings.Cut(name, ".")
		policy, is := policies[ending]
		if !is {
			policy = "default-src 'none'"
		}
		if got.Status != 200 || string(got.Body) != content || !strings.HasPrefix(place, base) {
			t.Errorf("%s at %s: %d %q", name, place, got.Status, got.Body)
		}
		wantHeaders(c, got, map[string]string{"Content-Type": media[ending], "Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff"})
	}
	// As a browser finds it from the page.
	if got := fetch(c, "GET", base+"i/a%20b.png?v=1"); string(got.Body) != image {
		t.Error(got.Status)
	}
	for _, nowhere := range []string{"", "i", "i/", "i/nothing.png", "../" + strings.TrimPrefix(base, "/delivery/") + "index.html", "INDEX.html", "__MACOSX/x.exe", "banner.zip"} {
		if got := fetch(c, "GET", base+nowhere); got.Status != 404 {
			t.Errorf("%q: %d", nowhere, got.Status)
		}
	}
	if n := blobsOf(c); len(n) != len(files)-1 {
		t.Errorf("%d blobs of %d contents", len(n), len(files)-1)
	}
	// Another asset shares what is the same; the first one has another page.
	c.Upload("b", "banner.zip", bundle, 201, "")
	c.Upload("a", "banner.zip", assettest.ZIP(assettest.Entry{Name: "p/page.htm", Content: "<p>"}), 200,
		`{"cdnId": "<~ /p/page.htm$>", "htmlUrls": {"<only>": true, "p/page.htm": "<~ /p/page.htm$>"}}`)
	if got := fetch(c, "GET", base+"j.js"); got.Status != 404 {
		t.Error("what was replaced is delivered:", got.Status)
	}
	if n := blobsOf(c); len(n) != len(files)-1 {
		t.Errorf("%d blobs", len(n))
	}
	c.Send("GET", "/api/v1/assets/c?context=main&orderBy=fileName&fields=id,htmlUrls", "", 200,
		`{"results": [{"id": "a", "htmlUrls": {"<only>": true, "p/page.htm": "<text>"}}, {"id": "b", "htmlUrls": {"i/d.svg": "<text>", "s/é.css": "<~ /s/%C3%A9.css$>"}}]}`)
}

// TestAssetBundleFull uploads as large a bundle as is taken.
func TestAssetBundleFull(t *testing.T) { service.EachStore(t, testAssetBundleFull) }

func testAssetBundleFull(t *testing.T, fresh service.NewStore) {
	const count, size = 1000, 20 << 20 / 1000
	c := withCreative(t, fresh)
	entries := make([]assettest.Entry, count)
	for i := range entries {
		line := fmt.Sprintf("%d abcdefgh %d\n", i, i*7919)
		entries[i] = assettest.Entry{Name: fmt.Sprintf("%s/%d.css", strings.Repeat("long name/", 14)+"x", i), Content: strings.Repeat(line, size/len(line)+1)[:size]}
	}
	entries[0].Name = "index.html"
	bundle := assettest.ZIP(entries...)
	a := c.Upload("a", "a.zip", bundle, 201, "")
	object, _ := a.JSON().(map[string]any)
	urls, _ := object["htmlUrls"].(map[string]any)
	for _, i := range []int{0, 1, count - 1} {
		place, _ := urls[entries[i].Name].(string)
		if got := fetch(c, "GET", place); got.Status != 200 || string(got.Body) != entries[i].Content {
			t.Errorf("%d: %d, %d bytes", i, got.Status, len(got.Body))
		}
	}
	if n := blobsOf(c); len(urls) != count || len(n) != count {
		t.Errorf("%d files are delivered, %d stored", len(urls), len(n))
	}
	c.Upload("a", "a.zip", bundle, 200, fmt.Sprintf(`{"cdnId": %q}`, object["cdnId"]))
}
