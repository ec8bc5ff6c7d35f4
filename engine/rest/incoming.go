package rest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"marquee/engine/listen"
	"marquee/engine/message"
	"marquee/engine/spool"
	"marquee/engine/store"
)

// maxArriving is the maximum number of bodies that arrive at once.
const maxArriving = 512

// mayArrive reports whether a caller can send another body: one caller can have half of
// maxArriving, two callers a third each, and so on.
func mayArrive(all, own int) bool { return own+1 < maxArriving-all }

// tally counts what callers have at present.
type tally struct {
	mu  sync.Mutex
	all int
	of  map[string]int
}

// begin counts one more of a caller, until end is called; ok is false unless it is allowed, as
// there are so many of all callers, and of this one.
func (t *tally) begin(caller string, allowed func(all, own int) bool) (end func(), ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !allowed(t.all, t.of[caller]) {
		return nil, false
	}
	if t.of == nil {
		t.of = map[string]int{}
	}
	t.all++
	t.of[caller]++
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.all--
		if t.of[caller]--; t.of[caller] == 0 {
			delete(t.of, caller)
		}
	}), true
}

func (t *tally) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all
}

// leastRate reads a body, and fails if the client sends too slowly.
func leastRate(w http.ResponseWriter, body io.Reader) io.Reader {
	control := http.NewResponseController(w)
	return spool.LeastRate(body, spool.MinRate, spool.Grace, func() {
		_ = control.SetReadDeadline(time.Unix(1, 0)) // a connection without deadlines does not block
	})
}

// hangUp closes the connection after the response, on which a client has not sent
// what it announced. On one with HTTP/2, only the stream ends.
func hangUp(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor < 2 {
		w.Header().Set("Connection", "close")
	}
}

// arrival is a body that arrives. It calls end at the end or the first error.
type arrival struct {
	io.Reader
	end     func()
	w       http.ResponseWriter
	request *http.Request
	// unbound is the context of the request without its deadline.
	unbound context.Context
}

func (a *arrival) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	if err != nil {
		a.end()
	}
	return n, err
}

// fill writes the body to a file, if it has at most limit bytes.
func (a *arrival) fill(ctx context.Context, file io.Writer, limit int64) (err error) {
	n := a.request.ContentLength // -1 if it is not known
	if n <= limit {
		n, err = copyTo(ctx, file, io.LimitReader(a, limit+1))
	}
	var e *message.Error
	switch {
	case message.BodyTooSlow.Is(err):
		hangUp(a.w, a.request)
		return err
	case err != nil && (!errors.As(err, &e) || errors.Is(err, context.Canceled)):
		return message.BodyIncomplete.Error(nil).Caused(err)
	case err != nil:
		return err
	case n > limit:
		a.discard()
		return message.BodyTooLarge.Error(message.Params{"limit": limit})
	}
	return nil
}

// maxDrain is the maximum number of bytes of a rejected body that are read and discarded.
const maxDrain = 32 << 20

// discard reads the rest of a rejected body, because many clients read no response
// before they have sent everything.
func (a *arrival) discard() {
	if a.request.Header.Get("Expect") != "" { // the client has not begun to send
		return
	}
	_, err := copyTo(a.unbound, io.Discard, io.LimitReader(a, maxDrain)) // the body is rejected in any case
	if message.BodyTooSlow.Is(err) {
		hangUp(a.w, a.request)
	}
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

// bufferSize is the size of the buffers of copyTo. It is small because a client that
// stops sending or reading occupies one.
const bufferSize = 8 << 10

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// copyTo copies src to dst until the context ends.
func copyTo(ctx context.Context, dst io.Writer, src io.Reader) (n int64, err error) {
	buffer := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buffer)
	for {
		if err := ctx.Err(); err != nil {
			return n, store.Translate(err)
		}
		read, err := src.Read(buffer[:])
		if read > 0 {
			written, err := dst.Write(buffer[:read])
			n += int64(written)
			if err != nil {
				return n, err
			}
		}
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}
