// Package document holds what can be done with one JSON document without
// knowing a store or the protocol: decoding, encoding, merging, normalising
// after a shape, comparing, and walking its references.
//
// A document is a map[string]any of nil, bool, int64, float64, string, []any
// and map[string]any. An integer of 64 bits is always an int64, however it is
// written, so that 1, 1.0 and 1e0 are one value.
package document

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
	"maps"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"marquee/engine/message"
)

// Limits bound what Decode accepts. Zero means no limit, but for Depth.
type Limits struct {
	// Depth is how many levels of arrays and objects may be nested.
	Depth int
	// Values is how many JSON values a body may hold.
	Values int
	// Object is how many bytes one object of a DecodeObjects array may have.
	Object int
	// Objects is how many objects DecodeObjects takes.
	Objects int
}

// DefaultLimits are the limits of a request body.
var DefaultLimits = Limits{Depth: 64, Values: 250_000, Object: 1 << 20, Objects: 1000}

// Decode reads one JSON value. Syntax, duplicate names, encoding and depth are
// faults of kind Malformed; a number outside the range of a double and the
// character U+0000, which no store keeps faithfully, are of kind Invalid.
func Decode(data []byte, limits Limits) (any, error) {
	d := newDecoder(data, limits)
	value, err := d.value()
	if err == nil {
		err = d.end()
	}
	if err != nil {
		return nil, err
	}
	return value, d.faults.Err()
}

// DecodeObject reads a body that must be one object.
func DecodeObject(data []byte, limits Limits) (map[string]any, error) {
	if limits.Object > 0 && len(data) > limits.Object {
		return nil, message.ObjectTooLarge.Error(message.Params{"limit": limits.Object})
	}
	value, err := Decode(data, limits)
	if err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, message.BodyNotObject.Error(nil)
	}
	return object, nil
}

// DecodeObjects reads a body that is an array of objects, or one object, which
// is an array of one; single tells which it was. Faults carry the index.
func DecodeObjects(data []byte, limits Limits) (objects []map[string]any, single bool, err error) {
	if start := bytes.TrimLeft(data, " \t\r\n"); len(start) > 0 && start[0] == '{' {
		object, err := DecodeObject(data, limits)
		return []map[string]any{object}, true, err
	}
	r := &ObjectReader{d: newDecoder(data, limits)}
	objects = []map[string]any{}
	for {
		switch object, _, err := r.Next(); {
		case err == io.EOF:
			return objects, false, nil
		case err != nil:
			return nil, false, err
		default:
			objects = append(objects, object)
		}
	}
}

// maxNames is how many names of members are kept.
const maxNames = 1000

type decoder struct {
	text *jsontext.Decoder
	// data is what is decoded, or file, which is not held in memory.
	data   []byte
	file   io.ReaderAt
	limits Limits
	values int
	faults message.Faults
	// names are those of the members of a list's objects, as they are quoted.
	names map[string]string
	list  bool
	index int
	start int64
}

func newDecoder(data []byte, limits Limits) *decoder {
	if limits.Depth == 0 {
		limits.Depth = DefaultLimits.Depth
	}
	return &decoder{text: jsontext.NewDecoder(bytes.NewBuffer(data)), data: data, limits: limits}
}

func (d *decoder) value() (any, error) {
	token, err := d.text.ReadToken()
	if err != nil {
		return nil, d.syntax(err)
	}
	if d.values++; d.limits.Values > 0 && d.values > d.limits.Values {
		return nil, message.TooManyValues.Error(message.Params{"limit": d.limits.Values})
	}
	switch token.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return token.Bool(), nil
	case '"':
		s := token.String()
		if strings.IndexByte(s, 0) >= 0 {
			d.faults.Add(message.ValueCharacter.With(d.place()))
		}
		return s, nil
	case '0':
		return d.number(token.String()), nil
	case '[':
		return d.array()
	}
	return d.object()
}

func (d *decoder) enter() error {
	if d.text.StackDepth() > d.limits.Depth {
		return message.BodyTooDeep.Error(message.Params{"limit": d.limits.Depth})
	}
	if d.limits.Object > 0 && d.text.InputOffset()-d.start > int64(d.limits.Object) {
		return message.ObjectTooLarge.Error(d.withIndex(message.Params{"limit": d.limits.Object}))
	}
	return nil
}

