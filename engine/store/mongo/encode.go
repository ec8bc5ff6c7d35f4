package mongo

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"marquee/engine/document"
	"marquee/engine/query"
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

// appendID appends the _id of a key. The order of its members is fixed, because
// BSON documents are compared with it.
func appendID(dst []byte, key store.Key) []byte {
	at, dst := bsoncore.AppendDocumentElementStart(dst, fieldID)
	dst = bsoncore.AppendStringElement(dst, "network", key.Network)
	dst = bsoncore.AppendStringElement(dst, "id", key.ID)
	dst, _ = bsoncore.AppendDocumentEnd(dst, at)
	return dst
}

// idOf returns the value that appendID appends.
func idOf(key store.Key) bson.Raw {
	id := appendID(make([]byte, 0, len(key.Network)+len(key.ID)+40), key)
	return bson.Raw(id[1+len(fieldID)+1:])
}

// appendRecord appends the members of a new record.
func appendRecord(dst []byte, w *store.Write) ([]byte, error) {
	dst = appendID(dst, w.Key)
	dst = bsoncore.AppendDateTimeElement(dst, fieldCreateTime, w.CreateTime.UnixMilli())
	dst = bsoncore.AppendStringElement(dst, fieldCreateUser, w.CreateUser)
	terms, ordered := split(w.AddTerms)
	dst = appendTerms(dst, fieldTerms, terms)
	dst = appendTerms(dst, fieldOrdered, ordered)
	return appendState(dst, w)
}

// appendState appends the members that every write replaces.
func appendState(dst []byte, w *store.Write) (_ []byte, err error) {
	revision := w.Expected + 1
	dst = bsoncore.AppendInt64Element(dst, fieldRevision, revision)
	dst = bsoncore.AppendInt64Element(dst, fieldVersion, cmp.Or(w.Version, revision))
	dst = bsoncore.AppendStringElement(dst, fieldState, w.State)
	dst = bsoncore.AppendDateTimeElement(dst, fieldUpdateTime, w.UpdateTime.UnixMilli())
	dst = bsoncore.AppendStringElement(dst, fieldUpdateUser, w.UpdateUser)
	if len(w.Warnings) > 0 {
		if dst, _, err = appendJSON(dst, fieldWarnings, w.Warnings, 0); err != nil {
			return dst, err
		}
	}
	if !w.Same {
		dst, _, err = appendJSON(dst, fieldDocument, w.Document, 0)
	}
	return dst, err
}

// appendAt appends the filter for a record at a revision, and in a state unless
// that is "". The revision of a record that was stored without one is its version.
func appendAt(dst []byte, key store.Key, revision int64, state string) []byte {
	query, dst := bsoncore.AppendDocumentElementStart(dst, "q")
	dst = appendID(dst, key)
	counted := bsoncore.BuildDocument(nil, bsoncore.AppendInt64Element(nil, fieldRevision, revision))
	uncounted := bsoncore.BuildDocument(nil, bsoncore.AppendInt64Element(bsoncore.AppendNullElement(nil, fieldRevision), fieldVersion, revision))
	dst = bsoncore.BuildArrayElement(dst, "$or", bsoncore.Value{Type: bsoncore.TypeEmbeddedDocument, Data: counted},
		bsoncore.Value{Type: bsoncore.TypeEmbeddedDocument, Data: uncounted})
	if state != "" {
		dst = bsoncore.AppendStringElement(dst, fieldState, state)
	}
	dst, _ = bsoncore.AppendDocumentEnd(dst, query)
	return dst
}

// appendUpdate appends an update of a record at its expected revision.
func appendUpdate(dst []byte, w *store.Write) ([]byte, error) {
	dst = appendAt(dst, w.Key, w.Expected, w.Was)
	if len(w.DropTerms) > 0 && len(w.AddTerms) > 0 {
		return appendPipeline(dst, w)
	}
	update, dst := bsoncore.AppendDocumentElementStart(dst, "u")
	set, dst := bsoncore.AppendDocumentElementStart(dst, "$set")
	dst, err := appendState(dst, w)
	if err != nil {
		return dst, err
	}
	dst, _ = bsoncore.AppendDocumentEnd(dst, set)
	if len(w.Warnings) == 0 {
		dst = bsoncore.BuildDocumentElement(dst, "$unset", bsoncore.AppendStringElement(nil, fieldWarnings, ""))
	}
	switch {
	case len(w.DropTerms) > 0:
		terms, ordered := split(w.DropTerms)
		dst = bsoncore.BuildDocumentElement(dst, "$pullAll", appendTerms(appendTerms(nil, fieldTerms, terms), fieldOrdered, ordered))
	case len(w.AddTerms) > 0:
		terms, ordered := split(w.AddTerms)
		dst = bsoncore.BuildDocumentElement(dst, "$addToSet", appendEach(appendEach(nil, fieldTerms, terms), fieldOrdered, ordered))
	}
	return bsoncore.AppendDocumentEnd(dst, update)
}

