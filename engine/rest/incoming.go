package rest

import (
	"io"
	"net/http"
	"sync"
	"time"

	"marquee/engine/listen"
	"marquee/engine/message"
	"marquee/engine/spool"
)

// maxArriving is the maximum number of bodies that arrive at once.
const maxArriving = 512

// arriving counts the bodies that callers are sending. One caller can have half of
// maxArriving, two callers a third each, and so on.
type arriving struct {
	mu      sync.Mutex
	count   int
	callers map[string]int
}

// begin counts a body until end is called; ok is false if the caller has reached the
// limit.
func (a *arriving) begin(caller string) (end func(), ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.callers[caller]+1 > maxArriving-a.count-1 {
		return nil, false
	}
	if a.callers == nil {
		a.callers = map[string]int{}
	}
	a.count++
	a.callers[caller]++
	return sync.OnceFunc(func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.count--
		if a.callers[caller]--; a.callers[caller] == 0 {
			delete(a.callers, caller)
		}
	}), true
}

// incoming reads the body from the connection, at a minimum rate, and counts it as
// arriving. An error is of kind TooManyRequests.
func (r *Call) incoming() (io.Reader, error) {
	if r.in != nil {
		return r.in, nil
	}
	end, ok := r.s.arriving.begin(r.account())
	if !ok {
		r.hangUp()
		return nil, listen.OverLimit(message.RequestsTooMany)
	}
	r.in = &arrival{leastRate(r.c.Writer, r.c.Request.Body), end}
	return r.in, nil
}

// leastRate reads a body, and fails if the client sends too slowly.
func leastRate(w http.ResponseWriter, body io.Reader) io.Reader {
	control := http.NewResponseController(w)
	return spool.LeastRate(body, spool.MinRate, spool.Grace, func() {
		_ = control.SetReadDeadline(time.Unix(1, 0)) // a connection without deadlines does not block
	})
}

// arrival is a body that arrives. It calls end at the end or the first error.
type arrival struct {
	io.Reader
	end func()
}

func (a *arrival) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	if err != nil {
		a.end()
	}
	return n, err
}

// maxUnread is the maximum number of bytes of a body read after its handler has returned, as much as
// net/http reads in order to keep the connection.
const maxUnread = 256 << 10

// sentBody is the body of a request. Its handler need not read it.
type sentBody struct {
	io.ReadCloser
	ended bool
}

func (b *sentBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || err != nil
	return n, err
}

// finish reads the rest of the body before the response is sent, as net/http would,
// but at a minimum rate. If the connection will be closed, the client has a moment to
// receive the response.
func (b *sentBody) finish(w http.ResponseWriter, r *http.Request) {
	if b == nil || b.ended || r.ProtoMajor >= 2 { // HTTP/2 can end a stream without its connection
		return
	}
	if r.Header.Get("Expect") == "" && w.Header().Get("Connection") != "close" {
		_, err := copyTo(r.Context(), io.Discard, io.LimitReader(leastRate(w, b), maxUnread))
		if !message.BodyTooSlow.Is(err) {
			return
		}
		w.Header().Set("Connection", "close")
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(listen.RefusalTime)) // a connection without deadlines does not block
}
