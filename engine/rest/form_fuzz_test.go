package rest

import (
	"bytes"
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"marquee/engine/message"
)

// Every form is read to its end, within the limits, or rejected.
func FuzzForm(f *testing.F) {
	const plain = "multipart/form-data; boundary=b"
	part := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nabc\r\n"
	for _, seed := range [][2]string{
		{plain, part + "--b--"}, {plain, part}, {plain, part + part + "--b--\r\nepilogue"}, {plain, "preamble\r\n" + part + "--b--"}, {plain, strings.ReplaceAll(part, "\r", "") + "--b--"},
		{plain, "--b\r\n\r\n--b--"}, {plain, "--b--"}, {plain, ""}, {"multipart/form-data", part}, {"multipart/form-data; boundary=", part}, {"", ""},
		{plain, "--b\r\nContent-Disposition: form-data; name=\"" + strings.Repeat("x", maxFraming) + "\"\r\n\r\n"},
		{plain, "--b\r\nContent-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n=41=\r\n--b--"},
	} {
		f.Add(seed[0], []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		const limit = 100
		c, _ := gin.CreateTestContext(httptest.NewRecorder())
		c.Request = httptest.NewRequest("POST", "/", bytes.NewReader(body))
		c.Request.Header.Set("Content-Type", contentType)
		form, err := (&Call{noted: &noted{}, s: &Server{}, c: c}).Form()
		for err == nil {
			var part *Part
			if part, err = form.Next(); err != nil {
				break
			}
			if part.Name == "" {
				t.Fatal("a part has no name")
			}
			var content bytes.Buffer
			n, wrong := part.Copy(&content, limit)
			if n > limit+1 || n != int64(content.Len()) {
				t.Fatalf("%d bytes are copied", n)
			}
			if n > limit {
				return
			}
			err = wrong
		}
		if !errors.Is(err, io.EOF) {
			checkKind(t, err, message.Malformed)
		}
	})
}
