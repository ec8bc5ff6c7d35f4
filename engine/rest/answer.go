package rest

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"marquee/engine"
	"marquee/engine/rest/header"
	"marquee/engine/spool"
)

// renderTime is how long rendering stored objects may take, even after the
// deadline.
const renderTime = 5 * time.Second

// oneAnswer is the response to a write of one object.
type oneAnswer struct{ object *engine.Object }

func (a *oneAnswer) Begin() error                    { return nil }
func (a *oneAnswer) End() error                      { return nil }
func (a *oneAnswer) Add(object *engine.Object) error { a.object = object; return nil }

// streamAnswer is the response to a write of several objects, in a temporary file:
// sending it needs neither the store nor much memory, however slow the client is.
type streamAnswer struct {
	file  *spool.File
	out   *bufio.Writer
	count int
}

// Begin implements engine.Answer.
func (a *streamAnswer) Begin() error {
	if err := a.file.Reset(); err != nil {
		return err
	}
	a.out, a.count = bufio.NewWriter(a.file), 0
	_, err := a.out.WriteString(`{"results":[`)
	return err
}

// Add implements engine.Answer.
func (a *streamAnswer) Add(object *engine.Object) error {
	if a.count++; a.count > 1 {
		if err := a.out.WriteByte(','); err != nil {
			return err
		}
	}
	_, err := a.out.Write(object.JSON)
	return err
}

// End implements engine.Answer.
func (a *streamAnswer) End() error {
	if _, err := a.out.WriteString(`],"totalCount":` + strconv.Itoa(a.count) + "}"); err != nil {
		return err
	}
	return a.out.Flush()
}

// send sends the response, which holds no share of the memory budget.
func (a *streamAnswer) send(r *Call) error {
	r.giveMemory()
	// A compressed response stays in the outbox, so that a slow client does not hold
	// the compressor.
	if encodings := r.c.GetHeader("Accept-Encoding"); !strings.Contains(encodings, "gzip") && !strings.Contains(encodings, "zstd") {
		outboxOf(r.c.Writer).pass()
	}
	r.Header().Set("Content-Type", jsonType)
	r.Header().Set("Content-Length", strconv.FormatInt(a.file.Size(), 10))
	r.c.Writer.WriteHeader(http.StatusOK)
	_, err := copyTo(context.WithoutCancel(r.Context()), r.c.Writer, a.file.Reader())
	return err
}

// outlineAnswer replaces a streamAnswer for which there is no disk space: it has
// only the ids and urls of the objects.
type outlineAnswer struct {
	engine.PageWriter
	count int
}

// outlineWarning is the Warning header of an outlineAnswer.
const outlineWarning = `299 marquee "the objects are stored, and shown by id and url alone, as the whole answer has no room or takes too long"`

// Begin implements engine.Answer.
func (a *outlineAnswer) Begin() error {
	*a = outlineAnswer{}
	a.PageWriter.Begin([]byte(`{"results":[`))
	return nil
}

// Add implements engine.Answer.
func (a *outlineAnswer) Add(object *engine.Object) error {
	a.count++
	return a.PageWriter.Add(func(dst []byte) ([]byte, error) { return append(dst, object.JSON...), nil })
}

// End implements engine.Answer.
func (a *outlineAnswer) End() error { return nil }

// send sends the objects.
func (a *outlineAnswer) send(r *Call) {
	page := a.PageWriter.End(fmt.Appendf(nil, `,"totalCount":%d,"truncated":true`, a.count))
	r.Header().Add("Warning", outlineWarning)
	r.Header().Del("Preference-Applied")
	write(r.c, http.StatusOK, jsonType, page.Body...)
}

// prefersMinimal reports whether the client prefers a successful write to have a
// minimal response, and sets Preference-Applied. A response that shows something once is
// never minimal, and must not be cached.
func prefersMinimal(c *gin.Context, once bool) bool {
	preference := header.Return(c.Request.Header)
	if once {
		c.Header("Cache-Control", "no-store")
		if preference == header.ReturnMinimal {
			preference = header.NoPreference
		}
	}
	if preference != header.NoPreference {
		c.Header("Preference-Applied", preference)
	}
	return preference == header.ReturnMinimal
}