func (d *decoder) array() (any, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	items := []any{}
	for {
		if d.text.PeekKind() == ']' {
			if _, err := d.text.ReadToken(); err != nil {
				return nil, d.syntax(err)
			}
			return items, d.enter()
		}
		item, err := d.value()
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
}

func (d *decoder) object() (any, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	members := map[string]any{}
	for {
		if d.text.PeekKind() == '}' {
			if _, err := d.text.ReadToken(); err != nil {
				return nil, d.syntax(err)
			}
			return members, d.enter()
		}
		name, err := d.name()
		if err != nil {
			return nil, d.syntax(err)
		}
		if strings.IndexByte(name, 0) >= 0 {
			d.faults.Add(message.ValueCharacter.With(d.place()))
		}
		if members[name], err = d.value(); err != nil {
			return nil, err
		}
	}
}

// name reads the name of a member. Those of a list's objects are the same, and
// are kept once.
func (d *decoder) name() (string, error) {
	if !d.list {
		token, err := d.text.ReadToken()
		if err != nil {
			return "", err
		}
		return token.String(), nil
	}
	quoted, err := d.text.ReadValue()
	if err != nil {
		return "", err
	}
	name, known := d.names[string(quoted)]
	if !known {
		plain, err := jsontext.AppendUnquote(nil, quoted)
		if err != nil {
			return "", err
		}
		if name = string(plain); len(d.names) < maxNames {
			d.names[string(quoted)] = name
		}
	}
	return name, nil
}

func (d *decoder) number(text string) any {
	if !strings.ContainsAny(text, ".eE") {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	}
	f, _ := strconv.ParseFloat(text, 64)
	if math.IsInf(f, 0) {
		d.faults.Add(message.ValueOutOfRange.With(d.place()))
		return int64(0)
	}
	return Number(f)
}

// Number is the one form of a number: an int64 where the double is an integer
// of 64 bits, else the double.
func Number(f float64) any {
	if f == math.Trunc(f) && f >= -1<<63 && f < 1<<63 {
		return int64(f)
	}
	return f
}

func (d *decoder) end() error {
	next := d.next()
	switch _, err := d.text.ReadToken(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return d.syntax(err)
	}
	return message.BodySyntax.Error(d.position(next))
}

// next is where the next token begins.
func (d *decoder) next() int64 {
	d.text.PeekKind() // so that it is there
	rest := d.text.UnreadBuffer()
	return d.text.InputOffset() + int64(len(rest)-len(bytes.TrimLeft(rest, " \t\r\n,")))
}

// place is where the decoder stands, as the parameters of a fault.
func (d *decoder) place() message.Params { return d.at(string(d.text.StackPointer())) }

// at is a pointer as the parameters of a fault: in a list, relative to the
// object.
func (d *decoder) at(pointer string) message.Params {
	if d.list {
		if _, rest, found := strings.Cut(strings.TrimPrefix(pointer, "/"), "/"); found {
			pointer = "/" + rest
		} else {
			pointer = ""
		}
	}
	return d.withIndex(message.Params{"field": pointer})
}

func (d *decoder) withIndex(params message.Params) message.Params {
	if d.list {
		params["index"] = d.index
	}
	return params
}

// syntax translates a fault of the JSON library.
func (d *decoder) syntax(err error) error {
	var unread *readError
	switch {
	case errors.Is(err, errTooLong):
		return message.ObjectTooLarge.Error(d.withIndex(message.Params{"limit": d.limits.Object}))
	case errors.As(err, &unread):
		return unread
	}
	offset := d.text.InputOffset()
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		offset = syntactic.ByteOffset
	}
	params := d.position(offset)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		maps.Copy(params, d.at(string(syntactic.JSONPointer)))
		return message.BodyDuplicateName.Error(params)
	case d.text.StackDepth() > d.limits.Depth:
		return message.BodyTooDeep.Error(message.Params{"limit": d.limits.Depth})
	case !d.encoded():
		return message.BodyEncoding.Error(params)
	}
	return message.BodySyntax.Error(params)
}

// position is an offset as line and column, in characters.
func (d *decoder) position(offset int64) message.Params {
	line, column := 1, 1
	for c := range d.characters(offset) {
		if column++; c == '\n' {
			line, column = line+1, 1
		}
	}
	return message.Params{"line": line, "column": column}
}

// encoded reports whether all of the input is valid UTF-8.
func (d *decoder) encoded() bool {
	for c, size := range d.characters(math.MaxInt64) {
		if c == utf8.RuneError && size == 1 {
			return false
		}
	}
	return true
}

// characters reads the input again, up to an offset: the characters, and how
// many bytes each has.
func (d *decoder) characters(end int64) iter.Seq2[rune, int] {
	var input io.ReaderAt = bytes.NewReader(d.data)
	if d.file != nil {
		input = d.file
	}
	return func(yield func(rune, int) bool) {
		r := bufio.NewReaderSize(io.NewSectionReader(input, 0, end), 1<<16)
		for {
			c, size, err := r.ReadRune()
			if err != nil || !yield(c, size) {
				return
			}
		}
	}
}
