package siege

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"marquee/integration/process"
	"marquee/integration/service"
)

// uploadHold is the maximum time for which the inserts of the largest upload hold the writer of
// the embedded store.
const uploadHold = 8 * time.Second

// deadline is when a request ends by default. A body of more than 1 MiB waits for the
// memory that pages and uploads of others use, and a sign-in for the writer and the
// processors, which matters when all attacks are sent at once.
const deadline = 30 * time.Second

// listHold is the maximum time that a list waits for those of all attacks at once.
const listHold = 4 * time.Second

var attacks = []attack{
	{name: "creatives that repeat a long value", strike: strikeRepeatedSlot},
	{name: "bodies without the right to write them", strike: strikeForbiddenBodies},
	{name: "tags with many attributes", strike: strikeAttributes},
	{name: "a large layout of many creatives", prepare: prepareLargeLayout, strike: strikeLargeLayout},
	{name: "constraints that all are missed", strike: strikeConstraints},
	{name: "pages of a large history", prepare: prepareHistory, strike: strikeHistory},
	{name: "bodies that stop", strike: strikeStoppedBodies},
	{name: "sign-ins that leave", strike: strikeSignIns},
	{name: "files that unpack to much", prepare: prepareBundles, strike: strikeBundles},
	{name: "pictures of many attributes", prepare: prepareBundles, strike: strikeSVG},
	{name: "readers of a file that stop", prepare: prepareStoppedReaders, strike: strikeStoppedReaders},
	{name: "uploads that unpack to much", strike: strikeUploads},
	{name: "the largest upload", strike: strikeUpload, hold: uploadHold},
	{name: "a schema of doubled definitions", strike: strikeSchema},
	{name: "large bodies at once", strike: strikeLargeBodies},
	{name: "collections at once", strike: strikeCollections},
	{name: "beginnings of bodies", strike: strikeBeginnings},
	{name: "pages that nobody reads", prepare: prepareLayouts, strike: strikeUnreadPages},
	{name: "streams that nobody reads", prepare: prepareLayouts, strike: strikeStreams},
	{name: "changes of many large layouts", prepare: prepareLayouts, strike: strikeLayouts, hold: uploadHold},
	{name: "a hundred such changes", prepare: prepareLayouts, strike: strikeLayoutsOften, hold: uploadHold},
	{name: "common words", prepare: prepareWords, strike: strikeWords},
	{name: "scrapers", strike: strikeScrapes},
}

// A page of creatives, each of which would be rendered to megabytes.
func strikeRepeatedSlot(s *siege) {
	s.as(s.author, http.MethodPost, "/api/v1/layouts/repeated?context=main", nil,
		[]byte(fmt.Sprintf(`{"name": "Repeated", "html": %q}`, strings.Repeat("{{a}}", 1900))))
	body, header := gzipped(service.Listing(1000, func(i int) string {
		return fmt.Sprintf(`{"id": "repeated-%d", "name": "R", "layout": "repeated", "verifiedSafe": true, "dimensionType": "FLEXIBLE", "layoutParameters": {"a": %q}}`, i, strings.Repeat("x", 2000))
	}))
	s.as(s.author, http.MethodPost, "/api/v1/creatives?context=main", header, body)
	atOnce(4, func(int) { s.as(s.reader, http.MethodGet, "/api/v1/creatives?context=main&pageSize=1000", nil, nil) })
}

// Collections of as many values as a body may have, by a user who may not write,
// on sockets that are closed at once.
func strikeForbiddenBodies(s *siege) {
	body, _ := gzipped(service.Listing(1000, func(int) string { return `{"labels": [` + strings.Repeat("1,", 238) + `1]}` }))
	atOnce(80, func(int) {
		s.leave(s.reader, "POST /api/v1/advertisers?context=main", "Content-Type: application/json\r\nContent-Encoding: gzip", body)
	})
	a := s.as(s.reader, http.MethodPost, "/api/v1/advertisers?context=main", http.Header{"Content-Encoding": {"gzip"}}, body)
	if a.Status != http.StatusForbidden {
		s.t.Errorf("a reader's collection: %d %.200s", a.Status, a.Body)
	}
}

// leave sends a request and closes the socket at once.
func (s *siege) leave(token, line, header string, body []byte) {
	conn := s.dial()
	if conn == nil {
		return
	}
	defer func() {
		time.Sleep(100 * time.Millisecond) // so that the service has begun with it
		conn.Close()
	}()
	fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%s\r\nContent-Length: %d\r\n\r\n", line, token, header, len(body))
	_, _ = conn.Write(body) // the service may have answered and closed already
}

