package record

import (
	"cmp"
	"errors"
	"math"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"marquee/engine/document"
	"marquee/engine/store"
)

var errNotCanonical = errors.New("a document is not in canonical form")

// appendJSON appends the JSON value that begins at i as a BSON element, and
// returns where the value ends. Integers become int64, other numbers doubles.
func appendJSON(dst []byte, name string, doc []byte, i int) ([]byte, int, error) {
	if i >= len(doc) {
		return dst, i, errNotCanonical
	}
	switch c := doc[i]; c {
	case '{':
		return appendObject(bsoncore.AppendHeader(dst, bsoncore.TypeEmbeddedDocument, name), doc, i)
	case '[':
		return appendArray(bsoncore.AppendHeader(dst, bsoncore.TypeArray, name), doc, i)
	case '"':
		end := document.SkipString(doc, i)
		return bsoncore.AppendStringElement(dst, name, document.Text(doc, i)), end, nil
	case 't':
		return bsoncore.AppendBooleanElement(dst, name, true), i + len("true"), nil
	case 'f':
		return bsoncore.AppendBooleanElement(dst, name, false), i + len("false"), nil
	case 'n':
		return bsoncore.AppendNullElement(dst, name), i + len("null"), nil
	}
	end := document.Skip(doc, i)
	text := string(doc[i:end])
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return bsoncore.AppendInt64Element(dst, name, n), end, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return dst, end, errNotCanonical
	}
	return bsoncore.AppendDoubleElement(dst, name, f), end, nil
}

// appendObject appends the members of the JSON object that begins at i.
func appendObject(dst []byte, doc []byte, i int) ([]byte, int, error) {
	start, dst := bsoncore.AppendDocumentStart(dst)
	var err error
	for i++; doc[i] != '}'; {
		name := Name(document.Text(doc, i))
		if dst, i, err = appendJSON(dst, name, doc, document.SkipString(doc, i)+1); err != nil {
			return dst, i, err
		}
		if doc[i] == ',' {
			i++
		}
	}
	dst, err = bsoncore.AppendDocumentEnd(dst, start)
	return dst, i + 1, err
}

func appendArray(dst []byte, doc []byte, i int) ([]byte, int, error) {
	start, dst := bsoncore.AppendArrayStart(dst)
	var err error
	i++
	for n := 0; doc[i] != ']'; n++ {
		if dst, i, err = appendJSON(dst, strconv.Itoa(n), doc, i); err != nil {
			return dst, i, err
		}
		if doc[i] == ',' {
			i++
		}
	}
	dst, err = bsoncore.AppendArrayEnd(dst, start)
	return dst, i + 1, err
}

// Append appends the members of a new record.
func Append(dst []byte, w *store.Write) ([]byte, error) {
	dst = AppendID(dst, w.Key)
	dst = bsoncore.AppendDateTimeElement(dst, FieldCreateTime, w.CreateTime.UnixMilli())
	dst = bsoncore.AppendStringElement(dst, FieldCreateUser, w.CreateUser)
	terms, ordered := SplitTerms(w.AddTerms)
	dst = appendTerms(dst, FieldTerms, terms)
	dst = appendTerms(dst, FieldOrdered, ordered)
	return appendState(dst, w)
}

// appendState appends the members that every write replaces.
func appendState(dst []byte, w *store.Write) (_ []byte, err error) {
	revision := w.Next()
	dst = bsoncore.AppendInt64Element(dst, FieldRevision, revision)
	dst = bsoncore.AppendInt64Element(dst, FieldVersion, cmp.Or(w.Version, revision))
	dst = bsoncore.AppendStringElement(dst, FieldState, w.State)
	dst = bsoncore.AppendDateTimeElement(dst, FieldUpdateTime, w.UpdateTime.UnixMilli())
	dst = bsoncore.AppendStringElement(dst, FieldUpdateUser, w.UpdateUser)
	if len(w.Warnings) > 0 {
		if dst, _, err = appendJSON(dst, FieldWarnings, w.Warnings, 0); err != nil {
			return dst, err
		}
	}
	if !w.Same {
		dst, _, err = appendJSON(dst, FieldDocument, w.Document, 0)
	}
	return dst, err
}
