package read

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"marquee/engine/access"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Feed is what a reader of changes follows: the objects of a network or, if it is "", those
// of global types.
type Feed struct {
	Network string
	// Types restricts the feed, to one object if ID is not "".
	Types []*schema.Type
	ID    string
}

// unfollowed are the global types without a feed. Their history requires rights that depend on
// the object.
var unfollowed = []string{"users", "networks"}

// Followed reports whether the changes of a type have a feed.
func Followed(t *schema.Type) bool { return !slices.Contains(unfollowed, t.Name) }

// names returns the names of the types that restrict the feed.
func (f Feed) names() []string {
	names := make([]string, len(f.Types))
	for i, t := range f.Types {
		names[i] = t.Name
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// mayFollow returns an error of kind Forbidden unless the caller may read the history of the
// types. That of a global type takes a right that the caller has in some network.
func (e *Reader) mayFollow(caller *access.Caller, f Feed) error {
	if f.Network != "" {
		return e.access.MayReadHistory(caller, nil, f.Network, f.ID)
	}
	types := f.Types
	if len(types) == 0 {
		types = slices.DeleteFunc(e.Registry().Types(), func(t *schema.Type) bool { return !t.Global || !Followed(t) })
	}
	for _, t := range types {
		err := e.access.MayReadHistory(caller, t, "", "")
		for network := range caller.Grants {
			if err != nil {
				err = e.access.MayReadHistory(caller, t, network, "")
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Beginning is the position before the oldest change that is kept.
const Beginning = "begin"

// Position returns a position at the end of a feed. A read that begins later sees every change
// before it.
func (e *Reader) Position(ctx context.Context, caller *access.Caller, f Feed) (string, error) {
	at, err := e.Store.End(ctx)
	if err != nil {
		return "", store.Translate(err)
	}
	return e.positions(caller, f).seal(at), nil
}

// positions seals the positions of a feed. Those of the store are the same for all callers, and
// count what others write, so that callers get them encrypted. They hold for one caller and feed,
// and name the rights of the caller: with others, the caller sees other objects, which no change
// announces.
type positions struct {
	e            *Reader
	mark, rights string
	// since is when a reader that began with the oldest change did so, in minutes of Unix
	// time, and otherwise 0. What the caller has lost sight of before, the reader has not been shown,
	// and the caller may never have seen.
	since int
}

// sinceMargin is more than the time by which a change can be committed after its time.
const sinceMargin = 5 * time.Minute

// shown reports whether the reader may have been shown an object before a change.
func (p positions) shown(before *store.Change) bool {
	return before.Time.Add(sinceMargin).Unix()/60 >= int64(p.since)
}

func (e *Reader) positions(caller *access.Caller, f Feed) positions {
	return positions{e: e, rights: e.Rights(caller, f),
		mark: strings.Join([]string{"changes", caller.Account(), f.Network, strings.Join(f.names(), ","), f.ID}, "\x00")}
}

// Rights returns a digest of what decides which objects of a feed a caller sees, and in which form.
func (e *Reader) Rights(caller *access.Caller, f Feed) string {
	grants := caller.Grants
	if f.Network != "" {
		grants = map[string]access.Grant{f.Network: caller.Grants[f.Network]}
	}
	text, err := json.Marshal(grants)
	if err != nil {
		panic(err)
	}
	digest := sha256.Sum256([]byte(e.Registry().Digest() + strconv.FormatBool(caller.System) + string(text)))
	return hex.EncodeToString(digest[:16])
}

func (p positions) seal(at string) string {
	return p.e.sealCursor(p.mark, &query.Position{Key: p.rights, ID: at}, p.since)
}

// open returns the position of the store, and whether the caller has the same rights as then.
func (p *positions) open(sealed string) (at string, same bool, err error) {
	if sealed == Beginning {
		p.since = int(p.e.Now().Unix() / 60)
		return "", true, nil
	}
	c, err := p.e.openCursor(sealed, p.mark)
	if err != nil {
		return "", false, message.PositionInvalid.Error(message.Params{"parameter": "after"})
	}
	p.since = c.page
	return c.at.ID, c.at.Key == p.rights, nil
}
