package document

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"marquee/engine/message"
)

// readObjects reads all objects of a file.
func readObjects(file io.ReaderAt, limits Limits) (objects []map[string]any, err error) {
	objects = []map[string]any{}
	for r := NewObjectReader(file, limits); ; {
		object, size, err := r.Next()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if size < 2 {
			return nil, errors.New("an object without bytes")
		}
		objects = append(objects, object)
	}
}

// FuzzObjectReader checks that a file and the same bytes in memory result in the
// same objects and errors.
func FuzzObjectReader(f *testing.F) {
	for _, body := range bodies {
		f.Add([]byte(body))
		f.Add([]byte("[" + body + ",\n{\"ab\": " + body + "}]"))
	}
	f.Add([]byte("[" + strings.Repeat("{\"name\": \"å\"},\n", 2000) + "{\"name\" 1}]"))
	f.Add([]byte("[" + strings.Repeat(" {\"n\": [1, 2]} ,", 2000) + "{\"n\": \"\xff\"}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		limits := Limits{Depth: 64, Objects: 3000}
		want, _, wrong := DecodeObjects(data, limits)
		got, err := readObjects(bytes.NewReader(data), limits)
		if (err == nil) != (wrong == nil) {
			t.Fatalf("from a file: %v; from memory: %v", err, wrong)
		}
		if err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("from a file: %v; from memory: %v", got, want)
		}
		var a, b *message.Error
		if errors.As(err, &a) && (!errors.As(wrong, &b) || !reflect.DeepEqual(a, b)) {
			t.Fatalf("from a file: %v %v; from memory: %v %v", a, a.Messages[0].Params(), wrong, b.Messages[0].Params())
		}
	})
}

func TestObjectReaderLimits(t *testing.T) {
	limits := Limits{Object: 100, Objects: 3}
	just := `{"a":"` + strings.Repeat("x", 92) + `"}`
	space := strings.Repeat(" ", maxSpace/2)
	for _, c := range []struct {
		body string
		def  *message.Definition
		want string
	}{
		{"[" + just + "," + space + just + ", " + just + space + "]", nil, ""},
		{just, nil, ""},
		{"[" + just + `,{"a":"` + strings.Repeat("x", 93) + `"}]`, message.ObjectTooLarge, "index=1 limit=100"},
		{`{"a":"` + strings.Repeat("x", 93) + `"}`, message.ObjectTooLarge, "limit=100"},
		// Endless input is not read to its end.
		{"[{}," + strings.Repeat(" ", 2*maxSpace), message.ObjectTooLarge, "index=1 limit=100"},
		{`[{},{"a":"` + strings.Repeat("x", 2*maxSpace), message.ObjectTooLarge, "index=1 limit=100"},
		{`[{},{"a":1` + strings.Repeat("0", 2*maxSpace), message.ObjectTooLarge, "index=1 limit=100"},
		{`[{},{"a":[` + strings.Repeat("0,", maxSpace), message.ObjectTooLarge, "index=1 limit=100"},
		{strings.Repeat(" ", 2*maxSpace) + "[]", message.ObjectTooLarge, "limit=100"},
		{"[{},{},{},{}]", message.TooManyObjects, "limit=3"},
	} {
		_, err := readObjects(strings.NewReader(c.body), limits)
		if c.def == nil {
			if err != nil {
				t.Errorf("%.40s: %v", c.body, err)
			}
			continue
		}
		checkMessage(t, c.body[:min(len(c.body), 40)], err, c.def, c.want)
	}
}

var errBroken = errors.New("broken")

// brokenFile cannot be read after its text.
type brokenFile struct{ text string }

func (f brokenFile) ReadAt(p []byte, at int64) (int, error) {
	if at >= int64(len(f.text)) {
		return 0, errBroken
	}
	n := copy(p, f.text[at:])
	return n, nil
}

// A file that cannot be read is not an error of the client.
func TestObjectReaderBrokenFile(t *testing.T) {
	for _, text := range []string{"", "[", `[{"a": 1}`, `[{"a": "b`, "[{}]"} {
		_, err := readObjects(brokenFile{text}, DefaultLimits)
		var fault *message.Error
		if !errors.Is(err, errBroken) || errors.As(err, &fault) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
