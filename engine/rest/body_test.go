package rest

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/gzip"

	"marquee/engine/budget"
	"marquee/engine/message"
	"marquee/engine/spool"
	"marquee/engine/store"
)

// sent returns a call with a body, on a server with a memory budget.
func sent(t *testing.T, w http.ResponseWriter, ctx context.Context, body io.Reader) *Call {
	c, _ := gin.CreateTestContext(w)
	c.Request = httptest.NewRequestWithContext(ctx, "POST", "/", body)
	return &Call{noted: &noted{}, s: &Server{Config: Config{Log: slog.New(slog.DiscardHandler), Spool: spool.New(t.TempDir(), 1<<30), Deadline: DefaultDeadline}, work: budget.New(1 << 20), outboxes: budget.New(1 << 20)}, c: c, unbound: t.Context(), deadline: DefaultDeadline}
}

// A body for which there is no memory until the deadline is not the client's fault,
// whatever its size.
func TestBodiesWaitUntilTheDeadline(t *testing.T) {
	for _, size := range []int{2, 1 << 20, 2 << 20} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			r := sent(t, httptest.NewRecorder(), ctx, strings.NewReader(strings.Repeat(" ", size)))
			for ok := true; ok; { // until there is no memory left
				_, ok = r.s.work.Try(store.NewID(), 1<<12)
			}
			if _, err := r.Body(MaxBodyBytes); !message.ServerBusy.Is(err) {
				t.Error(err)
			}
			r.close()
		})
	}
}

// A body that arrived slowly restarts the deadline of its route, not that of the server.
func TestSlowBodyRestartsDeadlineOfRoute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		r := sent(t, httptest.NewRecorder(), t.Context(), in)
		r.deadline = time.Hour
		go func() {
			time.Sleep(2 * time.Second)
			_, _ = io.WriteString(out, "{}")
			_ = out.Close()
		}()
		if _, err := r.Body(MaxBodyBytes); err != nil {
			t.Fatal(err)
		}
		if until, _ := r.Context().Deadline(); time.Until(until) != time.Hour {
			t.Errorf("the call has %s", time.Until(until))
		}
		r.close()
	})
}

// interruptible is a response whose connection supports read deadlines.
type interruptible struct {
	*httptest.ResponseRecorder
	body *io.PipeReader
}

func (i interruptible) SetReadDeadline(time.Time) error {
	return i.body.CloseWithError(context.DeadlineExceeded)
}

// A client that stops in the middle of its body is cut off, and holds no memory
// meanwhile.
func TestBodiesThatStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		recorder := httptest.NewRecorder()
		r := sent(t, interruptible{recorder, in}, t.Context(), in)
		began := time.Now()
		go out.Write([]byte(strings.Repeat(" ", 1<<20+1)))
		_, err := r.Body(MaxBodyBytes)
		if !message.BodyTooSlow.Is(err) {
			t.Fatal(err)
		}
		if r.s.work.Used() != 0 {
			t.Error("the call holds a share")
		}
		if waited := time.Since(began); waited < spool.Grace || waited > 2*spool.Grace {
			t.Errorf("it was cut off after %s", waited)
		}
		if recorder.Header().Get("Connection") != "close" {
			t.Error("the connection is kept open")
		}
	})
}

// A compressed body is weighed and read by its decompressed content.
func TestCompressedBodies(t *testing.T) {
	text := "[" + strings.Repeat(`{"name": "x"},`, 500) + "{}]"
	var packed strings.Builder
	w := gzip.NewWriter(&packed)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	for name, c := range map[string]struct {
		body  string
		limit int
		fault *message.Definition
	}{
		"whole":     {packed.String(), len(text), nil},
		"too large": {packed.String(), len(text) - 1, message.BodyTooLarge},
		"cut":       {packed.String()[:packed.Len()/2], len(text), message.BodyCompression},
		"plain":     {text, len(text), message.BodyCompression},
		"empty":     {"", len(text), message.BodyCompression},
	} {
		t.Run(name, func(t *testing.T) {
			r := sent(t, httptest.NewRecorder(), t.Context(), strings.NewReader(c.body))
			r.c.Request.Header.Set("Content-Encoding", "gzip")
			body, err := r.Body(c.limit)
			if c.fault != nil && !c.fault.Is(err) || c.fault == nil && (err != nil || string(body) != text) {
				t.Errorf("%v; %d bytes", err, len(body))
			}
			r.close()
			if r.s.work.Used() != 0 {
				t.Error("a share is still held")
			}
		})
	}
}
