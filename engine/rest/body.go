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

	"github.com/gin-gonic/gin"
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
	if err := acceptJSON(r.c); err != nil {
		return nil, err
	}
	b, err := r.receive(int64(limit))
	if err != nil {
		return nil, err
	}
	defer b.close()
	if time.Since(began) > time.Second {
		r.bind()
	}
	if b.gzip { // it is decompressed to be weighed, without being kept
		if err := r.take(unpackCost); err != nil {
			return nil, err
		}
	}
	var w engine.Weight
	err = b.unpack(r.Context(), &w)
	r.giveMemory()
	if err != nil {
		return nil, err
	}
	if err := r.confirm(w.Cost()); err != nil {
		return nil, err
	}
	return b.read(r.Context(), int(w.Bytes))
}

// ReadBody reads and decompresses the body, whatever its media type. The limit is small:
// the call needs no share of the memory budget.
func (r *Call) ReadBody(limit int64) ([]byte, error) {
	b, err := r.receive(limit)
	if err != nil {
		return nil, err
	}
	defer b.close()
	return b.read(r.Context(), 0)
}

// receive writes what the client sends to a temporary file.
func (r *Call) receive(limit int64) (*body, error) {
	packed, err := gzipped(r.c)
	if err != nil {
		return nil, err
	}
	in, err := r.incoming()
	if err != nil {
		return nil, err
	}
	b := &body{file: r.SpoolBody(), gzip: packed, limit: limit}
	if err := in.fill(r.Context(), b.file, limit); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// incoming reads the body from the connection, at a minimum rate, and counts it as
// arriving. An error is of kind TooManyRequests.
func (r *Call) incoming() (*arrival, error) {
	if r.in != nil {
		return r.in, nil
	}
	end, ok := r.s.arriving.begin(r.account(), mayArrive)
	if !ok {
		hangUp(r.c.Writer, r.c.Request)
		return nil, listen.OverLimit(message.RequestsTooMany)
	}
	r.in = &arrival{Reader: leastRate(r.c.Writer, r.c.Request.Body), end: end, w: r.c.Writer, request: r.c.Request, unbound: r.unbound}
	return r.in, nil
}

// gzipped reports whether the body is compressed. The refusal of another encoding than
// gzip has the one that is supported (RFC 7694, section 3).
func gzipped(c *gin.Context) (bool, error) {
	switch encoding := strings.ToLower(c.GetHeader("Content-Encoding")); encoding {
	case "", "identity":
		return false, nil
	case "gzip":
		return true, nil
	default:
		c.Header("Accept-Encoding", "gzip")
		return false, message.ContentEncoding.Error(message.Params{"value": encoding})
	}
}

// body is a complete body as the client sent it.
type body struct {
	file  *spool.File
	gzip  bool
	limit int64
}

func (b *body) close() { _ = b.file.Close() } // a file that remains is not the caller's fault

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

// decompress replaces the file of a body with another one, for its decompressed content.
func (b *body) decompress(ctx context.Context, file *spool.File) error {
	if err := b.unpack(ctx, file); err != nil {
		return errors.Join(err, file.Close())
	}
	b.close()
	b.file, b.gzip = file, false
	return nil
}

// read returns the decompressed content of a body, whose size is known if it was weighed.
func (b *body) read(ctx context.Context, size int) ([]byte, error) {
	var content bytes.Buffer
	content.Grow(size)
	err := b.unpack(ctx, &content)
	return content.Bytes(), err
}

// ReadsCharset reports whether bodies are read in a character set that Content-Type names:
// UTF-8, of which US-ASCII is a part.
func ReadsCharset(name string) bool {
	return slices.Contains([]string{"", "utf-8", "utf8", "us-ascii"}, strings.ToLower(name))
}

// acceptJSON rejects a body with another media type than JSON.
func acceptJSON(c *gin.Context) error {
	err := checkMediaType(c.GetHeader("Content-Type"), patches(c.Request))
	if err != nil && patches(c.Request) {
		c.Header("Accept-Patch", acceptPatch)
	}
	return err
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
