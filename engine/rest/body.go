package rest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"

	"marquee/engine"
	"marquee/engine/listen"
	"marquee/engine/message"
	"marquee/engine/spool"
)

// Body reads and decompresses a body of at most limit bytes. Once it is complete,
// the call takes the share of the memory budget that writing its objects needs. If
// receiving it took more than a second, the deadline of the call starts again. The
// caller is found again (confirm).
func (r *Call) Body(limit int) ([]byte, error) {
	began := time.Now()
	b, err := r.receive(limit)
	if err != nil {
		return nil, err
	}
	defer b.close()
	if time.Since(began) > time.Second {
		r.bind()
	}
	w, err := r.weigh(b)
	if err != nil {
		return nil, err
	}
	if err := r.take(w.Cost()); err != nil {
		return nil, err
	}
	if err := r.confirm(); err != nil {
		return nil, err
	}
	return b.read(r.Context(), int(w.Bytes))
}

// body is a complete body as the client sent it.
type body struct {
	file  *spool.File
	gzip  bool
	limit int64
}

func (b *body) close() { _ = b.file.Close() } // a file that remains is not the caller's fault

// receive writes the body of the request to a temporary file.
func (r *Call) receive(limit int) (*body, error) {
	if err := checkMediaType(r.c.GetHeader("Content-Type"), r.patches()); err != nil {
		if r.patches() {
			r.c.Header("Accept-Patch", acceptPatch)
		}
		return nil, err
	}
	packed, err := r.packed()
	if err != nil {
		return nil, err
	}
	file, err := r.receiveFile(int64(limit))
	if err != nil {
		return nil, err
	}
	return &body{file: file, gzip: packed, limit: int64(limit)}, nil
}

// packed reports whether the body is compressed. The refusal of another encoding than
// gzip has the one that is supported (RFC 7694, section 3).
func (r *Call) packed() (bool, error) {
	switch encoding := strings.ToLower(r.c.GetHeader("Content-Encoding")); encoding {
	case "", "identity":
		return false, nil
	case "gzip":
		return true, nil
	default:
		r.c.Header("Accept-Encoding", "gzip")
		return false, message.ContentEncoding.Error(message.Params{"value": encoding})
	}
}

// receiveFile writes what the client sends to a temporary file.
func (r *Call) receiveFile(limit int64) (*spool.File, error) {
	in, err := r.incoming()
	if err != nil {
		return nil, err
	}
	if r.c.Request.ContentLength > limit {
		return nil, r.tooLarge(in, limit)
	}
	file := r.SpoolBody()
	n, err := copyTo(r.Context(), file, io.LimitReader(in, limit+1))
	if err == nil && n > limit {
		err = r.tooLarge(in, limit)
	}
	if err != nil {
		_ = file.Close() // a file that remains is not the caller's fault
		return nil, r.incomplete(err)
	}
	return file, nil
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

// ReadBody reads and decompresses the body, whatever its media type. The limit is small:
// the call needs no share of the memory budget.
func (r *Call) ReadBody(limit int64) ([]byte, error) {
	packed, err := r.packed()
	if err != nil {
		return nil, err
	}
	file, err := r.receiveFile(limit)
	if err != nil {
		return nil, err
	}
	b := &body{file: file, gzip: packed, limit: limit}
	defer b.close()
	return b.read(r.Context(), 0)
}

// incomplete returns the error for a body that did not arrive completely.
func (r *Call) incomplete(err error) error {
	var e *message.Error
	if !errors.As(err, &e) || errors.Is(err, context.Canceled) {
		return message.BodyIncomplete.Error(nil).Caused(err)
	}
	if message.BodyTooSlow.Is(err) {
		r.hangUp()
	}
	return err
}

// gzipReaders are idle.
var gzipReaders sync.Pool

// unpack writes the decompressed body to dst.
func (b *body) unpack(ctx context.Context, dst io.Writer) error {
	if !b.gzip {
		_, err := copyTo(ctx, dst, b.file.Reader())
		return err
	}
	r, _ := gzipReaders.Get().(*gzip.Reader)
	if r == nil {
		r = new(gzip.Reader)
	}
	defer gzipReaders.Put(r)
	if err := r.Reset(b.file.Reader()); err != nil {
		return message.BodyCompression.Error(nil)
	}
	n, err := copyTo(ctx, dst, io.LimitReader(r, b.limit+1))
	var known *message.Error
	switch {
	case n > b.limit:
		return message.BodyTooLarge.Error(message.Params{"limit": b.limit})
	case err != nil && !errors.As(err, &known):
		return message.BodyCompression.Error(nil)
	}
	return err
}

// weigh estimates what writing the body will cost. A compressed body is decompressed
// for that without being kept.
func (r *Call) weigh(b *body) (engine.Weight, error) {
	var w engine.Weight
	if b.gzip {
		if err := r.take(unpackCost); err != nil {
			return w, err
		}
		defer r.give()
	}
	err := b.unpack(r.Context(), &w)
	return w, err
}

// read returns the decompressed content of a body, whose size is known if it was weighed.
func (b *body) read(ctx context.Context, size int) ([]byte, error) {
	var content bytes.Buffer
	content.Grow(size)
	err := b.unpack(ctx, &content)
	return content.Bytes(), err
}

func (r *Call) tooLarge(in io.Reader, limit int64) error {
	r.discard(in)
	return message.BodyTooLarge.Error(message.Params{"limit": limit})
}

// maxDrain is the maximum number of bytes of a rejected body that are read and discarded.
const maxDrain = 32 << 20

// drain reads the rest of a rejected body, because many clients read no response
// before they have sent everything.
func (r *Call) drain() {
	if in, err := r.incoming(); err == nil {
		r.discard(in)
	}
}

func (r *Call) discard(in io.Reader) {
	if r.c.GetHeader("Expect") != "" { // the client has not begun to send
		return
	}
	_, err := copyTo(r.unbound, io.Discard, io.LimitReader(in, maxDrain)) // the body is rejected in any case
	if message.BodyTooSlow.Is(err) {
		r.hangUp()
	}
}

// acceptPatch lists the media types of merge patches (RFC 7396).
const acceptPatch = "application/merge-patch+json, application/json"

// ReadsCharset reports whether bodies are read in a character set that Content-Type names:
// UTF-8, of which US-ASCII is a part.
func ReadsCharset(name string) bool {
	return slices.Contains([]string{"", "utf-8", "utf8", "us-ascii"}, strings.ToLower(name))
}

// checkMediaType accepts the content types that clients send with JSON, in the character
// sets that JSON is read in. With PATCH, other types that end in +json, such as that of a
// JSON Patch, mean something else.
func checkMediaType(header string, patch bool) error {
	if header == "" {
		return nil
	}
	expected := "application/json"
	if patch {
		expected = acceptPatch
	}
	media, parameters, err := mime.ParseMediaType(header)
	switch {
	case err != nil:
	case !ReadsCharset(parameters["charset"]):
		expected += " in UTF-8"
	case media == "application/json", media == "application/merge-patch+json", media == "text/plain", media == "application/x-www-form-urlencoded",
		strings.HasSuffix(media, "+json") && !patch:
		return nil
	}
	return message.MediaType.Error(message.Params{"value": header, "expected": expected})
}
