package rest

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"marquee/engine/message"
	"marquee/engine/rest/header"
)

// Content is a file to send.
type Content struct {
	// Type is the media type, ETag a strong entity tag with its quotes.
	Type, ETag string
	Modified   time.Time
	Size       int64
	// Reader reads the ranges that the client asks for. Its errors abort the response.
	Reader io.ReadSeeker
}

// maxRanges is the maximum number of ranges a client can ask for at once. One that asks for more
// receives the whole content (RFC 9110, section 14.2).
const maxRanges = 16

// Content responds to GET and HEAD with a file, and supports conditional and range
// requests (RFC 9110, sections 13 and 14). The call holds no share of the memory budget
// while it sends.
func (r *Call) Content(content Content) error {
	r.giveMemory()
	request, response := r.c.Request, r.c.Writer.Header()
	response.Set("Content-Type", content.Type)
	response.Set("ETag", content.ETag)
	for _, name := range []string{"If-Match", "If-None-Match"} {
		if value, given := header.List(request.Header, name); given { // net/http reads the first line only, and ignores an empty one
			request.Header.Set(name, value+",")
		}
	}
	if held := request.Header.Get("If-None-Match"); held != "" && request.Header.Get("If-Match") == "" {
		response.Set("ETag", header.Held(held, content.ETag))
	}
	ranges := request.Header.Get("Range")
	if strings.Count(ranges, ",") >= maxRanges {
		request.Header.Del("Range")
	}
	out := outboxOf(r.c.Writer)
	if ranges != "" || !compresses(content, request.Header.Get("Accept-Encoding"), out) { // ranges refer to the uncompressed bytes
		response.Set(gzhttp.HeaderNoCompression, "1")
		out.pass()
	} else if request.Method == http.MethodHead { // the outbox drops the body, which decides how it is compressed
		get := *request
		get.Method, request = http.MethodGet, &get
	}
	w, reader := &contentWriter{ResponseWriter: r.c.Writer}, &contentReader{ReadSeeker: content.Reader}
	http.ServeContent(w, request, "", content.Modified, reader)
	switch w.refused {
	case 0:
		return reader.fault()
	case http.StatusPreconditionFailed:
		return message.ContentChanged.Error(nil)
	case http.StatusRequestedRangeNotSatisfiable:
		return message.RangeUnsatisfied.Error(message.Params{"size": content.Size})
	}
	return errors.Join(errors.New("the content cannot be served"), reader.fault())
}

// compresses reports whether content is compressed for the client. A compressor takes
// much memory, which a slow client must not hold, so it is used only if the outbox
// has room for the result.
func compresses(content Content, encodings string, out *outbox) bool {
	if !strings.Contains(encodings, "gzip") && !strings.Contains(encodings, "zstd") || !gzhttp.DefaultContentTypeFilter(content.Type) {
		return false
	}
	return out != nil && out.keeps(content.Size+content.Size/16) // compression can add to the size
}

// contentWriter holds back the errors of http.ServeContent, in whose place the
// service sends problems.
type contentWriter struct {
	http.ResponseWriter
	refused int
}

func (w *contentWriter) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		w.refused = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *contentWriter) Write(b []byte) (int, error) {
	if w.refused != 0 {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

// ReadFrom implements io.ReaderFrom with a buffer that is no larger than what other
// responses keep in memory.
func (w *contentWriter) ReadFrom(src io.Reader) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{w}, src, make([]byte, sentFreely))
}

// contentReader remembers the error of its reader. It is locked because
// http.ServeContent reads several ranges in a goroutine.
type contentReader struct {
	io.ReadSeeker
	mu  sync.Mutex
	err error
}

func (c *contentReader) Read(b []byte) (int, error) {
	n, err := c.ReadSeeker.Read(b)
	if err != nil && err != io.EOF {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.err = err
	}
	return n, err
}

func (c *contentReader) fault() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}