// prepareWords makes a million objects that have the same words, or fewer with -short.
func prepareWords(s *siege) {
	wordy := 1_000_000
	if testing.Short() {
		wordy = 30_000
	}
	words := []string{"alpha", "amber", "anvil", "azure", "apex", "able"}
	var next atomic.Int64
	atOnce(4, func(int) {
		for from := int(next.Add(1000)) - 1000; from < wordy; from = int(next.Add(1000)) - 1000 {
			body := service.Listing(1000, func(i int) string {
				return fmt.Sprintf(`{"id": "adv%d", "name": "%s %d"}`, from+i, strings.Join(words, " "), from+i)
			})
			a, err := s.p.Send(http.MethodPost, "/api/v1/advertisers?context=main", http.Header{"Prefer": {"return=minimal"}}, []byte(body))
			if err != nil || a.Status >= http.StatusBadRequest {
				s.t.Errorf("objects with words: %v %v", err, a)
				return
			}
		}
	})
}

// Pages of objects that have ten words, each of which all objects have, by a user without
// any permission: of a thousand objects by their ids, and of all objects.
func strikeWords(s *siege) {
	ids := make([]string, 1000)
	for i := range ids {
		ids[i] = fmt.Sprintf("adv%d", i)
	}
	path := "/api/v1/advertisers?context=main&q=a+al+alp+alph+alpha+am+an+az+ap+ab"
	paths := []string{path + "&id=" + strings.Join(ids, "%3B"), path}
	atOnce(16, func(i int) {
		for range 4 {
			s.as(s.reader, http.MethodGet, paths[i%2], nil, nil)
		}
	})
}

func strikeAttributes(s *siege) {
	var tag strings.Builder
	for i := range 74_000 {
		fmt.Fprintf(&tag, " %d={{a}}", i)
	}
	body, header := gzipped(fmt.Sprintf(`{"name": "Attributes", "html": %q}`, "<meta"+tag.String()+">"))
	atOnce(12, func(i int) {
		s.as(s.author, http.MethodPost, fmt.Sprintf("/api/v1/layouts/attributes-%d?context=main", i), header, body)
	})
}

func prepareLargeLayout(s *siege) {
	html := strings.Repeat("<p class=\"x\">text</p>", 45_000) + "{{a}}"
	s.as(s.author, http.MethodPost, "/api/v1/layouts/large?context=main", nil, []byte(fmt.Sprintf(`{"name": "Large", "html": %q}`, html)))
}

func strikeLargeLayout(s *siege) {
	s.as(s.author, http.MethodPost, "/api/v1/creatives?context=main", nil, []byte(service.Listing(40, func(i int) string {
		return fmt.Sprintf(`{"id": "large-%d", "name": "L", "layout": "large", "verifiedSafe": true, "dimensionType": "FLEXIBLE", "layoutParameters": {"a": "x"}}`, i)
	})))
	atOnce(4, func(int) { s.as(s.reader, http.MethodGet, "/api/v1/creatives?context=main&pageSize=1000", nil, nil) })
}

func strikeConstraints(s *siege) {
	body, header := gzipped(`{"name": "Constraints", "html": "<p>", "textConstraints": ` +
		service.Listing(28_000, func(i int) string { return fmt.Sprintf(`{"tag": "t%d", "required": true}`, i) }) + `}`)
	s.as(s.author, http.MethodPost, "/api/v1/layouts/constraints?context=main", header, body)
	a := s.as(s.author, http.MethodPost, "/api/v1/creatives?context=main", nil, []byte(service.Listing(20, func(i int) string {
		return fmt.Sprintf(`{"id": "constraints-%d", "name": "C", "layout": "constraints", "verifiedSafe": true, "dimensionType": "FLEXIBLE"}`, i)
	})))
	if len(a.Body) > 8<<20 {
		s.t.Errorf("the answer of 20 creatives has %d bytes", len(a.Body))
	}
}

func prepareHistory(s *siege) {
	for i := range 100 {
		body, header := gzipped(fmt.Sprintf(`{"name": "History", "html": %q}`, strings.Repeat(fmt.Sprintf("<p>%03d</p>", i), 99_000)))
		s.as(s.author, http.MethodPost, "/api/v1/layouts/history?context=main", header, body)
	}
}

