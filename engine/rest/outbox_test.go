package rest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"marquee/engine/budget"
	"marquee/engine/spool"
)

// viaOutbox serves a request with a response in parts.
func viaOutbox(s *Server, method string, parts ...string) *httptest.ResponseRecorder {
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		for _, part := range parts {
			if _, err := io.WriteString(w, part); err != nil {
				panic(err)
			}
		}
	})
	recorder := httptest.NewRecorder()
	s.ServeHTTP(recorder, httptest.NewRequest(method, "/", nil))
	return recorder
}

// Responses of any size arrive completely, even with neither memory nor disk space to
// keep them in, and release what they held.
func TestResponsesArriveCompletely(t *testing.T) {
	gone := t.TempDir()
	files := spool.New(gone+"/gone", 1<<30)
	for name, s := range map[string]*Server{
		"with room":      {Config: Config{Spool: spool.New(t.TempDir(), 1<<30)}, outboxes: budget.New(64 << 20)},
		"without memory": {Config: Config{Spool: spool.New(t.TempDir(), 1<<30)}, outboxes: budget.New(0)},
		"without a disk": {Config: Config{Spool: spool.New(t.TempDir(), 1)}, outboxes: budget.New(0)},
		"with nothing":   {Config: Config{Spool: files}, outboxes: budget.New(0)},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, sentFreely, sentFreely + 1, maxInMemory, maxInMemory + 1, 3 * maxInMemory} {
				text := strings.Repeat("0123456789abcdef", size/16+1)[:size]
				for _, parts := range [][]string{{text}, {text[:size/2], text[size/2:]}, {text[:1], text[1:]}, chunks(text, 20_000)} {
					a := viaOutbox(s, http.MethodGet, parts...)
					if a.Code != http.StatusAccepted || a.Body.String() != text {
						t.Fatalf("%d bytes are %d %d bytes", size, a.Code, a.Body.Len())
					}
					if length := a.Header().Get("Content-Length"); length != "" && length != strconv.Itoa(size) {
						t.Errorf("%d bytes are announced as %s", size, length)
					}
				}
			}
			if s.outboxes.Used() != 0 || s.Spool.Used() != 0 {
				t.Error("memory or a file is still held")
			}
		})
	}
	if _, err := os.Stat(gone + "/gone"); err == nil {
		t.Error("the folder was made")
	}
}

// Small writes, such as a compressor's, do not take a slice each.
func TestSmallWritesShareAPart(t *testing.T) {
	o := &outbox{ResponseWriter: httptest.NewRecorder(), r: httptest.NewRequest(http.MethodGet, "/", nil), s: &Server{outboxes: budget.New(64 << 20)}}
	defer o.close()
	for range 40 {
		if _, err := o.Write(make([]byte, 246)); err != nil {
			t.Fatal(err)
		}
	}
	if len(o.parts) > 8 {
		t.Errorf("40 writes of 246 bytes are in %d parts", len(o.parts))
	}
}

func chunks(text string, size int) (parts []string) {
	for len(text) > size {
		parts, text = append(parts, text[:size]), text[size:]
	}
	return append(parts, text)
}
