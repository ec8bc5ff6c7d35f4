package transfer

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// lines reads an input to its end, and returns the texts and the last position.
func lines(t *testing.T, in input) (texts []string, end mark) {
	t.Helper()
	for {
		l, err := in.next()
		if errors.Is(err, io.EOF) {
			return texts, in.mark()
		}
		if err != nil {
			t.Fatal(err)
		}
		if l.text == nil {
			texts = append(texts, "too long")
			continue
		}
		texts = append(texts, string(l.text))
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", MaxLine)
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"a\nb\n", []string{"a", "b"}},
		{"a\r\n\nb", []string{"a", "", "b"}},
		{"\ufeffa\n\ufeffb", []string{"a", "\ufeffb"}},
		{long + "\r\na", []string{long, "a"}},
		{long + "x\na", []string{"too long", "a"}},
		{long + long + "\na", []string{"too long", "a"}},
	} {
		in, err := newFileInput(strings.NewReader(c.text), mark{})
		if err != nil {
			t.Fatal(err)
		}
		got, end := lines(t, in)
		if strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%.20q has the lines %.40q", c.text, got)
		}
		if end.position != int64(len(c.text)) || end.line != int64(len(c.want)) {
			t.Errorf("%.20q ends at byte %d, line %d", c.text, end.position, end.line)
		}
	}
}

// An input can begin at an earlier position, if what is before it is the same.
func TestLinesFromAPosition(t *testing.T) {
	in, err := newFileInput(strings.NewReader("a\nb\nc\n"), mark{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.next(); err != nil {
		t.Fatal(err)
	}
	from := in.mark()
	rest, err := newFileInput(strings.NewReader("a\nb\nd\n"), from)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := lines(t, rest); strings.Join(got, "") != "bd" {
		t.Errorf("the rest is %q", got)
	}
	for _, changed := range []string{"A\nb\nc\n", "a", ""} {
		if _, err := newFileInput(strings.NewReader(changed), from); !errors.Is(err, errChanged) {
			t.Errorf("%q: %v", changed, err)
		}
	}
}

// A list of waiting lines contains their places, and the input their text. Only
// the first entries of a list count.
func TestWaitingLines(t *testing.T) {
	text := "first\nsecond\nthird\n"
	var list []byte
	for _, p := range []place{{number: 3, offset: 13, length: 6}, {number: 1, offset: 0, length: 6}, {number: 2, offset: 6, length: 7}} {
		list = appendWaiting(list, p)
	}
	got, _ := lines(t, newWaitingInput(bytes.NewReader(list), 2, 0, strings.NewReader(text)))
	if strings.Join(got, " ") != "third first" {
		t.Errorf("the waiting lines are %q", got)
	}
	got, _ = lines(t, newWaitingInput(bytes.NewReader(list), 2, waitingSize, strings.NewReader(text)))
	if strings.Join(got, " ") != "first" {
		t.Errorf("from the second one, they are %q", got)
	}
	if strings.Contains(string(list), "third") {
		t.Error("the list contains the text of a line")
	}
}
