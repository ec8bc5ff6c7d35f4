package record

import (
	"cmp"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"marquee/engine/store"
)

// Change decodes a stored change, whose position in the history is its id. Ids are ordered: a
// transaction's changes come after those that it has seen.
func Change(raw bson.Raw) (c store.Change, err error) {
	err = changeMembers(&c, raw)
	c.Revision = cmp.Or(c.Revision, c.Version)
	return c, err
}

// changeMembers decodes members of a change, or those of a member that is a document.
func changeMembers(c *store.Change, doc []byte) error {
	for rest := members(doc); len(rest) > 1; {
		name, kind, value, next, err := element(rest)
		if err != nil {
			return err
		}
		rest = next
		ok := true
		switch string(name) {
		case FieldID:
			err = changeMembers(c, value)
		case "network":
			c.Network, ok = text(kind, value)
		case "id":
			c.Position, ok = text(kind, value)
		case "time":
			c.Time, ok = instant(kind, value)
		case "feed": // the object of a FeedOnly change
			err = changeMembers(c, value)
			c.FeedOnly = c.ID != ""
		case "collection":
			c.Collection, ok = text(kind, value)
		case "object":
			c.ID, ok = text(kind, value)
		case FieldRevision:
			c.Revision, ok = integer(kind, value)
		case FieldVersion:
			c.Version, ok = integer(kind, value)
		case "user":
			c.User, ok = text(kind, value)
		case "fields":
			c.Fields, err = jsonOf(kind, value)
		case "cause":
			c.Cause, err = jsonOf(kind, value)
		case "owner":
			c.Owner, ok = text(kind, value)
		case "notices":
			c.Notices, err = jsonOf(kind, value)
		}
		if err == nil && !ok {
			err = &foreignError{kind: kind}
		}
		if err != nil {
			return within(err, string(name))
		}
	}
	return nil
}

// OfCollections is the condition that a change belongs to one of some
// collections. Before is the prefix of the field.
func OfCollections(before string, collections []string) bson.E {
	in := bson.D{{Key: "$in", Value: collections}}
	return bson.E{Key: "$or", Value: bson.A{bson.D{{Key: before + "collection", Value: in}}, bson.D{{Key: before + "feed.collection", Value: in}}}}
}

// jsonOf returns a value as JSON.
func jsonOf(kind bsoncore.Type, value []byte) ([]byte, error) {
	w := jsonWriter{out: make([]byte, 0, len(value)+len(value)/4)}
	err := w.value(kind, value)
	return w.out, err
}

// AppendChange appends the members of a change. The object of a FeedOnly change
// is stored below "feed", outside the indexes of the history.
func AppendChange(dst []byte, id string, c *store.Change) ([]byte, error) {
	dst = AppendID(dst, store.Key{Network: c.Network, ID: id})
	dst = bsoncore.AppendDateTimeElement(dst, "time", c.Time.UnixMilli())
	object := bsoncore.AppendStringElement(bsoncore.AppendStringElement(nil, "collection", c.Collection), "object", c.ID)
	if c.FeedOnly {
		dst = bsoncore.BuildDocumentElement(dst, "feed", object)
	} else {
		dst = append(dst, object...)
	}
	dst = bsoncore.AppendInt64Element(dst, FieldRevision, cmp.Or(c.Revision, c.Version))
	dst = bsoncore.AppendInt64Element(dst, FieldVersion, c.Version)
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