func strikeHistory(s *siege) {
	atOnce(4, func(int) {
		a := s.as(s.reader, http.MethodGet, "/api/v1/audit?context=main&pageSize=1000", nil, nil)
		if len(a.Body) > 12<<20 {
			s.t.Errorf("a page of the history has %d bytes", len(a.Body))
		}
	})
}

// Bodies of a little more than what is read without a place, which go no further,
// while an honest client sends as much.
func strikeStoppedBodies(s *siege) {
	for range 8 {
		conn := s.dial()
		if conn == nil {
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /api/v1/advertisers?context=main HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n[", s.author, 8<<20)
		fmt.Fprint(conn, strings.Repeat(" ", 1<<20))
	}
	began := time.Now()
	a, err := s.p.Send(http.MethodPost, "/api/v1/advertisers?context=main", nil, []byte(service.Listing(3, func(i int) string {
		return fmt.Sprintf(`{"id": "behind-%d", "name": "Behind"%s}`, i, strings.Repeat(" ", 1<<19))
	})))
	if err != nil {
		s.t.Error(err)
	} else if took := time.Since(began); a.Status != http.StatusOK || took > s.probeLimit() {
		s.t.Errorf("a body of 1.5 MiB behind those that stopped: %d after %v", a.Status, took)
	}
}

func strikeSignIns(s *siege) {
	form := []byte("grant_type=password&username=admin&password=wrong")
	atOnce(400, func(int) {
		s.leave("", "POST /api/authenticate", "Content-Type: application/x-www-form-urlencoded", form)
	})
	began := time.Now()
	a, err := s.p.Authenticate("admin", process.Password)
	if err != nil {
		s.t.Error(err)
	} else if took := time.Since(began); a.Status != http.StatusOK || took > s.probeLimit() {
		s.t.Errorf("a sign-in behind those that left: %d after %v", a.Status, took)
	}
}

func prepareBundles(s *siege) {
	s.as(s.author, http.MethodPost, "/api/v1/layouts/bundled?context=main", nil, []byte(`{"name": "Bundled", "html": "<p>"}`))
	s.as(s.author, http.MethodPost, "/api/v1/creatives/bundled?context=main", nil,
		[]byte(`{"name": "B", "layout": "bundled", "verifiedSafe": true, "dimensionType": "FLEXIBLE"}`))
}

// A bundle of small size that is large when it is unpacked.
func strikeBundles(s *siege) {
	// What does not compress keeps an entry below the ratio that is refused.
	text := bytes.Repeat([]byte("x"), 1<<20)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 7 << 10 {
		text[i] = byte('!' + random.IntN(90))
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := range 99 {
		file, _ := w.Create(fmt.Sprintf("%d.txt", i))
		_, _ = file.Write(text) // into memory
	}
	page, _ := w.Create("index.html")
	_, _ = io.WriteString(page, "<p>")
	_ = w.Close()
	var form bytes.Buffer
	form.WriteString("--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"b.zip\"\r\nContent-Type: application/zip\r\n\r\n")
	form.Write(b.Bytes())
	form.WriteString("\r\n--b--\r\n")
	body, header := gzipped(form.String())
	header.Set("Content-Type", "multipart/form-data; boundary=b")
	atOnce(8, func(i int) {
		s.as(s.author, http.MethodPost, fmt.Sprintf("/api/v1/assets/bundled/%d?context=main", i), header, body)
	})
}

// SVGs that take little when sent, and would take much when they are parsed.
func strikeSVG(s *siege) {
	upload := func(id, content string) *service.Answer {
		body, header := gzipped("--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"b.svg\"\r\n\r\n" +
			`<svg xmlns="http://www.w3.org/2000/svg">` + content + "</svg>\r\n--b--\r\n")
		header.Set("Content-Type", "multipart/form-data; boundary=b")
		return s.as(s.author, http.MethodPost, "/api/v1/assets/bundled/"+id+"?context=main", header, body)
	}
	for name, content := range map[string]string{
		"attributes": "<a " + strings.Repeat(`a=""`, 4_900_000) + "/>",
		"text":       strings.Repeat("x", 19_000_000),
		"comment":    "<!--" + strings.Repeat("x>", 9_500_000) + "-->",
	} {
		atOnce(8, func(i int) {
			if a := upload(fmt.Sprintf("svg-%s-%d", name, i), content); a.Status != http.StatusUnprocessableEntity && a.Status != http.StatusServiceUnavailable {
				s.t.Errorf("an SVG of a large %s: %d %.200s", name, a.Status, a.Body)
			}
		})
	}
}

func prepareStoppedReaders(s *siege) {
	prepareBundles(s)
	var text strings.Builder
	random := rand.New(rand.NewPCG(1, 2))
	for text.Len() < 8<<20 {
		fmt.Fprintf(&text, "%x", random.Uint64())
	}
	contentType, body := service.Form("large.html", []byte("<!doctype html><p>"+text.String()))
	a := s.as(s.author, http.MethodPost, "/api/v1/assets/bundled/large?context=main", http.Header{"Content-Type": {contentType}}, body)
	object, _ := a.JSON().(map[string]any)
	if s.file, _ = object["cdnId"].(string); s.file == "" {
		s.t.Fatalf("%d %.200s", a.Status, a.Body)
	}
}

// Clients without a token that ask for a file, and read no more than the beginning
// of it.
func strikeStoppedReaders(s *siege) {
	s.dialer.Control = littleAhead
	conns := make([]net.Conn, 500)
	for i := range conns {
		conn := s.dial()
		if conn == nil {
			return
		}
		defer conn.Close()
		conns[i] = conn
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nAccept-Encoding: %s\r\n\r\n", s.file, []string{"gzip", "identity"}[i%2])
	}
	for _, conn := range conns {
		line := make([]byte, len("HTTP/1.1 200"))
		if _, err := io.ReadFull(conn, line); err != nil || string(line) != "HTTP/1.1 200" {
			s.t.Errorf("the beginning of a file: %q %v", line, err)
			return
		}
	}
}

// littleAhead keeps the system from receiving much that the client does not read.
func littleAhead(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10) })
}

