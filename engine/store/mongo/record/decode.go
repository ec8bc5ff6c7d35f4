package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"marquee/engine/document"
	"marquee/engine/store"
)

// jsonWriter converts BSON to JSON in one pass.
type jsonWriter struct {
	out []byte
	// disordered reports whether members were not in canonical order. Those
	// that this program wrote are.
	disordered bool
}

// foreignError is a value of a type that JSON does not have.
type foreignError struct {
	kind  bsoncore.Type
	where string
}

func (e *foreignError) Error() string {
	return fmt.Sprintf("a value of the BSON type %s at %s", e.kind, e.where)
}

var errDamaged = &foreignError{where: "an unknown place"}

// object writes the members of a BSON document.
func (w *jsonWriter) object(doc []byte) error {
	w.out = append(w.out, '{')
	var last []byte
	first := true
	for rest := members(doc); len(rest) > 1; {
		name, kind, value, next, err := element(rest)
		if err != nil {
			return err
		}
		rest = next
		if bytes.IndexByte(name, '%') >= 0 {
			name = unescapeName(name)
		}
		if !first {
			w.out = append(w.out, ',')
			w.disordered = w.disordered || bytes.Compare(last, name) >= 0
		}
		first, last = false, name
		w.out = append(appendText(w.out, name), ':')
		if err := w.value(kind, value); err != nil {
			return within(err, string(name))
		}
	}
	w.out = append(w.out, '}')
	return nil
}

func (w *jsonWriter) array(doc []byte) error {
	w.out = append(w.out, '[')
	first := true
	for rest := members(doc); len(rest) > 1; {
		name, kind, value, next, err := element(rest)
		if err != nil {
			return err
		}
		rest = next
		if !first {
			w.out = append(w.out, ',')
		}
		first = false
		if err := w.value(kind, value); err != nil {
			return within(err, string(name))
		}
	}
	w.out = append(w.out, ']')
	return nil
}

func (w *jsonWriter) value(kind bsoncore.Type, value []byte) error {
	switch kind {
	case bsoncore.TypeString:
		w.out = appendText(w.out, value[4:len(value)-1])
	case bsoncore.TypeInt64:
		w.out = strconv.AppendInt(w.out, int64(binary.LittleEndian.Uint64(value)), 10) // #nosec G115 -- BSON integers are two's complement
	case bsoncore.TypeInt32:
		w.out = strconv.AppendInt(w.out, int64(int32(binary.LittleEndian.Uint32(value))), 10) // #nosec G115 -- BSON integers are two's complement
	case bsoncore.TypeDouble:
		f := math.Float64frombits(binary.LittleEndian.Uint64(value))
		if math.IsInf(f, 0) || math.IsNaN(f) {
			return &foreignError{kind: kind}
		}
		w.out = document.Append(w.out, f)
	case bsoncore.TypeBoolean:
		w.out = strconv.AppendBool(w.out, value[0] == 1)
	case bsoncore.TypeNull:
		w.out = append(w.out, "null"...)
	case bsoncore.TypeDateTime:
		at := time.UnixMilli(int64(binary.LittleEndian.Uint64(value))) // #nosec G115 -- BSON integers are two's complement
		w.out = document.AppendString(w.out, document.FormatTime(at))
	case bsoncore.TypeEmbeddedDocument:
		return w.object(value)
	case bsoncore.TypeArray:
		return w.array(value)
	default:
		return &foreignError{kind: kind}
	}
	return nil
}

// appendText appends bytes as a JSON string. Most need no escapes.
func appendText(dst, text []byte) []byte {
	for _, c := range text {
		if c < 0x20 || c == '"' || c == '\\' {
			return document.AppendString(dst, string(text))
		}
	}
	dst = append(dst, '"')
	dst = append(dst, text...)
	return append(dst, '"')
}

// members returns the bytes of a document after its length.
func members(doc []byte) []byte {
	if len(doc) < 5 {
		return nil
	}
	return doc[4:]
}

// element parses one element; value is the bytes after the name.
func element(rest []byte) (name []byte, kind bsoncore.Type, value, next []byte, err error) {
	end := bytes.IndexByte(rest[1:], 0)
	if end < 0 {
		return nil, 0, nil, nil, errDamaged
	}
	kind, name, rest = bsoncore.Type(rest[0]), rest[1:end+1], rest[end+2:]
	size := -1
	switch kind {
	case bsoncore.TypeDouble, bsoncore.TypeInt64, bsoncore.TypeDateTime, bsoncore.TypeTimestamp:
		size = 8
	case bsoncore.TypeInt32:
		size = 4
	case bsoncore.TypeBoolean:
		size = 1
	case bsoncore.TypeNull:
		size = 0
	case bsoncore.TypeString:
		if len(rest) >= 4 {
			size = 4 + int(int32(binary.LittleEndian.Uint32(rest))) // #nosec G115 -- BSON integers are two's complement
		}
	case bsoncore.TypeEmbeddedDocument, bsoncore.TypeArray:
		if len(rest) >= 4 {
			size = int(int32(binary.LittleEndian.Uint32(rest))) // #nosec G115 -- BSON integers are two's complement
		}
	default:
		return name, kind, nil, nil, &foreignError{kind: kind, where: string(name)}
	}
	if size < 0 || size > len(rest) || kind == bsoncore.TypeString && size < 5 {
		return nil, 0, nil, nil, errDamaged
	}
	return name, kind, rest[:size], rest[size:], nil
}

