package rest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"marquee/engine"
	"marquee/engine/listen"
	"marquee/engine/message"
	"marquee/engine/read"
	"marquee/engine/rest/header"
	"marquee/engine/spool"
)

// A stream of changes (text/event-stream) has no deadline, and holds a share of the memory budget
// only while a batch of events is rendered. The rest of what a client has not received yet is kept
// nowhere: the stream reads from the store, from its position, as fast as the client receives.

const (
	eventStreamType = "text/event-stream"
	// streamBatchBytes is the size with which a batch is complete, and bounds what the system keeps of
	// what a client has not received.
	streamBatchBytes = 64 << 10
	// A client may take Config.ReceiveTimeout to receive streamWriteBytes, which are less than systems
	// hold back until they say that there is room again, and all streams together endTime when the
	// server shuts down.
	streamWriteBytes = 16 << 10
	endTime          = 2 * time.Second
	// bookmarkEvery is the interval of bookmarks, and confirmEvery how often the token and the rights
	// of the caller are looked at.
	bookmarkEvery = 10 * time.Second
	confirmEvery  = 500 * time.Millisecond
	// DefaultStreams is the maximum number of calls that stream or wait, and streamsOfCaller that of
	// one caller.
	DefaultStreams  = 1000
	streamsOfCaller = 100
	// streamRetry is how long a client whose stream was refused should wait, and retryLeast and retryMost
	// the limits of the time after which one whose stream has ended connects again.
	streamRetry           = 5 * time.Second
	retryLeast, retryMost = 1000, 5000
)

// enterStreams counts the call as one that streams or waits, until leave is called. An error is of
// kind TooManyRequests.
func (r *Call) enterStreams() (leave func(), err error) {
	leave, ok := r.s.streams.begin(r.account(), func(all, own int) bool { return all < r.s.Streams && own < streamsOfCaller })
	if !ok {
		refused := message.RequestsTooMany.Error(nil)
		refused.RetryAfter = streamRetry
		return nil, refused
	}
	return leave, nil
}

// End ends the calls that stream or wait, with a position from which their clients continue.
func (s *Server) End() { s.end() }

// streamed reports whether the client asks for a stream.
func streamed(r *http.Request) bool {
	accept, _ := header.List(r.Header, "Accept")
	return r.Method == http.MethodGet && slices.ContainsFunc(header.Split(accept, ','), func(one string) bool {
		media, parameters, _ := mime.ParseMediaType(one)
		weight, err := strconv.ParseFloat(parameters["q"], 64)
		return media == eventStreamType && (err != nil || weight > 0)
	})
}

// eventStream is a response of events.
type eventStream struct {
	r        *Call
	control  *http.ResponseController
	q        read.ChangesQuery
	rights   string
	waiter   *read.Waiter
	position string
	// due is when the next bookmark is sent: by the clock, as one that is sent because something
	// has happened would show what the caller does not see.
	due time.Time
	// over is when the last write ends after the server has begun to shut down, nil until then.
	over atomic.Pointer[time.Time]
}

// batch has the events of a read. Their text is in memory only if it is small, as the client may
// take long to receive it.
type batch struct {
	engine.Events // without a list
	count         int
	small         []byte
	large         *spool.File // nil for none
}

// streamChanges sends the changes after a position, or after Last-Event-ID, for as long as the client
// receives them.
func (r *Call) streamChanges(q read.ChangesQuery) error {
	if last := r.c.GetHeader("Last-Event-ID"); last != "" {
		q.After = last
	}
	q.Limit, q.Bytes = maxChanges, streamBatchBytes
	e := &eventStream{r: r, q: q, rights: r.s.Engine.Rights(r.caller, q.Feed), waiter: r.s.Engine.Wait(q.Feed)}
	defer e.waiter.Close()
	b, err := e.read()
	if q.After != "" && q.After == r.c.GetHeader("Last-Event-ID") && message.PositionInvalid.Is(err) {
		return message.PositionInvalid.Error(message.Params{"parameter": "Last-Event-ID"})
	}
	if err != nil {
		return err // as an ordinary answer
	}
	e.begin()
	defer e.hurry()()
	for e.send(b) && !e.wait(b.Events) {
		if b, err = e.read(); err != nil {
			return e.fail(err)
		}
	}
	return nil
}

