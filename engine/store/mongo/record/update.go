package record

import (
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"marquee/engine/store"
)

// appendAt appends the filter for a record at a revision, and in a state unless
// that is "". The revision of a record that was stored without one is its version.
func appendAt(dst []byte, key store.Key, revision int64, state string) []byte {
	query, dst := bsoncore.AppendDocumentElementStart(dst, "q")
	dst = AppendID(dst, key)
	counted := bsoncore.BuildDocument(nil, bsoncore.AppendInt64Element(nil, FieldRevision, revision))
	uncounted := bsoncore.BuildDocument(nil, bsoncore.AppendInt64Element(bsoncore.AppendNullElement(nil, FieldRevision), FieldVersion, revision))
	dst = bsoncore.BuildArrayElement(dst, "$or", bsoncore.Value{Type: bsoncore.TypeEmbeddedDocument, Data: counted},
		bsoncore.Value{Type: bsoncore.TypeEmbeddedDocument, Data: uncounted})
	if state != "" {
		dst = bsoncore.AppendStringElement(dst, FieldState, state)
	}
	dst, _ = bsoncore.AppendDocumentEnd(dst, query)
	return dst
}

// AppendUpdate appends an update of a record at its expected revision.
func AppendUpdate(dst []byte, w *store.Write) ([]byte, error) {
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
		dst = bsoncore.BuildDocumentElement(dst, "$unset", bsoncore.AppendStringElement(nil, FieldWarnings, ""))
	}
	switch {
	case len(w.DropTerms) > 0:
		terms, ordered := SplitTerms(w.DropTerms)
		dst = bsoncore.BuildDocumentElement(dst, "$pullAll", appendTerms(appendTerms(nil, FieldTerms, terms), FieldOrdered, ordered))
	case len(w.AddTerms) > 0:
		terms, ordered := SplitTerms(w.AddTerms)
		dst = bsoncore.BuildDocumentElement(dst, "$addToSet", appendEach(appendEach(nil, FieldTerms, terms), FieldOrdered, ordered))
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
			kept := bson.D{{Key: "$setDifference", Value: bson.A{stored, literal(Terms(drop))}}}
			changed = append(changed, bson.E{Key: name, Value: bson.D{{Key: "$setUnion", Value: bson.A{kept, literal(Terms(add))}}}})
		}
	}
	dropped, droppedOrdered := SplitTerms(w.DropTerms)
	added, addedOrdered := SplitTerms(w.AddTerms)
	set(FieldTerms, dropped, added)
	set(FieldOrdered, droppedOrdered, addedOrdered)
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
		dst = bsoncore.BuildDocumentElement(dst, "1", bsoncore.AppendStringElement(nil, "$unset", FieldWarnings))
	}
	return bsoncore.AppendArrayEnd(dst, update)
}

// AppendRemoval appends the deletion of a record at its expected revision.
func AppendRemoval(dst []byte, w *store.Write) []byte {
	return bsoncore.AppendInt32Element(appendAt(dst, w.Key, w.Expected, w.Was), "limit", 1)
}

// AppendDocument appends the update that replaces the object of a record at its revision.
func AppendDocument(dst []byte, r *store.Record) ([]byte, error) {
	return appendSet(appendAt(dst, r.Key, r.Revision, ""), member{FieldDocument, r.Document})
}

// AppendFields appends the update that replaces the fields and the notices of a change.
func AppendFields(dst []byte, c *store.Change) ([]byte, error) {
	query, dst := bsoncore.AppendDocumentElementStart(dst, "q")
	dst = AppendID(dst, store.Key{Network: c.Network, ID: c.Position})
	dst, _ = bsoncore.AppendDocumentEnd(dst, query)
	if len(c.Notices) == 0 {
		return appendSet(dst, member{"fields", c.Fields})
	}
	return appendSet(dst, member{"fields", c.Fields}, member{"notices", c.Notices})
}

// member is a member of a document, with its value as JSON.
type member struct {
	name  string
	value []byte
}

// appendSet appends the update that sets members.
func appendSet(dst []byte, members ...member) ([]byte, error) {
	update, dst := bsoncore.AppendDocumentElementStart(dst, "u")
	set, dst := bsoncore.AppendDocumentElementStart(dst, "$set")
	for _, m := range members {
		var err error
		if dst, _, err = appendJSON(dst, m.name, m.value, 0); err != nil {
			return dst, err
		}
	}
	dst, _ = bsoncore.AppendDocumentEnd(dst, set)
	return bsoncore.AppendDocumentEnd(dst, update)
}
