package rest

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"time"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
)

// StreamLimits bound a body that is not held in memory: its bytes, unpacked,
// and its objects.
type StreamLimits struct{ Bytes, Objects int }

// WriteStream stores the objects of the body, all or none, and answers as a
// collection write does. Body and answer are kept in files without a name.
func (r *Call) WriteStream(t *schema.Type, limits StreamLimits) error {
	var batch engine.Batch
	if err := r.options(t, &batch); err != nil {
		return err
	}
	like := engine.Operation{Type: t}
	if err := r.conditions(&like, false); err != nil {
		return err
	}
	// Who may write nothing need not send it first.
	if err := r.s.Engine.Access.MayWrite(r.caller, t, batch.Network, "", false); err != nil {
		return err
	}
	body, err := r.spool(limits.Bytes)
	if err != nil {
		return err
	}
	defer body.close()
	answer := &streamAnswer{}
	if answer.spool, err = newSpool(); err != nil {
		return err
	}
	defer answer.close()
	shape := document.Limits{Depth: document.DefaultLimits.Depth, Object: document.DefaultLimits.Object, Objects: limits.Objects}
	result, err := r.s.Engine.WriteStream(r.Context(), r.caller, engine.Stream{
		Like: like, Network: batch.Network, FieldValidation: batch.FieldValidation, ValidateOnly: batch.ValidateOnly,
		Open:   func() engine.Objects { return document.NewObjectReader(body.file, shape) },
		Answer: answer,
	})
	if err != nil {
		return err
	}
	r.Dropped(true, result.Unknown)
	return answer.send(r)
}

// answerTime is how long an answer may take that was made until the deadline.
const answerTime = time.Minute

// extend lets a connection last as long as a route may take: the timeouts of
// the server are for what takes less.
func (r *Call) extend(deadline time.Duration) {
	if deadline <= r.s.Deadline {
		return
	}
	control, until := http.NewResponseController(r.c.Writer), time.Now().Add(deadline)
	// A connection that has no deadlines needs none.
	_ = control.SetReadDeadline(until)
	_ = control.SetWriteDeadline(until.Add(answerTime))
}

// spool keeps the body, unpacked, in a file.
func (r *Call) spool(limit int) (*spool, error) {
	in, err := r.incoming(limit)
	if err != nil {
		return nil, err
	}
	defer in.close()
	s, err := newSpool()
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(s, io.LimitReader(in, int64(limit)+1))
	if !message.StoreUnavailable.Is(err) {
		err = in.ended(n, err)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// spool is a temporary file. Where that is possible it has no name, so that
// nothing of it outlives the process.
type spool struct {
	file    *os.File
	unnamed bool
}

func newSpool() (*spool, error) {
	file, err := os.CreateTemp("", "marquee-upload-*")
	if err != nil {
		return nil, noRoom(err)
	}
	return &spool{file, os.Remove(file.Name()) == nil}, nil
}

func (s *spool) close() {
	s.file.Close()
	if !s.unnamed {
		os.Remove(s.file.Name())
	}
}

// Write implements io.Writer.
func (s *spool) Write(p []byte) (int, error) {
	n, err := s.file.Write(p)
	return n, noRoom(err)
}

// noRoom is an error of a temporary file, for clients.
func noRoom(err error) error {
	if err == nil {
		return nil
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = errors.New("a temporary file cannot be written: " + path.Err.Error())
	}
	e := message.StoreUnavailable.Error(nil).Caused(err)
	e.RetryAfter = 5 * time.Second
	return e
}

// streamAnswer is the answer of a collection write.
type streamAnswer struct {
	*spool
	out   *bufio.Writer
	count int
}

// Begin implements engine.StreamAnswer.
func (a *streamAnswer) Begin() error {
	if _, err := a.file.Seek(0, io.SeekStart); err != nil {
		return noRoom(err)
	}
	if err := a.file.Truncate(0); err != nil {
		return noRoom(err)
	}
	a.out, a.count = bufio.NewWriterSize(a.spool, 1<<16), 0
	_, err := a.out.WriteString(`{"results":[`)
	return err
}

// Add implements engine.StreamAnswer.
func (a *streamAnswer) Add(object []byte) error {
	if a.count++; a.count > 1 {
		if err := a.out.WriteByte(','); err != nil {
			return err
		}
	}
	_, err := a.out.Write(object)
	return err
}

// End completes the answer.
func (a *streamAnswer) End() error {
	if _, err := a.out.WriteString(`],"totalCount":` + strconv.Itoa(a.count) + "}"); err != nil {
		return err
	}
	return a.out.Flush()
}

// send sends the answer.
func (a *streamAnswer) send(r *Call) error {
	size, err := a.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	if _, err := a.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r.Header().Set("Content-Type", jsonType)
	r.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	r.c.Writer.WriteHeader(http.StatusOK)
	_, err = io.Copy(r.c.Writer, a.file)
	return err
}
