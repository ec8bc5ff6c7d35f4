package rest

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/gzhttp"
)

// Lines is a response of values as lines of JSON. The client receives each as soon as it is
// written.
type Lines struct {
	w       gin.ResponseWriter
	out     http.ResponseWriter
	timeout time.Duration
}

// Lines begins a response of lines, for a call that takes long. The call holds a share of the
// memory budget from now on, as large as that for a page of a list.
func (r *Call) Lines() (*Lines, error) {
	if err := r.take(pageCost); err != nil {
		return nil, err
	}
	out := outboxOf(r.c.Writer)
	out.pass()
	r.Header().Set(gzhttp.HeaderNoCompression, "1")
	r.Header().Set("Content-Type", "application/jsonl")
	r.c.Writer.WriteHeader(http.StatusOK)
	return &Lines{r.c.Writer, out.ResponseWriter, r.s.ReceiveTimeout}, nil
}

// Write sends a value. It fails if the client is gone, or does not receive it in time.
func (l *Lines) Write(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	control := http.NewResponseController(l.out)
	_ = control.SetWriteDeadline(time.Now().Add(l.timeout)) // a connection without deadlines does not block
	if _, err := l.w.Write(append(text, '\n')); err != nil {
		return err
	}
	return control.Flush()
}
