package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
)

// AddCreative creates the creative c.
func AddCreative(c *Conversation) *Conversation {
	c.Helper()
	c.Send("POST", "/api/v1/layouts/l?context=main", `{"name": "L", "html": "<p>"}`, 201, "")
	c.Send("POST", "/api/v1/creatives/c?context=main", `{"name": "C", "layout": "l", "verifiedSafe": true, "dimensionType": "FLEXIBLE"}`, 201, "")
	return c
}

// Form is a body of multipart/form-data with a file.
func Form(name string, content []byte) (contentType string, body []byte) {
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

// Upload sends a file, and expects a status and a pattern of the answer.
func (c *Conversation) Upload(id, name string, content []byte, status int, pattern string) *Answer {
	c.Helper()
	contentType, body := Form(name, content)
	a, err := c.Service.Send("POST", "/api/v1/assets/c/"+id+"?context=main", c.Header("Content-Type", contentType), bytes.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	c.Expect(a, status, pattern)
	return a
}

// Header returns the headers of a request: the token, and pairs of names and values.
func (c *Conversation) Header(more ...string) http.Header {
	h := http.Header{"Authorization": {"Bearer " + c.Token}}
	for i := 0; i < len(more); i += 2 {
		h.Set(more[i], more[i+1])
	}
	return h
}

// Expect checks the status of an answer, a pattern of its body, and what all answers promise.
func (c *Conversation) Expect(a *Answer, status int, pattern string) {
	c.Helper()
	if a.Status != status {
		c.Fatalf("status is %d, not %d: %.500s", a.Status, status, a.Body)
	}
	wrong := a.Promises(false)
	if pattern != "" {
		expected, err := Decode([]byte(pattern))
		if err != nil {
			c.Fatal(err)
		}
		wrong = append(wrong, Match(expected, a.JSON(), "", map[string]string{})...)
	}
	for _, text := range wrong {
		c.Error(text)
	}
}

// CDNID is where an answer says that its file is delivered.
func (c *Conversation) CDNID(a *Answer) string {
	c.Helper()
	object, _ := a.JSON().(map[string]any)
	place, _ := object["cdnId"].(string)
	if !strings.HasPrefix(place, "/delivery/") {
		c.Fatalf("it is delivered at %q: %s", place, a.Body)
	}
	return place
}

// CameraPicture returns a picture of what the store holds.
func (s *Service) CameraPicture(t *testing.T) Picture {
	t.Helper()
	p, err := s.Camera.Picture()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Pack returns a body compressed with gzip.
func Pack(body []byte) []byte {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write(body)
	w.Close()
	return packed.Bytes()
}

// UploadPath is the path to which segments are uploaded.
const UploadPath = "/api/v1/segments/upload?context=main"

// Segment is what the tests read of one.
type Segment struct {
	ID, Name, State        string
	ExpiryTime, UpdateTime time.Time
}

// Segments are those of an answer.
func (a *Answer) Segments(tb testing.TB) []Segment {
	tb.Helper()
	var list struct {
		Results    []Segment
		TotalCount int
	}
	if err := json.Unmarshal(a.Body, &list); err != nil || list.TotalCount < len(list.Results) {
		tb.Fatalf("%v: %.200s", err, a.Body)
	}
	return list.Results
}

// SegmentsBody is an upload of segments with these names, whose ids are numbers.
func SegmentsBody(from, to int, name string) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, `,{"segmentId":"%05d","name":"%s","dataSource":"ADOBE"}`, i, name)
	}
	return "[" + strings.TrimPrefix(b.String(), ",") + "]"
}
