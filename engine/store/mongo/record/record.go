// Package record converts records and changes to and from the BSON documents that MongoDB
// stores: their members, names, ids and terms, and patterns that match these. It imports
// document, query and store. Begin with Append and Decoder.
package record

import (
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"marquee/engine/store"
)

// The members of a stored record. The object itself is below document.
// FieldLock holds the transaction that last locked the record, or added claims to it.
const (
	FieldID         = "_id"
	FieldRevision   = "revision"
	FieldVersion    = "version"
	FieldState      = "state"
	FieldCreateTime = "createTime"
	FieldUpdateTime = "updateTime"
	FieldCreateUser = "createUser"
	FieldUpdateUser = "updateUser"
	FieldWarnings   = "warnings"
	FieldTerms      = "terms"
	FieldOrdered    = "ordered"
	FieldLock       = "indexed"
	FieldDocument   = "document"

	// KeyNetwork and KeyID are the paths of the members of the _id.
	KeyNetwork = FieldID + ".network"
	KeyID      = FieldID + ".id"
)

// Fields excludes members that no reader needs from a find.
var Fields = bson.D{{Key: FieldTerms, Value: 0}, {Key: FieldOrdered, Value: 0}, {Key: FieldLock, Value: 0}}

// AppendID appends the _id of a key. The order of its members is fixed, because
// BSON documents are compared with it.
func AppendID(dst []byte, key store.Key) []byte {
	at, dst := bsoncore.AppendDocumentElementStart(dst, FieldID)
	dst = bsoncore.AppendStringElement(dst, "network", key.Network)
	dst = bsoncore.AppendStringElement(dst, "id", key.ID)
	dst, _ = bsoncore.AppendDocumentEnd(dst, at)
	return dst
}

// ID returns the value that AppendID appends.
func ID(key store.Key) bson.Raw {
	id := AppendID(make([]byte, 0, len(key.Network)+len(key.ID)+40), key)
	return bson.Raw(id[1+len(FieldID)+1:])
}

// Key returns the key of a stored record.
func Key(raw bson.Raw) store.Key {
	network, _ := raw.Lookup(FieldID, "network").StringValueOK()
	id, _ := raw.Lookup(FieldID, "id").StringValueOK()
	return store.Key{Network: network, ID: id}
}
