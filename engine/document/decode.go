// Package document decodes, encodes, normalises, merges and compares single JSON
// documents, and finds the references and secrets in them. It knows neither
// stores nor HTTP, and imports only engine/message. Begin reading with Shape, then
// Decode, Normaliser and Merge, in the order in which a write uses them.
//
// A document is a map[string]any of nil, bool, int64, float64, string, []any
// and map[string]any. A 64-bit integer is always an int64, however it is
// written: 1, 1.0 and 1e0 are the same value.
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

// Limits bound what Decode accepts. Zero means no limit, except for Depth, where
// it means the default.
type Limits struct {
	// Depth is the maximum nesting of arrays and objects.
	Depth int
	// Values is the maximum number of JSON values in a body.
	Values int
	// Object is the maximum size of one object in bytes.
	Object int
	// Objects is the maximum number of objects that DecodeObjects accepts.
	Objects int
	// Interrupt is called at intervals; an error that it returns ends decoding.
	Interrupt func() error
}

// interruptEvery is the number of values between two calls of Interrupt.
const interruptEvery = 1024

// DefaultLimits are the limits of a request body.
var DefaultLimits = Limits{Depth: 64, Values: 250_000, Object: 1 << 20, Objects: 1000}

// Decode decodes one JSON value. Invalid syntax or encoding, duplicate names and
// excessive depth are errors of kind Malformed; a number outside the range of a
// double and the character U+0000, which stores cannot represent, of kind Invalid.
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

// DecodeObject decodes a body that must be one object.
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

// DecodeObjects decodes a body that is an array of objects or, if single is true,
// one object. Errors include the index of the object.
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

// maxNames is the maximum number of cached member names.
const maxNames = 1000

type decoder struct {
	text *jsontext.Decoder
	// The input is data, or file, which is not held in memory.
	data   []byte
	file   io.ReaderAt
	limits Limits
	values int
	faults message.Faults
	// names caches member names of a list of objects by their quoted form.
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
	if d.limits.Interrupt != nil && d.values%interruptEvery == 0 {
		if err := d.limits.Interrupt(); err != nil {
			return nil, err
		}
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

// name reads a member name. The objects of a list usually have the same names,
// which are allocated once.
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

// Number returns a number in its canonical form: an int64 if it is a 64-bit
// integer, otherwise a float64.
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

// next returns the offset of the next token.
func (d *decoder) next() int64 {
	d.text.PeekKind() // fills the buffer
	rest := d.text.UnreadBuffer()
	return d.text.InputOffset() + int64(len(rest)-len(bytes.TrimLeft(rest, " \t\r\n,")))
}

// place returns the current position as message parameters.
func (d *decoder) place() message.Params { return d.at(string(d.text.StackPointer())) }

// at returns a JSON Pointer as message parameters, relative to the object in a
// list.
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

// syntax translates an error of the JSON library.
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

// position returns an offset as line and column, in characters, as message
// parameters.
func (d *decoder) position(offset int64) message.Params {
	line, column := 1, 1
	for c := range d.characters(offset) {
		if column++; c == '\n' {
			line, column = line+1, 1
		}
	}
	return message.Params{"line": line, "column": column}
}

// encoded reports whether the entire input is valid UTF-8.
func (d *decoder) encoded() bool {
	for c, size := range d.characters(math.MaxInt64) {
		if c == utf8.RuneError && size == 1 {
			return false
		}
	}
	return true
}

// characters reads the input again up to an offset, and yields each character
// with its size in bytes.
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
