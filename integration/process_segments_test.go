package integration

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"marquee/resources/asset/assettest"
)

// largeSegments is an upload of so many segments, of more than a thousand bytes
// each.
func largeSegments(n int, name string) []byte {
	text := strings.Repeat("Who belongs to it. ", 55)
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,{"segmentId":"segment-%06d","name":"%s %d","dataSource":"ADOBE","description":"%s","ttlSpec":true,"timeToLiveType":"FIXED_DURATION","ttlNumber":30,"ttlUnit":"Days"}`, i, name, i, text)
	}
	return []byte("[" + b.String()[1:] + "]")
}

func (p *proc) upload(status int, body []byte) *answer {
	p.tb.Helper()
	a, err := p.send(http.MethodPost, uploadPath, nil, body)
	if err != nil {
		p.tb.Fatal(err)
	}
	if a.status != status {
		p.tb.Fatalf("%d %.300s", a.status, a.body)
	}
	return a
}

// TestSegmentsMemory uploads more than the process takes memory for: new
// segments, changed ones, and changed ones of which the last is at fault, so
// that all of them are rolled back.
func TestSegmentsMemory(t *testing.T) { eachStore(t, testSegmentsMemory) }

func testSegmentsMemory(t *testing.T, fresh newStore) {
	measures(t)
	const n, most = 30_000, 60 << 20
	p := procServe(t, fresh(t))
	p.signIn("admin", procPassword)
	before := p.peak()
	body := largeSegments(n, "First")
	a := p.upload(http.StatusOK, body)
	changed := largeSegments(n, "Second")
	p.upload(http.StatusUnprocessableEntity, append(changed[:len(changed)-1], `,{"segmentId":"bad"}]`...))
	p.upload(http.StatusOK, largeSegments(n, "Third"))
	after := p.peak()
	t.Logf("%d MiB were uploaded thrice, and %d MiB answered: the process grew from %d to %d MiB", len(body)>>20, len(a.body)>>20, before>>20, after>>20)
	if after-before > most {
		t.Errorf("the process grew by %d MiB", (after-before)>>20)
	}
	p.ask(http.StatusOK, http.MethodGet, "/api/v1/segments/segment-000000?context=main", "")
	p.stop()
}

// TestSegmentsKilled kills the process in the middle of an upload: it is there
// as a whole or not at all, and nothing else is left of it.
func TestSegmentsKilled(t *testing.T) { eachStore(t, testSegmentsKilled) }

func testSegmentsKilled(t *testing.T, fresh newStore) {
	const n = 10_000
	seed := procNumber(t, "MARQUEE_CRASH_SEED", int(time.Now().UnixNano()))
	t.Logf("MARQUEE_CRASH_SEED=%d", seed)
	random := rand.New(rand.NewPCG(uint64(seed), 3))
	store, temporary := crashStore(t, fresh), t.TempDir()
	env := []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + procPassword, "TMPDIR=" + temporary}
	p := procServeWith(t, store, env)
	p.signIn("admin", procPassword)
	token, stored, cut := p.token, "", 0
	for round := range 5 {
		name := fmt.Sprintf("round %d", round)
		answered := make(chan bool, 1)
		go func() {
			a, err := p.send(http.MethodPost, uploadPath, nil, largeSegments(n, name))
			answered <- err == nil && a.status == http.StatusOK
		}()
		<-time.After(time.Duration(random.Int64N(int64(800 * time.Millisecond))))
		p.kill()
		whole := <-answered
		endTransactions(t, store)
		p = procServeWith(t, store, env)
		p.token = token
		a := p.ask(http.StatusOK, http.MethodGet, "/api/v1/segments?context=main&pageSize=1&orderBy=updateTime&orderByDirection=DESCENDING", "")
		list, _ := a.json().(map[string]any)
		count := fmt.Sprint(list["totalCount"])
		last := strings.Contains(string(a.body), name)
		if !last {
			cut++
		}
		if count != "0" && count != fmt.Sprint(n) || whole && !last {
			t.Errorf("%s of %d segments are there, answered: %t", count, n, whole)
		}
		if last {
			stored = name
		}
		for page := range n / 1000 {
			if stored == "" {
				break
			}
			a := p.ask(http.StatusOK, http.MethodGet, fmt.Sprintf("/api/v1/segments?context=main&orderBy=id&fields=name&pageSize=1000&page=%d", page), "")
			if got := strings.Count(string(a.body), `"name":"`+stored+` `); got != 1000 {
				t.Errorf("%d of 1000 segments are of %s", got, stored)
			}
		}
	}
	p.stop()
	if cut == 0 {
		t.Error("no upload was cut off")
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("%v is left of the uploads: %v", left, err)
	}
}

