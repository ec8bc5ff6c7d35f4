package rest

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"marquee/engine"
	"marquee/engine/message"
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

// spooledAnswer creates a streamAnswer, which can be written after the deadline of
// the call: a write that has been stored is reported as stored.
func (r *Call) spooledAnswer() *streamAnswer {
	return &streamAnswer{file: r.s.Spool.Create(context.WithoutCancel(r.Context()), r.account())}
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
	r.give()
	// A compressed response stays in the outbox, so that a slow client does not hold
	// the compressor.
	if encodings := r.c.GetHeader("Accept-Encoding"); !strings.Contains(encodings, "gzip") && !strings.Contains(encodings, "zstd") {
		r.direct()
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

// answerAll sends the response to a successful write of several objects.
func (r *Call) answerAll(network string, result *engine.Result) error {
	minimal := r.prefersMinimal(result.Stored().Once())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), renderTime)
	defer cancel()
	answer := r.spooledAnswer()
	defer answer.file.Close()
	var err error
	if minimal {
		err = r.s.Engine.Outline(r.caller, network, result.Stored(), answer, "id")
	} else {
		err = r.s.Engine.Render(ctx, r.caller, network, result.Stored(), answer)
	}
	if err != nil && (message.SpoolFull.Is(err) || ctx.Err() != nil) {
		r.Log().Warn("a response shows its objects by id and url only", "cause", err)
		return r.answerOutline(network, result)
	}
	if err != nil {
		return err
	}
	return answer.send(r)
}

func (r *Call) answerOutline(network string, result *engine.Result) error {
	var outline outlineAnswer
	if err := r.s.Engine.Outline(r.caller, network, result.Stored(), &outline, "id", "url"); err != nil {
		return err
	}
	page := outline.PageWriter.End(fmt.Appendf(nil, `,"totalCount":%d,"truncated":true`, outline.count))
	r.Header().Add("Warning", outlineWarning)
	r.Header().Del("Preference-Applied")
	write(r.c, http.StatusOK, jsonType, page.Body...)
	return nil
}

// prefersMinimal reports whether the client prefers a successful write to have a
// minimal response, and sets Preference-Applied. A response that shows something once is
// never minimal, and must not be cached.
func (r *Call) prefersMinimal(once bool) bool {
	preference := header.Return(r.c.Request.Header)
	if once {
		r.c.Header("Cache-Control", "no-store")
		if preference == header.ReturnMinimal {
			preference = header.NoPreference
		}
	}
	if preference != header.NoPreference {
		r.c.Header("Preference-Applied", preference)
	}
	return preference == header.ReturnMinimal
}
