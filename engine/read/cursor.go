package read

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"math"
	"strings"

	"marquee/engine/access"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// maxCursorKey bounds the text in a cursor, which must fit in a request line. Of a
// longer key a cursor holds the beginning and a digest, and the rest is read again
// from the object.
const maxCursorKey = 1 << 10

// cursor is the content of nextCursor: the list it belongs to, and the position at
// which the previous page ended.
type cursor struct {
	at   query.Position
	page int
	// digest is set when at holds only the beginning of the key.
	digest string
}

// listMark returns the text that ties a cursor to its list. That of an anonymous caller does
// not depend on the network: otherwise, whether a cursor is valid would reveal which
// networks there are.
func listMark(caller *access.Caller, t *schema.Type, network string, l *Listing) string {
	if caller.Anonymous {
		network = ""
	}
	return digestOf(t.Name + "\x00" + network + "\x00" + l.Mark)
}

func digestOf(text string) string {
	digest := sha256.Sum256([]byte(text))
	return hex.EncodeToString(digest[:8])
}

func makeCursor(mark string, at *query.Position, page int) string {
	members := map[string]any{"q": mark, "k": at.Key, "i": at.ID, "p": int64(page)}
	if text, ok := at.Key.(string); ok && len(text) > maxCursorKey {
		members["k"], members["h"] = strings.ToValidUTF8(text[:maxCursorKey], ""), digestOf(text)
	}
	return base64.RawURLEncoding.EncodeToString(document.Append(nil, members))
}

func parseCursor(text, mark string) (cursor, error) {
	invalid := message.CursorInvalid.Error(message.Params{"parameter": "cursor"})
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return cursor{}, invalid
	}
	members, err := document.DecodeObject(decoded, document.Limits{Depth: 2})
	if err != nil || members["q"] != mark {
		return cursor{}, invalid
	}
	return cursorOf(members)
}

// cursorOf returns the cursor with the members.
func cursorOf(members map[string]any) (cursor, error) {
	invalid := message.CursorInvalid.Error(message.Params{"parameter": "cursor"})
	id, ok := members["i"].(string)
	page, numbered := members["p"].(int64)
	if !ok || !numbered || page < 0 || page >= math.MaxInt32 {
		return cursor{}, invalid
	}
	switch members["k"].(type) {
	case []any, map[string]any:
		return cursor{}, invalid
	}
	digest, _ := members["h"].(string)
	return cursor{query.Position{Key: members["k"], ID: id}, int(page), digest}, nil
}

// resume returns the position of a cursor. If the key of its object is too long for a
// cursor and has changed since, the list continues before all keys with the same
// beginning: objects may be repeated but none is left out.
func (e *Reader) resume(ctx context.Context, caller *access.Caller, c cursor, t *schema.Type, q *query.Query) (*query.Position, error) {
	beginning, cut := c.at.Key.(string)
	if c.digest == "" || !cut {
		return &c.at, nil
	}
	after := query.Position{Key: beginning}
	if q.Order.Descending {
		after.Key = beginning + "\U0010ffff"
	}
	err := e.snapshot(ctx, func(s store.Snapshot) error {
		visible, err := e.newView(caller, q.Network, nil).visible(ctx, s, t, q.Network)
		if err != nil {
			return err
		}
		return access.GetVisible(ctx, s, store.Place{Collection: t.Name, Network: q.Network}, []string{c.at.ID}, visible, func(r *store.Record) error {
			if key, ok := store.PositionOf(q.Order.Field, r).Key.(string); ok && digestOf(key) == c.digest {
				after = query.Position{Key: key, ID: c.at.ID}
			}
			return nil
		})
	})
	return &after, store.Translate(err)
}
