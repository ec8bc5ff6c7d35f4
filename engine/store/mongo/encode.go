package mongo

import (
	"errors"
	"math"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"marquee/engine/document"
	"marquee/engine/store"
)

var errNotCanonical = errors.New("a document is not in canonical form")

// appendJSON writes the JSON value that begins at i as a BSON element, and
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

// appendObject writes the members of the JSON object that begins at i.
func appendObject(dst []byte, doc []byte, i int) ([]byte, int, error) {
	start, dst := bsoncore.AppendDocumentStart(dst)
	var err error
	for i++; doc[i] != '}'; {
		name := escapeName(document.Text(doc, i))
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

// fromJSON is a JSON object or array as BSON.
func fromJSON(doc []byte) (bson.Raw, error) {
	var out []byte
	var err error
	if doc[0] == '[' {
		out, _, err = appendArray(nil, doc, 0)
	} else {
		out, _, err = appendObject(make([]byte, 0, len(doc)+len(doc)/2+16), doc, 0)
	}
	return out, err
}

// idOf is the _id of what belongs to a key. Its members are always in this
// order, as BSON documents are compared with it.
func idOf(key store.Key) bson.Raw {
	start, id := bsoncore.AppendDocumentStart(make([]byte, 0, len(key.Network)+len(key.ID)+32))
	id = bsoncore.AppendStringElement(id, "network", key.Network)
	id = bsoncore.AppendStringElement(id, "id", key.ID)
	id, _ = bsoncore.AppendDocumentEnd(id, start)
	return id
}

// termText is how a term is stored: a key holds no equals sign.
func termText(term store.Term) string { return term.Key + "=" + term.Value }

func termTexts(terms []store.Term) bson.A {
	texts := make(bson.A, 0, len(terms))
	for _, term := range terms {
		texts = append(texts, termText(term))
	}
	return texts
}

// uniqueTexts are terms without repetition, as a set of a new record.
func uniqueTexts(terms []store.Term) bson.A {
	texts, seen := make(bson.A, 0, len(terms)), make(map[store.Term]bool, len(terms))
	for _, term := range terms {
		if !seen[term] {
			seen[term] = true
			texts = append(texts, termText(term))
		}
	}
	return texts
}