// Uploads of little that unpack to the largest that there may be.
func strikeUploads(s *siege) {
	one := `{"segmentId": "packed", "name": "Packed", "dataSource": "ADOBE", "description": "` + strings.Repeat("x", 560) + `"}`
	body, header := gzipped(service.Listing(100_000, func(int) string { return one }))
	atOnce(12, func(int) { s.as(s.author, http.MethodPost, service.UploadPath, header, body) })
}

func strikeUpload(s *siege) {
	body := []byte(service.Listing(100_000, func(i int) string {
		return fmt.Sprintf(`{"segmentId": "largest-%d", "name": "Segment %d", "dataSource": "ADOBE"}`, i, i)
	}))
	for range 2 { // new ones, and the same again
		s.as(s.author, http.MethodPost, service.UploadPath, nil, body)
	}
}

// A schema in which each definition applies the one before twice, and objects of
// it while it is served.
func strikeSchema(s *siege) {
	var definitions strings.Builder
	for i := range 27 {
		fmt.Fprintf(&definitions, `"d%d": {"allOf": [{"$ref": "#/$defs/d%d"}, {"$ref": "#/$defs/d%d"}]}, `, i+1, i, i)
	}
	schema := `{"$schema": "https://json-schema.org/draft/2020-12/schema", "x-resource": {"path": "doubled"}, "type": "object",
		"properties": {"name": {"$ref": "#/$defs/d27"}}, "$defs": {` + definitions.String() + `"d0": {"type": "string"}}}`
	from := len(s.p.Stderr.String())
	if err := os.WriteFile(filepath.Join(s.schemas, "doubled.json"), []byte(schema), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.p.Stderr.Await(s.t, from, func(line string) bool {
		said, _ := service.Entry(line)["msg"].(string)
		return strings.HasPrefix(said, "the schemas were refused") || said == "schemas loaded"
	})
	atOnce(4, func(int) {
		s.as(s.author, http.MethodPost, "/api/v1/doubled?context=main", nil, []byte(`[{"name": "x"}, {"name": "y"}]`))
	})
}

func strikeLargeBodies(s *siege) {
	body := []byte(service.Listing(12, func(i int) string {
		return fmt.Sprintf(`{"id": "body-%d", "name": "Body", "labels": [%s"x"]}`, i, strings.Repeat(`"label of some length that is a text",`, 20_000))
	}))
	atOnce(64, func(int) { s.as(s.author, http.MethodPost, "/api/v1/advertisers?context=main", nil, body) })
}

func strikeCollections(s *siege) {
	atOnce(64, func(k int) {
		body := []byte(service.Listing(1000, func(i int) string {
			return fmt.Sprintf(`{"id": %s, "name": "Collection"}`, quoted(fmt.Sprintf("c-%d-%d", k, i)))
		}))
		s.as(s.author, http.MethodPost, "/api/v1/advertisers?context=main", nil, body)
	})
}
