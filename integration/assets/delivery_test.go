package assets

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"marquee/engine/store"
	"marquee/integration/mongodb"
	"marquee/integration/service"
	"marquee/resources/asset/assettest"
)

// TestAssetRanges asks for parts of a file that is kept in several pieces, in
// every way that HTTP knows.
func TestAssetRanges(t *testing.T) { service.EachStore(t, testAssetRanges) }

func testAssetRanges(t *testing.T, fresh service.NewStore) {
	c := withCreative(t, fresh)
	content := append(assettest.PNG(3, 3), pattern(900<<10)...)
	place := c.CDNID(c.Upload("a", "a.png", content, 201, ""))
	size, end := len(content), len(content)-1
	whole := fetch(c, "GET", place)
	etag, modified := whole.Header.Get("ETag"), whole.Header.Get("Last-Modified")
	for _, r := range []struct{ header, from, to int }{{0, 0, 0}, {0, 0, end}, {0, 262143, 262144}, {0, 524288, end}, {0, 300000, 800000}} {
		a := fetch(c, "GET", place, "Range", fmt.Sprintf("bytes=%d-%d", r.from, r.to), "If-Range", etag, "Accept-Encoding", "gzip, zstd")
		if a.Status != 206 || !bytes.Equal(a.Body, content[r.from:r.to+1]) {
			t.Errorf("%v: %d, %d bytes", r, a.Status, len(a.Body))
		}
		wantHeaders(c, a, map[string]string{"Content-Range": fmt.Sprintf("bytes %d-%d/%d", r.from, r.to, size), "Content-Encoding": "",
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
		a := fetch(c, "GET", place, "Range", header)
		if a.Status != want.status || want.body != nil && !bytes.Equal(a.Body, want.body) {
			t.Errorf("%s: %d, %d bytes", header, a.Status, len(a.Body))
		}
		for _, wrong := range a.Promises(false) {
			t.Error(header, wrong)
		}
	}
	several := fetch(c, "GET", place, "Range", fmt.Sprintf("bytes=0-9,%d-,400000-403999", end), "Accept-Encoding", "gzip")
	wantHeaders(c, several, map[string]string{"Content-Encoding": ""})
	_, parameters, err := mime.ParseMediaType(several.Header.Get("Content-Type"))
	if several.Status != 206 || err != nil {
		t.Fatal(several.Status, err)
	}
	parts := multipart.NewReader(bytes.NewReader(several.Body), parameters["boundary"])
	for _, want := range [][]byte{content[:10], content[end:], content[400000:404000]} {
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
		if a := fetch(c, "GET", place, "Range", "bytes=1-1", condition.name, condition.value); a.Status != condition.status {
			t.Errorf("%v: %d", condition, a.Status)
		}
	}
	head := fetch(c, "HEAD", place)
	wantHeaders(c, head, map[string]string{"Content-Length": fmt.Sprint(size), "ETag": etag, "Last-Modified": modified, "Accept-Ranges": "bytes"})
	if head.Status != 200 || len(head.Body) > 0 {
		t.Error(head.Status, head.Body)
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

// TestAssetCompressed gets compressed pages, and 304 when they have not changed.
func TestAssetCompressed(t *testing.T) { service.EachStore(t, testAssetCompressed) }

func testAssetCompressed(t *testing.T, fresh service.NewStore) {
	c := withCreative(t, fresh)
	content := []byte("<!doctype html>" + strings.Repeat("<p>text</p>", 30_000))
	place := c.CDNID(c.Upload("a", "a.html", content, 201, ""))
	for _, coding := range []string{"gzip", "zstd"} {
		a := fetch(c, "GET", place, "Accept-Encoding", coding)
		etag := a.Header.Get("ETag")
		if a.Status != 200 || a.Header.Get("Content-Encoding") != coding || !strings.HasSuffix(etag, "-"+coding+`"`) || coding == "gzip" && !bytes.Equal(a.Body, content) {
			t.Errorf("%s: %d %v", coding, a.Status, a.Header)
		}
		again := fetch(c, "GET", place, "Accept-Encoding", coding, "If-None-Match", etag)
		wantHeaders(c, again, map[string]string{"ETag": etag})
		if again.Status != 304 {
			t.Errorf("%s: %d", coding, again.Status)
		}
		// A range is of the bytes as they are, of which the client does not hold any.
		if part := fetch(c, "GET", place, "Accept-Encoding", coding, "If-Range", etag, "Range", "bytes=0-4"); part.Status != 200 || !bytes.Equal(part.Body, content) {
			t.Errorf("%s: %d, %d bytes", coding, part.Status, len(part.Body))
		}
		object := fetch(c, "GET", "/api/v1/assets/c/a?context=main&auth_token="+c.Token, "Accept-Encoding", coding)
		if object.Status != 200 {
			t.Error(object.Status)
		}
	}
}

// largeBundle is a bundle of as many files as are taken, n.css for each n but 0, with n
// and a mark in it.
func largeBundle(mark string) []byte {
	entries := []assettest.Entry{{Name: "index.html", Content: "<p>" + mark}}
	for i := range 999 {
		entries = append(entries, assettest.Entry{Name: fmt.Sprintf("%d.css", i+1), Content: fmt.Sprintf("%s %d", mark, i+1)})
	}
	return assettest.ZIP(entries...)
}

// TestAssetDeliveryWork: for a file of a large bundle of which another one has been
// delivered, the store reads the record of the asset alone, as for a single file.
func TestAssetDeliveryWork(t *testing.T) { service.EachStore(t, testAssetDeliveryWork) }

func testAssetDeliveryWork(t *testing.T, fresh service.NewStore) {
	var calls *service.Ledger
	c := service.AddCreative(service.ConverseWith(t, service.StartNew(&service.Service{TB: t, URI: fresh(t), Wrap: func(s store.Store) store.Store {
		calls = &service.Ledger{Store: s}
		return calls
	}})))
	single := c.CDNID(c.Upload("single", "a.png", assettest.PNG(3, 3), 201, ""))
	index := c.CDNID(c.Upload("bundle", "a.zip", largeBundle("x"), 201, ""))
	base := strings.TrimSuffix(index, "index.html")
	fetch(c, "GET", single)
	fetch(c, "GET", base+"nothing.css")
	for _, place := range []string{single, index, base + "1.css", base + "999.css"} {
		calls.Taken()
		if a := fetch(c, "GET", place); a.Status != 200 {
			t.Fatal(place, a.Status)
		}
		// The bytes of a file that is delivered for the first time take another read.
		if work := strings.TrimSuffix(calls.Taken(), ", read"); work != "read, get 1 of assets" {
			t.Errorf("%s: %s", place, work)
		}
	}
}

// TestAssetRevoked: the answer to a write is the end of what it takes away, also of the
// files of a bundle that have been delivered before.
func TestAssetRevoked(t *testing.T) {
	service.EachStore(t, func(t *testing.T, fresh service.NewStore) { testAssetRevoked(t, service.New(t, fresh)) })
}

// TestAssetRevokedServers is TestAssetRevoked for all servers of a store.
func TestAssetRevokedServers(t *testing.T) {
	t.Parallel()
	mongodb.Need(t)
	servers, _ := service.NewServers(t, 2)
	testAssetRevoked(t, servers...)
}

func testAssetRevoked(t *testing.T, servers ...*service.Service) {
	c := service.AddCreative(service.ConverseWith(t, servers[0]))
	place := func(a *service.Answer) string { return strings.TrimSuffix(c.CDNID(a), "index.html") }
	want := func(base string, contents map[string]string) {
		t.Helper()
		for i, s := range servers {
			for name, content := range contents {
				a, err := s.Send("GET", base+name, http.Header{}, nil)
				if err != nil {
					t.Fatal(err)
				}
				if content == "" && a.Status != 404 || content != "" && (a.Status != 200 || string(a.Body) != content) {
					t.Errorf("server %d, %s: %d %.100s", i, name, a.Status, a.Body)
				}
			}
		}
	}
	state := func(to string) {
		c.Send("POST", "/api/v1/assets/c/a?context=main", `{"objectState": "`+to+`"}`, 200, "")
	}
	there, gone := map[string]string{"index.html": "<p>x", "1.css": "x 1", "999.css": "x 999", "1000.css": ""}, map[string]string{"index.html": "", "1.css": "", "500.css": ""}
	x := place(c.Upload("a", "a.zip", largeBundle("x"), 201, ""))
	for range 3 {
		want(x, there)
		state("HIDDEN")
		want(x, gone)
		state("ACTIVE")
	}
	want(x, there)
	y := place(c.Upload("a", "a.zip", largeBundle("y"), 200, ""))
	want(x, gone)
	want(y, map[string]string{"1.css": "y 1", "2.css": "y 2"})
	again := place(c.Upload("a", "a.zip", largeBundle("x"), 200, ""))
	want(x, gone)
	want(y, gone)
	want(again, there)
	c.Upload("b", "a.zip", largeBundle("x"), 201, "")
	state("HIDDEN")
	want(again, gone)
}