// appendPipeline appends an update that both drops and adds terms. Only a
// pipeline can do both to an array, and a second update of the record would
// take as long as the first. The state may be large, so it is encoded in place.
func appendPipeline(dst []byte, w *store.Write) (_ []byte, err error) {
	literal := func(value any) bson.D { return bson.D{{Key: "$literal", Value: value}} }
	changed := bson.D{}
	set := func(name string, drop, add []store.Term) {
		if len(drop)+len(add) > 0 {
			stored := bson.D{{Key: "$ifNull", Value: bson.A{"$" + name, bson.A{}}}}
			kept := bson.D{{Key: "$setDifference", Value: bson.A{stored, literal(termTexts(drop))}}}
			changed = append(changed, bson.E{Key: name, Value: bson.D{{Key: "$setUnion", Value: bson.A{kept, literal(termTexts(add))}}}})
		}
	}
	dropped, droppedOrdered := split(w.DropTerms)
	added, addedOrdered := split(w.AddTerms)
	set(fieldTerms, dropped, added)
	set(fieldOrdered, droppedOrdered, addedOrdered)
	terms, err := bson.Marshal(changed)
	if err != nil {
		return dst, err
	}
	update, dst := bsoncore.AppendArrayElementStart(dst, "u")
	stage, dst := bsoncore.AppendDocumentElementStart(dst, "0")
	replace, dst := bsoncore.AppendDocumentElementStart(dst, "$replaceWith")
	merge, dst := bsoncore.AppendArrayElementStart(dst, "$mergeObjects")
	dst = bsoncore.AppendStringElement(dst, "0", "$$ROOT")
	state, dst := bsoncore.AppendDocumentElementStart(dst, "1")
	value, dst := bsoncore.AppendDocumentElementStart(dst, "$literal")
	if dst, err = appendState(dst, w); err != nil {
		return dst, err
	}
	for _, open := range []int32{value, state} {
		dst, _ = bsoncore.AppendDocumentEnd(dst, open)
	}
	dst = bsoncore.AppendDocumentElement(dst, "2", terms)
	for _, open := range []int32{merge, replace, stage} { // arrays and documents end alike
		dst, _ = bsoncore.AppendDocumentEnd(dst, open)
	}
	if len(w.Warnings) == 0 {
		dst = bsoncore.BuildDocumentElement(dst, "1", bsoncore.AppendStringElement(nil, "$unset", fieldWarnings))
	}
	return bsoncore.AppendArrayEnd(dst, update)
}

// appendTerms appends a set of terms as an array, or nothing for none.
func appendTerms(dst []byte, name string, terms []store.Term) []byte {
	if len(terms) == 0 {
		return dst
	}
	at, dst := bsoncore.AppendArrayElementStart(dst, name)
	for i, text := range termTexts(terms) {
		dst = bsoncore.AppendStringElement(dst, strconv.Itoa(i), text)
	}
	dst, _ = bsoncore.AppendArrayEnd(dst, at)
	return dst
}

// appendEach appends the addition of terms to a set, or nothing for none.
func appendEach(dst []byte, name string, terms []store.Term) []byte {
	if len(terms) == 0 {
		return dst
	}
	return bsoncore.BuildDocumentElement(dst, name, appendTerms(nil, "$each", terms))
}

// split separates the terms with ordered keys, which have a field and an index of
// their own.
func split(terms []store.Term) (plain, ordered []store.Term) {
	if !slices.ContainsFunc(terms, isOrdered) {
		return terms, nil
	}
	for _, term := range terms {
		if isOrdered(term) {
			ordered = append(ordered, term)
		} else {
			plain = append(plain, term)
		}
	}
	return plain, ordered
}

func isOrdered(term store.Term) bool { return strings.HasPrefix(term.Key, query.OrderedKey) }

// termText is the stored form of a term. Keys contain no equals sign.
func termText(term store.Term) string { return term.Key + "=" + term.Value }

// termTexts returns the stored forms of terms, without duplicates.
func termTexts(terms []store.Term) []string {
	texts := make([]string, len(terms))
	for i, term := range terms {
		texts[i] = termText(term)
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// appendChange appends the members of a change. The object of a FeedOnly change
// is stored below "feed", outside the indexes of the history.
func appendChange(dst []byte, id string, c *store.Change) ([]byte, error) {
	dst = appendID(dst, store.Key{Network: c.Network, ID: id})
	dst = bsoncore.AppendDateTimeElement(dst, "time", c.Time.UnixMilli())
	object := bsoncore.AppendStringElement(bsoncore.AppendStringElement(nil, "collection", c.Collection), "object", c.ID)
	if c.FeedOnly {
		dst = bsoncore.BuildDocumentElement(dst, "feed", object)
	} else {
		dst = append(dst, object...)
	}
	dst = bsoncore.AppendInt64Element(dst, fieldRevision, cmp.Or(c.Revision, c.Version))
	dst = bsoncore.AppendInt64Element(dst, fieldVersion, c.Version)
	dst = bsoncore.AppendStringElement(dst, "user", c.User)
	dst, _, err := appendJSON(dst, "fields", c.Fields, 0)
	if err == nil && len(c.Cause) > 0 {
		dst, _, err = appendJSON(dst, "cause", c.Cause, 0)
	}
	if err == nil && c.Owner != "" {
		dst = bsoncore.AppendStringElement(dst, "owner", c.Owner)
		dst, _, err = appendJSON(dst, "notices", c.Notices, 0)
	}
	return dst, err
}
