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
// before it, unless it leaves out objects whose owners are in doubt (Page.Doubt), which Noted
// notes in the position.
func (e *Reader) Position(ctx context.Context, caller *access.Caller, f Feed) (string, error) {
	at, err := e.Store.End(ctx)
	if err != nil {
		return "", store.Translate(err)
	}
	return e.positions(caller, f).seal(at, feedBlock), nil
}

// Noted returns a position of any feed of a caller in a network, in which doubt is noted: when
// the owners are certain, Changes answers it with a reset.
func (e *Reader) Noted(caller *access.Caller, network, position string, doubt bool) (string, error) {
	mark := positionMark(caller, network)
	c, err := e.openCursor(position, mark)
	key, ok := c.at.Key.(string)
	if err != nil || !ok {
		return "", message.PositionInvalid.Error(message.Params{"parameter": "position"})
	}
	if doubt {
		c.at.Key = strings.TrimRight(key, certain+doubtful) + doubtful // which a page before may have noted
	}
	return e.sealCursor(mark, &c.at, c.page, feedBlock), nil
}

// certain and doubtful end the keys of positions, which thus have the same length.
const certain, doubtful = ".", "?"

// The lengths of positions that are encrypted are multiples of these. That of a store's position may
// depend on the network of the last change, so that feedBlock has room for any; that of an event is
// known to the reader.
const feedBlock, eventBlock = store.MaxPositionBytes + 100, 64

// positions seals the positions of a feed. Those of the store are the same for all callers, and
// count what others write, so that callers get them encrypted. They hold for one caller and feed,
// and name the rights of the caller: with others, the caller sees other objects, which no change
// announces.
type positions struct {
	e *Reader
	// feed is a digest of what the feed is restricted to.
	mark, feed, rights string
	// since is when a reader that began with the oldest change did so, in minutes of Unix
	// time, and otherwise 0. What the caller has lost sight of before, the reader has not been shown,
	// and the caller may never have seen.
	since int
	// doubt reports that the reader lacks objects whose owners were in doubt.
	doubt bool
}

// sinceMargin is more than the time by which a change can be committed after its time.
const sinceMargin = 5 * time.Minute

// shown reports whether the reader may have been shown an object before a change.
func (p positions) shown(before *store.Change) bool {
	return before.Time.Add(sinceMargin).Unix()/60 >= int64(p.since)
}

func (e *Reader) positions(caller *access.Caller, f Feed) positions {
	return positions{e: e, mark: positionMark(caller, f.Network), feed: digestOf(strings.Join(f.names(), ",") + "\x00" + f.ID), rights: e.Rights(caller, f)}
}

func positionMark(caller *access.Caller, network string) string {
	return strings.Join([]string{"changes", caller.Account(), network}, "\x00")
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

func (p positions) seal(at string, block int) string {
	doubt := certain
	if p.doubt {
		doubt = doubtful
	}
	return p.e.sealCursor(p.mark, &query.Position{Key: p.feed + p.rights + doubt, ID: at}, p.since, block)
}

// open returns the position of the store, and RightsChanged if the caller has other rights than
// then.
func (p *positions) open(sealed string) (at string, reset Reset, err error) {
	if sealed == Beginning {
		p.since = int(p.e.Now().Unix() / 60)
		return "", "", nil
	}
	c, err := p.e.openCursor(sealed, p.mark)
	key, _ := c.at.Key.(string)
	rights, same := strings.CutPrefix(key, p.feed)
	if err != nil || !same {
		return "", "", message.PositionInvalid.Error(message.Params{"parameter": "after"})
	}
	p.since = c.page
	if rights, p.doubt = strings.CutSuffix(rights, doubtful); strings.TrimSuffix(rights, certain) != p.rights {
		reset = RightsChanged
	}
	return c.at.ID, reset, nil
}