// within prepends a step to the location of an error.
func within(err error, name string) error {
	if foreign, ok := err.(*foreignError); ok {
		where := name
		if foreign.where != "" {
			where += "." + foreign.where
		}
		return &foreignError{kind: foreign.kind, where: where}
	}
	return err
}

// Decoder decodes stored records, one after another, into the same memory.
type Decoder struct {
	record   store.Record
	json     jsonWriter
	warnings []byte
	found    bool // the document of the record
}

// Decode decodes a stored record. The next call reuses the result. Its error is the cause
// for Damaged.
func (d *Decoder) Decode(raw bson.Raw) (*store.Record, error) {
	d.record = store.Record{}
	d.json.out, d.json.disordered = d.json.out[:0], false
	d.found = false
	for rest := members(raw); len(rest) > 1; {
		name, kind, value, next, err := element(rest)
		if err != nil {
			return nil, err
		}
		if err := d.member(string(name), kind, value); err != nil {
			return nil, within(err, string(name))
		}
		rest = next
	}
	if d.record.Revision == 0 {
		d.record.Revision = d.record.Version
	}
	if !d.found || d.record.ID == "" || d.record.Revision < 1 || d.record.Version < 1 || d.record.State == "" {
		return nil, fmt.Errorf("a member is missing or empty: %s, %s, %s or %s", FieldID, FieldVersion, FieldState, FieldDocument)
	}
	if d.json.disordered {
		object, err := document.DecodeObject(d.json.out, document.Limits{Depth: 1000})
		if err != nil {
			return nil, err
		}
		d.json.out = document.Append(d.json.out[:0], object)
	}
	d.record.Document = d.json.out
	return &d.record, nil
}

// member decodes one member of a record.
func (d *Decoder) member(name string, kind bsoncore.Type, value []byte) (err error) {
	ok := true
	switch name {
	case FieldID:
		ok = kind == bsoncore.TypeEmbeddedDocument && d.key(value)
	case FieldRevision:
		d.record.Revision, ok = integer(kind, value)
	case FieldVersion:
		d.record.Version, ok = integer(kind, value)
	case FieldState:
		d.record.State, ok = text(kind, value)
	case FieldCreateTime:
		d.record.CreateTime, ok = instant(kind, value)
	case FieldUpdateTime:
		d.record.UpdateTime, ok = instant(kind, value)
	case FieldCreateUser:
		d.record.CreateUser, ok = text(kind, value)
	case FieldUpdateUser:
		d.record.UpdateUser, ok = text(kind, value)
	case FieldWarnings:
		w := jsonWriter{out: d.warnings[:0]}
		if ok = kind == bsoncore.TypeArray; ok {
			err = w.array(value)
		}
		d.warnings, d.record.Warnings = w.out, w.out
	case FieldDocument:
		if ok = kind == bsoncore.TypeEmbeddedDocument; ok {
			if cap(d.json.out) < len(value) { // a large one would be copied again and again
				d.json.out = make([]byte, 0, len(value)+len(value)/8)
			}
			err = d.json.object(value)
		}
		d.found = true
	}
	if err == nil && !ok {
		err = &foreignError{kind: kind}
	}
	return err
}

// Damaged returns the error for the last record, which Marquee cannot have written.
func (d *Decoder) Damaged(collection string, cause error) error {
	return &store.Error{Code: store.CodeInternal, Cause: cause,
		Text: fmt.Sprintf("the record %q of network %q in collection %s was changed by another program and cannot be read: correct it in the database, or restore it from a backup",
			d.record.ID, d.record.Network, collection)}
}

func (d *Decoder) key(doc []byte) bool {
	for rest := members(doc); len(rest) > 1; {
		name, kind, value, next, err := element(rest)
		if err != nil {
			return false
		}
		rest = next
		var ok bool
		switch string(name) {
		case "network":
			d.record.Network, ok = text(kind, value)
		case "id":
			d.record.ID, ok = text(kind, value)
		}
		if !ok {
			return false
		}
	}
	return true
}

func text(kind bsoncore.Type, value []byte) (string, bool) {
	if kind != bsoncore.TypeString {
		return "", false
	}
	value = value[4 : len(value)-1]
	for _, usual := range [...]string{"ACTIVE", "INACTIVE", "HIDDEN"} { // no copy of these
		if string(value) == usual {
			return usual, true
		}
	}
	return string(value), true
}

func integer(kind bsoncore.Type, value []byte) (int64, bool) {
	switch kind {
	case bsoncore.TypeInt64:
		return int64(binary.LittleEndian.Uint64(value)), true // #nosec G115 -- BSON integers are two's complement
	case bsoncore.TypeInt32:
		return int64(int32(binary.LittleEndian.Uint32(value))), true // #nosec G115 -- BSON integers are two's complement
	}
	return 0, false
}

func instant(kind bsoncore.Type, value []byte) (time.Time, bool) {
	if kind != bsoncore.TypeDateTime {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(binary.LittleEndian.Uint64(value))).UTC(), true // #nosec G115 -- BSON integers are two's complement
}
