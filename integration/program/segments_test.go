package program

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"marquee/integration/process"
	"marquee/integration/service"
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

func upload(p *process.Process, status int, body []byte) *service.Answer {
	p.TB.Helper()
	a, err := p.Send(http.MethodPost, service.UploadPath, nil, body)
	if err != nil {
		p.TB.Fatal(err)
	}
	if a.Status != status {
		p.TB.Fatalf("%d %.300s", a.Status, a.Body)
	}
	return a
}

// TestSegmentsMemory uploads more than the process takes memory for: new
// segments, changed ones, and changed ones of which the last is at fault, so
// that all of them are rolled back.
func TestSegmentsMemory(t *testing.T) { service.EachStore(t, testSegmentsMemory) }

func testSegmentsMemory(t *testing.T, fresh service.NewStore) {
	process.Measures(t)
	const n, most = 30_000, 60 << 20
	p := process.Serve(t, fresh(t))
	p.SignIn("admin", process.Password)
	before := p.Peak()
	body := largeSegments(n, "First")
	a := upload(p, http.StatusOK, body)
	changed := largeSegments(n, "Second")
	upload(p, http.StatusUnprocessableEntity, append(changed[:len(changed)-1], `,{"segmentId":"bad"}]`...))
	upload(p, http.StatusOK, largeSegments(n, "Third"))
	after := p.Peak()
	t.Logf("%d MiB were uploaded thrice, and %d MiB answered: the process grew from %d to %d MiB", len(body)>>20, len(a.Body)>>20, before>>20, after>>20)
	if after-before > most {
		t.Errorf("the process grew by %d MiB", (after-before)>>20)
	}
	p.Ask(http.StatusOK, http.MethodGet, "/api/v1/segments/segment-000000?context=main", "")
	p.Stop()
}

// TestSegmentsKilled kills the process in the middle of an upload: it is there
// as a whole or not at all, and nothing else is left of it.
func TestSegmentsKilled(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testSegmentsKilled)
}

func testSegmentsKilled(t *testing.T, fresh service.NewStore) {
	const n = 10_000
	seed := process.Number(t, "MARQUEE_CRASH_SEED", int(time.Now().UnixNano()))
	t.Logf("MARQUEE_CRASH_SEED=%d", seed)
	random := rand.New(rand.NewPCG(uint64(seed), 3))
	store, temporary := process.CrashStore(t, fresh), t.TempDir()
	env := []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password, "TMPDIR=" + temporary}
	p := process.ServeWith(t, store, env)
	p.SignIn("admin", process.Password)
	token, stored, cut := p.Token, "", 0
	for round := range 5 {
		name := fmt.Sprintf("round %d", round)
		answered := make(chan bool, 1)
		go func() {
			a, err := p.Send(http.MethodPost, service.UploadPath, nil, largeSegments(n, name))
			answered <- err == nil && a.Status == http.StatusOK
		}()
		<-time.After(time.Duration(random.Int64N(int64(800 * time.Millisecond))))
		p.Kill()
		whole := <-answered
		process.EndTransactions(t, store)
		p = process.ServeWith(t, store, env)
		p.Token = token
		a := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/segments?context=main&pageSize=1&orderBy=updateTime&orderByDirection=DESCENDING", "")
		list, _ := a.JSON().(map[string]any)
		count := fmt.Sprint(list["totalCount"])
		last := strings.Contains(string(a.Body), name)
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
			a := p.Ask(http.StatusOK, http.MethodGet, fmt.Sprintf("/api/v1/segments?context=main&orderBy=id&fields=name&pageSize=1000&page=%d", page), "")
			if got := strings.Count(string(a.Body), `"name":"`+stored+` `); got != 1000 {
				t.Errorf("%d of 1000 segments are of %s", got, stored)
			}
		}
	}
	p.Stop()
	if cut == 0 {
		t.Error("no upload was cut off")
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("%v is left of the uploads: %v", left, err)
	}
}

// TestSegmentsBrokenOff: a client may take longer to send an upload than other
// requests may take; of one that the client does not finish, nothing is stored or left.
func TestSegmentsBrokenOff(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testSegmentsBrokenOff)
}

func testSegmentsBrokenOff(t *testing.T, fresh service.NewStore) {
	temporary := t.TempDir()
	p := process.ServeWith(t, fresh(t), []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password, "TMPDIR=" + temporary},
		"--read-timeout", "3s", "--write-timeout", "4s", "--request-timeout", "10s") // a busy machine takes a second to sign in
	p.SignIn("admin", process.Password)
	body := service.SegmentsBody(0, 20, "N")
	slow := dial(p)
	slow.write(t, postHead(p, service.UploadPath, len(body))+body[:len(body)-25])
	for _, b := range []byte(body[len(body)-25:]) {
		<-time.After(150 * time.Millisecond)
		slow.write(t, string(b))
	}
	if a := slow.answer(t); a == nil || a.Status != http.StatusOK || len(a.Segments(t)) != 20 {
		t.Errorf("who sends slowly is answered with %+v", a)
	}
	more := service.SegmentsBody(20, 5000, "N")
	for name, head := range map[string]string{
		"length": postHead(p, service.UploadPath, len(more)) + more[:len(more)/2],
		"chunks": strings.Replace(postHead(p, service.UploadPath, 0), "Content-Length: 0", "Transfer-Encoding: chunked", 1) + "5\r\n[{\"se",
		"packed": postHead(p, service.UploadPath, 1000, "Content-Encoding: gzip") + string(service.Pack([]byte(more)))[:60],
	} {
		c := dial(p)
		c.write(t, head)
		if half, ok := c.Conn.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
			t.Fatal("half of a connection cannot be closed")
		}
		if a := c.answer(t); a == nil || a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), "error.body.") {
			t.Errorf("%s: an upload that is broken off is answered with %+v", name, a)
		}
		gone := dial(p)
		gone.write(t, head)
		if err := gone.Close(); err != nil {
			t.Fatal(err)
		}
	}
	p.Eventually("an upload is still kept", func() bool { return len(openUploads(p)) == 0 })
	a := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/segments?context=main", "")
	process.Wants(t, string(a.Body), `"totalCount":20`)
	p.Eventually("a file of the uploads is left", func() bool { // the last one may just be created
		left, err := os.ReadDir(temporary)
		return err == nil && len(left) == 0
	})
	p.Stop()
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
			p := process.ServeWith(t, service.NewSQLite(t), []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password, "TMPDIR=" + c.folder}, c.arguments...)
			p.Creative()
			contentType, body := service.Form("a.png", append(assettest.PNG(1, 1), make([]byte, 200_000)...))
			file, err := p.Post("a", contentType, bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range []*service.Answer{upload(p, http.StatusServiceUnavailable, largeSegments(200, "N")), file} {
				process.Wants(t, string(a.Body), "error.spool.full")
				process.Shuns(t, string(a.Body), "is-not-there")
				if a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
					t.Errorf("%d, and Retry-After is %q", a.Status, a.Header.Get("Retry-After"))
				}
			}
			// A small upload needs no file.
			upload(p, http.StatusOK, largeSegments(1, "N"))
			contentType, body = service.Form("a.png", assettest.PNG(1, 1))
			if a, err := p.Post("a", contentType, bytes.NewReader(body)); err != nil || a.Status != http.StatusCreated {
				t.Error(err, a)
			}
			p.Stop()
			process.Wants(t, p.Stderr.String(), c.cause)
		})
	}
}
