package transfer

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"marquee/engine/message"
)

// csvInput reads the records of a CSV file (RFC 4180), each of which is a line that may
// contain line breaks in quotes. The first one is the header.
type csvInput struct {
	*fileInput
	header []byte
	// comments reports whether lines that begin with # are comments. They are if the
	// first line is one, as in a report of rejected lines: in other files, a value may
	// begin so.
	comments bool
	begun    bool
}

// newCSVInput returns an input that begins at a position, and checks that the bytes before
// that have not changed.
func newCSVInput(r io.Reader, from mark) (*csvInput, error) {
	in, err := newFileInput(r, mark{})
	if err != nil {
		return nil, err
	}
	c := &csvInput{fileInput: in}
	l, err := c.next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("the file has no header: its first line must name the property of each column")
	case err != nil:
		return nil, err
	case l.text == nil:
		return nil, fmt.Errorf("the header is longer than %d bytes", MaxLine)
	case bytes.Contains(bytes.ReplaceAll(l.text, []byte("\r\n"), nil), []byte("\r")):
		return nil, errors.New("its lines end with carriage returns alone: save it with line feeds")
	}
	c.header, c.begun = l.text, from.position > 0
	if !c.begun {
		return c, nil
	}
	if _, err := io.CopyN(in.hash, in.r, from.position-in.at.position); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	in.at.position, in.at.line = from.position, from.line
	if in.mark().sum != from.sum {
		return nil, errChanged
	}
	return c, nil
}

// mark implements input. Before the first record, it is the beginning of the file.
func (in *csvInput) mark() mark {
	if !in.begun {
		return mark{}
	}
	return in.fileInput.mark()
}

// next implements input.
func (in *csvInput) next() (line, error) {
	for {
		l, err := in.fileInput.next()
		if err != nil {
			return l, err
		}
		first := l.number == 1
		if first && (bytes.HasPrefix(l.text, []byte("\xff\xfe")) || bytes.HasPrefix(l.text, []byte("\xfe\xff"))) {
			return l, errors.New("it is in UTF-16: save it as UTF-8")
		}
		comment := len(l.text) > 0 && l.text[0] == '#'
		if in.comments = in.comments || first && comment; in.comments && comment {
			continue
		}
		if err := in.complete(&l); err != nil {
			return l, err
		}
		if l.text != nil && empty(l.text) {
			continue
		}
		in.begun = in.begun || in.header != nil
		return l, nil
	}
}

// complete adds the lines to a record that continue a value in quotes. A value that does
// not end is kept as it is if the file ends, so that the report has all of it; beyond the
// limit of a line it would have to be dropped with what follows.
func (in *csvInput) complete(l *line) error {
	var q quotes
	for open := q.scan(l.text); open; {
		more, err := in.fileInput.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if l.length += more.length; more.text == nil || l.length > MaxLine {
			return fmt.Errorf("the value in quotes that line %d begins does not end within %d bytes: close it, double the quotes in it, or leave the line out", l.number, MaxLine)
		}
		l.text = append(append(l.text, '\n'), more.text...)
		open = q.scan(more.text)
	}
	return nil
}

// empty reports whether a record has no values, as the rows below a table that a
// spreadsheet has saved.
func empty(text []byte) bool { return len(bytes.Trim(text, "\", \t\r\n")) == 0 }

// quotes follows the quotes of a record, as package csv reads them.
type quotes byte

const (
	fieldBegins quotes = iota
	plain              // in a value without quotes, or after one with them
	quoted             // within quotes
	closed             // after a quote within quotes, which ends the value unless another follows
)

// scan reads a line without its end, and reports whether that is within quotes.
func (q *quotes) scan(text []byte) (open bool) {
	for _, c := range text {
		switch {
		case *q == quoted && c == '"':
			*q = closed
		case *q == quoted:
		case *q == closed && c == '"', *q == fieldBegins && c == '"':
			*q = quoted
		case c == ',':
			*q = fieldBegins
		default:
			*q = plain
		}
	}
	if *q != quoted {
		*q = fieldBegins
		return false
	}
	return true
}

// fields returns the values of a record. Number is that of its first line.
func fields(text []byte, number int64) ([]string, *message.Message) {
	fault := func(d *message.Definition, params message.Params) ([]string, *message.Message) {
		m := d.With(params)
		return nil, &m
	}
	if !utf8.Valid(text) {
		before := text[:len(text)-len(bytes.TrimLeftFunc(text, func(r rune) bool { return r != utf8.RuneError }))]
		line := bytes.Count(before, []byte("\n"))
		return fault(message.BodyEncoding, message.Params{"line": number + int64(line), "column": len(before) - bytes.LastIndexByte(before, '\n')})
	}
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord = -1
	record, err := r.Read()
	if err != nil {
		return fault(message.CSVQuote, message.Params{"line": number})
	}
	return record, nil
}

// withoutComment returns the text of a record as a report can have it, where a line that
// begins with # is a comment: its first value is put in quotes.
func withoutComment(text []byte) []byte {
	if !bytes.HasPrefix(text, []byte("#")) {
		return text
	}
	first, rest, more := strings.Cut(string(text), ",")
	quoted := `"` + strings.ReplaceAll(first, `"`, `""`) + `"`
	if more {
		quoted += "," + rest
	}
	return []byte(quoted)
}
