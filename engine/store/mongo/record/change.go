package record

import (
	"cmp"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"marquee/engine/store"
)

// storedChange is a stored change. Ids are ordered: a transaction's changes
// come after those that it has seen.
type storedChange struct {
	ID         struct{ Network, ID string } `bson:"_id"`
	Time       bson.DateTime
	Collection string
	Object     string
	// Feed holds the object of a FeedOnly change.
	Feed     struct{ Collection, Object string }
	Revision int64
	Version  int64
	User     string
	Fields   bson.RawValue
	Cause    bson.RawValue
	Owner    string
	Notices  bson.RawValue
}

// Change decodes a stored change, whose position in the history is its id.
func Change(raw bson.Raw) (store.Change, error) {
	var c storedChange
	if err := bson.Unmarshal(raw, &c); err != nil {
		return store.Change{}, err
	}
	fields, err := jsonOf(c.Fields)
	if err != nil {
		return store.Change{}, err
	}
	cause, err := jsonOf(c.Cause)
	if err != nil {
		return store.Change{}, err
	}
	notices, err := jsonOf(c.Notices)
	return store.Change{Position: c.ID.ID, Time: c.Time.Time().UTC(), Network: c.ID.Network, Collection: cmp.Or(c.Collection, c.Feed.Collection), ID: cmp.Or(c.Object, c.Feed.Object),
		Revision: cmp.Or(c.Revision, c.Version), Version: c.Version, User: c.User, FeedOnly: c.Feed.Object != "",
		Owner: c.Owner, Fields: fields, Cause: cause, Notices: notices}, err
}

// OfCollections is the condition that a change belongs to one of some
// collections. Before is the prefix of the field.
func OfCollections(before string, collections []string) bson.E {
	in := bson.D{{Key: "$in", Value: collections}}
	return bson.E{Key: "$or", Value: bson.A{bson.D{{Key: before + "collection", Value: in}}, bson.D{{Key: before + "feed.collection", Value: in}}}}
}

// jsonOf returns a value as JSON, nil when it is absent.
func jsonOf(value bson.RawValue) ([]byte, error) {
	if value.IsZero() {
		return nil, nil
	}
	w := jsonWriter{}
	err := w.value(bsoncore.Type(value.Type), value.Value)
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
