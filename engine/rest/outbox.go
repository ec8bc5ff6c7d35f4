package rest

import (
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"marquee/engine/budget"
	"marquee/engine/spool"
)

// Bounds of the memory that responses take while they are sent.
const (
	// Each response may take sentFreely bytes, and up to maxInMemory of the part
	// of the memory budget for responses, 1/outboxPart. The rest is written to a
	// temporary file.
	sentFreely  = 16 << 10
	outboxPart  = 16
	maxInMemory = 1 << 20
	// minPart and maxSharedPart bound the capacity of a part that several writes
	// share. A larger write has a part of its own.
	minPart, maxSharedPart = 512, 4 << 10
	// crowdedTime is how long a client may take to receive a response for which
	// there is neither memory nor disk space.
	crowdedTime = 10 * time.Second
)

// outbox holds a response until its handler has returned, so that a slow client
// occupies nothing that the handler needed. It receives compressed data.
type outbox struct {
	http.ResponseWriter
	s      *Server
	r      *http.Request
	caller string
	body   *sentBody // nil for none
	client netip.Addr
	noted  noted
	// planned reports whether the request was refused because the service starts or
	// shuts down.
	planned bool

	status int
	parts  [][]byte
	size   int64 // of the parts
	share  *budget.Share
	file   *spool.File
	// direct reports whether the response is sent as it is written.
	direct bool
}

// outboxOf returns the outbox beneath a writer, nil for none.
func outboxOf(w http.ResponseWriter) *outbox {
	for {
		switch inner := w.(type) {
		case *outbox:
			return inner
		case interface{ Unwrap() http.ResponseWriter }:
			w = inner.Unwrap()
		default:
			return nil
		}
	}
}

// notedOf returns what is noted of the request that a writer answers. Without an outbox, it is
// forgotten.
func notedOf(w http.ResponseWriter) *noted {
	if out := outboxOf(w); out != nil {
		return &out.noted
	}
	return &noted{}
}

// clientAddr returns the address of the client, as trusted proxies report it.
func clientAddr(c *gin.Context) netip.Addr {
	if out := outboxOf(c.Writer); out != nil {
		return out.client
	}
	return netip.Addr{}
}

// clientIP is clientAddr as a text, "" for none.
func clientIP(c *gin.Context) string {
	if address := clientAddr(c); address.IsValid() {
		return address.String()
	}
	return ""
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if to := s.forward.Load(); to != nil {
		(*to).ServeHTTP(w, r)
		return
	}
	out := &outbox{ResponseWriter: w, s: s, r: r}
	if r.Body != nil && r.Body != http.NoBody {
		out.body = &sentBody{ReadCloser: r.Body}
		out.r = r.WithContext(r.Context()) // a handler must not change its request
		out.r.Body = out.body
	}
	defer out.close()
	s.handler.ServeHTTP(out, out.r)
	out.send()
}

func (o *outbox) close() {
	o.share.Release()
	if o.file != nil {
		_ = o.file.Close() // a file that remains is not the caller's fault
	}
}

// Unwrap is for http.ResponseController.
func (o *outbox) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (o *outbox) WriteHeader(status int) {
	if o.direct {
		o.begin(status)
		return
	}
	if o.status == 0 {
		o.status = status
	}
}

// begin sends the status and the header, in which the name ETag is written as RFC 9110
// writes it: net/http would send Etag, which some clients do not find.
func (o *outbox) begin(status int) {
	header := o.Header()
	if tag, ok := header["Etag"]; ok {
		header["ETag"] = tag // #nosec G101 -- the name of a header
		delete(header, "Etag")
	}
	o.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (o *outbox) Write(p []byte) (int, error) {
	if o.direct {
		return o.ResponseWriter.Write(p)
	}
	if o.status == 0 {
		o.status = http.StatusOK
	}
	if o.r.Method == http.MethodHead {
		o.size += int64(len(p))
		return len(p), nil
	}
	if o.file == nil && o.keeps(o.size+int64(len(p))) {
		o.keep(p)
		return len(p), nil
	}
	if o.file == nil {
		o.file = o.s.Spool.Create(o.r.Context(), o.caller)
	}
	if n, err := o.file.Write(p); err != nil {
		// The write has been stored: without room for the response, it is sent at
		// once, to a client that receives it soon, as the handler keeps its share.
		_ = http.NewResponseController(o.ResponseWriter).SetWriteDeadline(time.Now().Add(crowdedTime)) // a connection without deadlines does not block
		o.pass()
		rest, err := o.ResponseWriter.Write(p[n:])
		return n + rest, err
	}
	return len(p), nil
}

// keep appends p to the parts. Small writes, such as a compressor's, share a part.
func (o *outbox) keep(p []byte) {
	last := len(o.parts) - 1
	if last < 0 || cap(o.parts[last])-len(o.parts[last]) < len(p) {
		o.parts = append(o.parts, make([]byte, 0, max(len(p), minPart, min(int(o.size), maxSharedPart))))
		last++
	}
	o.parts[last] = append(o.parts[last], p...)
	o.size += int64(len(p))
}

// keeps reports whether a response of this size can be kept in memory. Beyond
// sentFreely, it takes its share of the budget once, for the maximum size.
func (o *outbox) keeps(size int64) bool {
	if size > sentFreely && size <= maxInMemory && o.share == nil {
		o.share, _ = o.s.outboxes.Try(o.caller, maxInMemory)
	}
	return size <= sentFreely || size <= maxInMemory && o.share != nil
}

// send sends the complete response.
func (o *outbox) send() {
	if o.direct {
		return
	}
	size := o.size
	if o.share != nil {
		o.share.Shrink(size)
	}
	if o.file != nil {
		size += o.file.Size()
	}
	if header := o.Header(); size > 0 && header.Get("Content-Length") == "" {
		header.Set("Content-Length", strconv.FormatInt(size, 10))
	}
	o.pass()
}

// pass sends what has been written so far, and passes on later writes, for a response that
// is not in memory. There may be no outbox.
func (o *outbox) pass() {
	if o == nil || o.direct {
		return
	}
	o.direct = true
	if o.status == 0 {
		return
	}
	o.body.finish(o.ResponseWriter, o.r)
	o.begin(o.status)
	for _, part := range o.parts {
		if _, err := o.ResponseWriter.Write(part); err != nil {
			return // the client is gone
		}
	}
	o.parts = nil
	if o.file != nil {
		_, _ = copyTo(o.r.Context(), o.ResponseWriter, o.file.Reader())
	}
}