// TestSegmentsBrokenOff: a client may take longer to send an upload than other
// requests may take; of one that the client does not finish, nothing is stored or left.
func TestSegmentsBrokenOff(t *testing.T) { eachStore(t, testSegmentsBrokenOff) }

func testSegmentsBrokenOff(t *testing.T, fresh newStore) {
	temporary := t.TempDir()
	p := procServeWith(t, fresh(t), []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + procPassword, "TMPDIR=" + temporary},
		"--read-timeout", "600ms", "--write-timeout", "800ms", "--request-timeout", "2s")
	p.signIn("admin", procPassword)
	body := segmentsBody(0, 20, "N")
	slow := p.dial()
	slow.write(t, p.postHead(uploadPath, len(body))+body[:len(body)-50])
	for _, b := range []byte(body[len(body)-50:]) {
		<-time.After(20 * time.Millisecond)
		slow.write(t, string(b))
	}
	if a := slow.answer(t); a == nil || a.status != http.StatusOK || len(a.segments(t)) != 20 {
		t.Errorf("who sends slowly is answered with %+v", a)
	}
	more := segmentsBody(20, 5000, "N")
	for name, head := range map[string]string{
		"length": p.postHead(uploadPath, len(more)) + more[:len(more)/2],
		"chunks": strings.Replace(p.postHead(uploadPath, 0), "Content-Length: 0", "Transfer-Encoding: chunked", 1) + "5\r\n[{\"se",
		"packed": p.postHead(uploadPath, 1000, "Content-Encoding: gzip") + string(pack([]byte(more)))[:60],
	} {
		c := p.dial()
		c.write(t, head)
		if half, ok := c.Conn.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
			t.Fatal("half of a connection cannot be closed")
		}
		if a := c.answer(t); a == nil || a.status != http.StatusBadRequest || !strings.Contains(string(a.body), "error.body.") {
			t.Errorf("%s: an upload that is broken off is answered with %+v", name, a)
		}
		gone := p.dial()
		gone.write(t, head)
		if err := gone.Close(); err != nil {
			t.Fatal(err)
		}
	}
	p.eventually("an upload is still kept", func() bool { return len(p.openUploads()) == 0 })
	a := p.ask(http.StatusOK, http.MethodGet, "/api/v1/segments?context=main", "")
	procWants(t, string(a.body), `"totalCount":20`)
	p.eventually("a file of the uploads is left", func() bool { // the last one may just be created
		left, err := os.ReadDir(temporary)
		return err == nil && len(left) == 0
	})
	p.stop()
}

// TestSegmentsNoRoom: where there is no place for an upload, the service says
// that it cannot take it now, and goes on.
func TestSegmentsNoRoom(t *testing.T) {
	t.Parallel()
	gone := t.TempDir() + "/is-not-there"
	for name, c := range map[string]struct {
		folder, cause string
		arguments     []string
	}{
		"no folder": {gone, "a temporary file in " + gone, nil},
		"budget":    {t.TempDir(), "the caller's temporary files hold", []string{"--spool-budget", "300000"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := procServeWith(t, newSQLite(t), []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + procPassword, "TMPDIR=" + c.folder}, c.arguments...)
			p.creative()
			contentType, body := form("a.png", append(assettest.PNG(1, 1), make([]byte, 200_000)...))
			file, err := p.post("a", contentType, bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range []*answer{p.upload(http.StatusServiceUnavailable, largeSegments(200, "N")), file} {
				procWants(t, string(a.body), "error.spool.full")
				procShuns(t, string(a.body), "is-not-there")
				if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
					t.Errorf("%d, and Retry-After is %q", a.status, a.header.Get("Retry-After"))
				}
			}
			// A small upload needs no file.
			p.upload(http.StatusOK, largeSegments(1, "N"))
			contentType, body = form("a.png", assettest.PNG(1, 1))
			if a, err := p.post("a", contentType, bytes.NewReader(body)); err != nil || a.status != http.StatusCreated {
				t.Error(err, a)
			}
			p.stop()
			procWants(t, p.stderr.String(), c.cause)
		})
	}
}
