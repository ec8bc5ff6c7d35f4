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
)

// Content is bytes that are sent as they are.
type Content struct {
	// Type is the media type, ETag a strong entity tag with its quotes.
	Type, ETag string
	Modified   time.Time
	Size       int64
	// Reader is asked for the parts that are wanted. Its errors break the answer
	// off.
	Reader io.ReadSeeker
}

// maxRanges is how many parts a client can ask for at once; one that asks for
// more gets the whole, as it may (RFC 9110, part 14.2).
const maxRanges = 16

// Content answers GET and HEAD with bytes, or with the ranges of them that the
// request asks for, under its conditions (RFC 9110, parts 13 and 14).
func (r *Call) Content(content Content) error {
	request, header := r.c.Request, r.c.Writer.Header()
	header.Set("Content-Type", content.Type)
	header.Set("ETag", content.ETag)
	if held := request.Header.Get("If-None-Match"); held != "" && request.Header.Get("If-Match") == "" {
		header.Set("ETag", heldTag(held, content.ETag))
	}
	if ranges := request.Header.Get("Range"); ranges != "" {
		if strings.Count(ranges, ",") >= maxRanges {
			request.Header.Del("Range")
		}
		header.Set(gzhttp.HeaderNoCompression, "1") // ranges are of the bytes as they are
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

// contentWriter holds back what http.ServeContent refuses with: the service has
// messages of its own.
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

// contentReader keeps an error of its reader. Several ranges are read by another
// goroutine than the one that answers.
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