// fail ends the stream because of an error of a read, which is logged if it is internal. A client
// that is refused from now on learns why when it connects again.
func (e *eventStream) fail(err error) error {
	var refused *message.Error
	if e.r.unbound.Err() == nil && (!errors.As(err, &refused) || refused.Kind == message.Internal) {
		return err
	}
	e.leave()
	return nil
}

// begin sends the header, past the outbox and the compression.
func (e *eventStream) begin() {
	out := outboxOf(e.r.c.Writer)
	out.pass()
	e.control = http.NewResponseController(out.ResponseWriter)
	_ = e.control.SetReadDeadline(time.Time{}) // a connection without deadlines has none to lift
	listen.LimitUnsent(e.r.c.Request, streamBatchBytes)
	h := e.r.Header()
	h.Set(gzhttp.HeaderNoCompression, "1")
	h.Set("Content-Type", eventStreamType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	e.r.c.Writer.WriteHeader(http.StatusOK)
	e.r.c.Request = e.r.c.Request.WithContext(e.r.unbound)
}

// hurry gives the writes endTime when the server shuts down, until stop is called.
func (e *eventStream) hurry() (stop func()) {
	done := make(chan struct{})
	cancel := context.AfterFunc(e.r.s.ending, func() {
		defer close(done)
		over := time.Now().Add(endTime)
		e.over.Store(&over)
		_ = e.control.SetWriteDeadline(over) // a connection without deadlines does not block
	})
	return func() {
		if !cancel() {
			<-done // as the response cannot be used afterwards
		}
	}
}

// read reads a batch, with a share of the memory budget.
func (e *eventStream) read() (batch, error) {
	r := e.r
	ctx, cancel := context.WithTimeout(r.unbound, r.s.Deadline)
	defer cancel()
	r.c.Request = r.c.Request.WithContext(ctx)
	defer func() { r.c.Request = r.c.Request.WithContext(r.unbound) }()
	if r.memory.share == nil {
		if err := r.take(pageCost); err != nil {
			return batch{}, err
		}
	}
	defer r.giveMemory()
	events, err := r.s.Engine.Changes(ctx, r.caller, e.q)
	if err == nil && len(events.List) > 0 {
		err = r.reconfirm() // as the changes may be later than the end of the token
	}
	if err != nil {
		return batch{}, err
	}
	if e.q.After, e.q.Waiter = events.Position, e.waiter; events.More {
		e.q.Waiter = nil
	}
	return r.batch(events)
}

// batch renders events.
func (r *Call) batch(events engine.Events) (batch, error) {
	b, size := batch{Events: events, count: len(events.List)}, 0
	b.List = nil
	for _, event := range events.List {
		size += len(event.JSON)
	}
	var small bytes.Buffer
	w := bufio.NewWriter(&small)
	if size > sentFreely {
		b.large = r.Temporary()
		w.Reset(b.large)
	}
	for _, event := range events.List {
		_, _ = fmt.Fprintf(w, "id: %s\nevent: change\ndata: ", event.Position) // Flush returns the error
		_, _ = w.Write(event.JSON)
		_, _ = w.WriteString("\n\n")
	}
	if err := w.Flush(); err != nil {
		_ = b.large.Close() // which is the spool's fault, too
		return batch{}, err
	}
	b.small = small.Bytes()
	return b, nil
}

// send sends a batch, and a bookmark if one is due. It reports whether the stream goes on.
func (e *eventStream) send(b batch) bool {
	var text []io.Reader
	if e.position == "" {
		text = append(text, strings.NewReader(fmt.Sprintf("retry: %d\n\n", retryLeast+rand.IntN(retryMost-retryLeast)))) // #nosec G404 -- spreads the clients
	}
	if text = append(text, bytes.NewReader(b.small)); b.large != nil {
		defer b.large.Close()
		text = append(text, b.large.Reader())
	}
	now := time.Now()
	bookmarked := b.Reset == "" && !now.Before(e.due)
	if b.Reset != "" {
		text = append(text, strings.NewReader("id: "+b.Position+"\nevent: reset\ndata: {\"reason\":\""+string(b.Reset)+"\"}\n\n"))
	} else if bookmarked {
		text = append(text, strings.NewReader(bookmark(b.Position)))
		e.due = now.Add(bookmarkEvery)
	}
	if (b.count > 0 || b.Reset != "" || bookmarked) && !e.write(io.MultiReader(text...)) {
		return false
	}
	e.position = b.Position
	return b.Reset == "" && e.spend(b.count)
}

// write sends text. It reports whether the client has received enough of what was sent before, and
// the token has held meanwhile.
func (e *eventStream) write(text io.Reader) bool {
	for confirmed := time.Now(); ; {
		_ = e.control.SetWriteDeadline(time.Now().Add(e.r.s.ReceiveTimeout)) // a connection without deadlines does not block
		if over := e.over.Load(); over != nil {
			_ = e.control.SetWriteDeadline(*over)
		}
		n, err := copyTo(e.r.unbound, e.r.c.Writer, io.LimitReader(text, streamWriteBytes))
		if err != nil {
			return false
		}
		if n < streamWriteBytes {
			return e.control.Flush() == nil
		}
		if time.Since(confirmed) > confirmEvery {
			if e.r.reconfirm() != nil {
				return false
			}
			confirmed = time.Now()
		}
	}
}

// spend counts events towards the rate limits, and waits until these allow more. It reports whether
// the stream goes on.
func (e *eventStream) spend(n int) bool {
	if n == 0 || operated(e.r.unbound) {
		return true
	}
	r := e.r
	r.noted.objects += n
	r.charges.spend(n)
	for {
		r.charges.settle()
		r.charges.each = nil
		err := r.charges.admitAddress(clientAddr(r.c))
		if err == nil {
			err = r.charges.admit(r.s.limiters.caller, r.account())
		}
		refused, limited := err.(*message.Error)
		if !limited || e.changed() { // which the next read answers with a reset
			return true
		}
		if e.pause(min(refused.RetryAfter, time.Until(e.due)), nil) || !e.send(batch{Events: engine.Events{Position: e.position}}) {
			return false
		}
	}
}

// wait returns when there may be changes, or a bookmark is due. It reports whether the stream has
// ended.
func (e *eventStream) wait(events engine.Events) (done bool) {
	most := time.Until(e.due)
	switch {
	case events.More:
		most = 0
	case events.Doubt:
		most = min(most, doubtEvery)
	}
	return e.pause(most, e.waiter.Woken())
}

// changed reports whether the rights of the caller, or the schemas, are others than at the beginning.
func (e *eventStream) changed() bool {
	return e.r.s.Engine.Rights(e.r.caller, e.q.Feed) != e.rights
}

// pause returns after a time, or earlier when woken has an item or the rights have changed. It
// reports whether the stream has ended, because the client or the server goes, or the token no
// longer holds.
func (e *eventStream) pause(most time.Duration, woken <-chan struct{}) (done bool) {
	over, confirm := time.NewTimer(most), time.NewTicker(confirmEvery)
	defer over.Stop()
	defer confirm.Stop()
	for goOn := false; !goOn; {
		select {
		case <-woken:
			goOn = true
		case <-over.C:
			goOn = true
		case <-confirm.C:
		case <-e.r.s.ending.Done():
		case <-e.r.unbound.Done():
			return true
		}
		if e.r.s.ending.Err() != nil || e.r.reconfirm() != nil {
			return e.leave()
		}
		goOn = goOn || e.changed()
	}
	return false
}

// leave ends the stream with its position.
func (e *eventStream) leave() (done bool) {
	e.write(strings.NewReader(bookmark(e.position)))
	return true
}

func bookmark(position string) string {
	return "id: " + position + "\nevent: bookmark\ndata: {}\n\n"
}
