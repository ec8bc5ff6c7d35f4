package service

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// Hostile is a request that must be refused, with the status and the code of
// its first message.
type Hostile struct {
	Method, Path string
	Header       http.Header
	Body         func() io.Reader
	Status       int
	Code         string
	Params       string // a pattern of the first message's params
}

// Text makes a body of a text.
func Text(s string) func() io.Reader { return func() io.Reader { return strings.NewReader(s) } }

// Repeated makes the body for each request, as all of them together are large.
func Repeated(before, unit string, n int, after string) func() io.Reader {
	return func() io.Reader { return strings.NewReader(before + strings.Repeat(unit, n) + after) }
}

// Bomb is gzip of many zeros, or spaces, around an object.
func Bomb(fill byte, size int) func() io.Reader {
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

// Endless never ends: the length of the body is not known beforehand.
func Endless() io.Reader { return io.MultiReader(strings.NewReader(`[{"name":"`), spring{}) }

type spring struct{}

func (spring) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

const (
	Collection = "/api/v1/teams?context=main"
	Object     = "/api/v1/teams/t?context=main"
)

// Packed is the header of a body that is compressed with gzip.
var Packed = http.Header{"Content-Encoding": {"gzip"}}

// Run sends the request, and checks that it is refused as it says and has stored nothing.
func (h Hostile) Run(t *testing.T, s *Service, token string) {
	before, err := s.Camera.Picture()
	if err != nil {
		t.Fatal(err)
	}
	header := h.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	oauth := strings.HasPrefix(h.Path, "/api/authenticate")
	if header.Get("Authorization") == "" && !oauth {
		header.Set("Authorization", "Bearer "+token)
	}
	var body io.Reader
	if h.Body != nil {
		body = h.Body()
	}
	a, err := s.Send(h.Method, h.Path, header, body)
	if err != nil {
		t.Fatal(err)
	}
	if a.Status != h.Status {
		t.Errorf("status is %d, not %d: %.500s", a.Status, h.Status, a.Body)
	}
	for _, wrong := range a.Promises(oauth) {
		t.Error(wrong)
	}
	pattern := map[string]any{}
	if h.Code != "" {
		message := map[string]any{"code": h.Code}
		if h.Params != "" {
			if message["params"], err = Decode([]byte(h.Params)); err != nil {
				t.Fatal(err)
			}
		}
		pattern["messages"] = []any{message}
	}
	for _, wrong := range Match(pattern, a.JSON(), "", map[string]string{}) {
		t.Errorf("%s: %.500s", wrong, a.Body)
	}
	after, err := s.Camera.Picture()
	if err != nil || after != before {
		t.Errorf("the store is not as before: %v", err)
	}
}
