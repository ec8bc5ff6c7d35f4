package read

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"marquee/engine/access"
	"marquee/engine/document"
	"marquee/engine/history"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// changesView is a view of changes, in histories and notifications.
type changesView struct{ *view }

// shownFields returns the fields of a change as the caller sees them, under the names that
// properties have now.
func (v changesView) shownFields(t *schema.Type, c store.Change) ([]byte, error) {
	fields, err := v.seenFields(t, c)
	if seen := v.seen(t); err == nil && seen.Served() != seen {
		fields, err = history.Rename(fields, seen.ServedPointer)
	}
	return fields, err
}

// seenFields returns the fields of a change as the caller sees them: the type's BeforeRender
// hook is applied to the values, and a property is left out in which nothing changes that the
// caller sees.
func (v changesView) seenFields(t *schema.Type, c store.Change) ([]byte, error) {
	// The stored changes may still contain values that have become secrets or write-only.
	fields, _, err := history.Redact(t.Shape, c.Fields)
	shown := access.HideUnseen(v.seen(t), v.e.hooks[t.Name].BeforeRender)
	if shown == nil || err != nil {
		return fields, err
	}
	decoded, err := document.Decode(fields, document.Limits{Depth: 1000})
	if err != nil {
		return nil, err
	}
	entries, _ := decoded.([]any)
	seen := make([]any, 0, len(entries))
	for _, entry := range entries {
		members, _ := entry.(map[string]any)
		pointer, _ := members["field"].(string)
		changed, err := v.showSides(shown, c, document.UnescapeToken(strings.TrimPrefix(pointer, "/")), members)
		if err != nil {
			return nil, err
		}
		if changed {
			seen = append(seen, entry)
		}
	}
	return document.Append(nil, seen), nil
}

// showSides replaces the values of a changed property by what the caller sees of them,
// and reports whether the caller sees a change. What is shown in place of an absent value
// is left out.
func (v changesView) showSides(shown func(*access.Caller, *store.Record) error, c store.Change, name string, members map[string]any) (bool, error) {
	render := func(object map[string]any) (value any, there bool, err error) {
		record := store.Record{Key: store.Key{Network: c.Network, ID: c.ID}, Document: document.Append(nil, object)}
		if err := shown(v.caller, &record); err != nil {
			return nil, false, err
		}
		rendered, err := document.DecodeObject(record.Document, document.Limits{Depth: 1000})
		value, there = rendered[name]
		return value, there, err
	}
	nothing, shownAlways, err := render(map[string]any{})
	if err != nil {
		return false, err
	}
	held := 0
	for _, side := range []string{"from", "to"} {
		value, there := members[side]
		if !there {
			continue
		}
		value, there, err := render(map[string]any{name: value})
		if err != nil {
			return false, err
		}
		if !there || shownAlways && document.Equal(value, nothing) {
			delete(members, side)
			continue
		}
		members[side] = value
		held++
	}
	hidden := slices.Contains(v.e.hooks[c.Collection].Hidden, name) || v.hidesWithin(c.Collection, name)
	return !hidden || held == 1 || held == 2 && !document.Equal(members["from"], members["to"]), nil
}

// hidesWithin reports whether the caller does not see a property of a type, or a part of it.
func (v changesView) hidesWithin(collection, name string) bool {
	t, served := v.registry.Type(collection)
	return served && v.seen(t) != t && v.seen(t).Shape.Member(name) != t.Shape.Member(name)
}

// hidesParts reports whether the caller does not see a part of the objects of a type.
func (v changesView) hidesParts(name string) bool {
	t, served := v.registry.Type(name)
	return served && !v.caller.System && v.hide(t) != nil
}

// hidesChanges reports whether hidesParts for a type whose changes belong to networks.
func (v changesView) hidesChanges(name string) bool {
	t, served := v.registry.Type(name)
	return served && !t.Global && v.hidesParts(name)
}

// shownParts finds the changes that a caller sees where parts of objects are hidden. A change
// of the hidden part alone is left out, and the others of an object are numbered as if there
// were no more: otherwise, gaps would reveal how often the hidden part has changed. Each page
// takes a walk over all changes of each of its objects.
type shownParts struct {
	v changesView
	// left is the number of changes that remain to be shown, if they are those of one
	// object, and otherwise -1.
	left int64
	// base is the number of changes of the object of the last walk that have been removed from
	// the history. They count as seen, so that numbers never decrease.
	base int64
}

// shows reports whether the caller sees a change.
func (p *shownParts) shows(c *store.Change) (bool, error) {
	if c.Version == 1 || bytes.Equal(c.Fields, noFields) || !p.v.hidesParts(c.Collection) {
		return true, nil
	}
	t, _ := p.v.registry.Type(c.Collection)
	fields, err := p.v.seenFields(t, *c)
	return !bytes.Equal(fields, noFields), err
}

var noFields = []byte("[]")

// begin returns the number of changes that the caller sees, and notes how many remain
// behind the position of a query.
func (p *shownParts) begin(ctx context.Context, s store.Snapshot, q *store.HistoryQuery) (total int64, err error) {
	before, reached := int64(0), q.After == ""
	err = p.walk(ctx, s, store.HistoryQuery{Network: q.Network, Collection: q.Collection, ID: q.ID}, func(c *store.Change) error {
		total++
		if !reached {
			before++
			reached = c.Position == q.After
		}
		return nil
	})
	if err == nil && !reached {
		return 0, message.CursorInvalid.Error(message.Params{"parameter": "cursor"})
	}
	p.left = max(0, total-before-int64(q.Offset)) + p.base
	return total, err
}

// find yields up to limit of the changes that the caller sees.
func (p *shownParts) find(ctx context.Context, s store.Snapshot, q store.HistoryQuery, limit int, yield func(*store.Change) error) error {
	skip := q.Offset
	q.Offset = 0
	err := p.walk(ctx, s, q, func(c *store.Change) error {
		if skip > 0 {
			skip--
			return nil
		}
		if err := yield(c); err != nil {
			return err
		}
		if limit--; limit == 0 {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

var errEnough = errors.New("engine: as many changes as asked for")

// walk yields the changes behind the position of a query that the caller sees.
func (p *shownParts) walk(ctx context.Context, s store.Snapshot, q store.HistoryQuery, yield func(*store.Change) error) error {
	for q.Limit = checkedAtOnce; ; {
		n, last := 0, ""
		err := s.History(ctx, q, func(c *store.Change) error {
			n, last, p.base = n+1, c.Position, c.Version-1
			if shown, err := p.shows(c); err != nil || !shown {
				return err
			}
			return yield(c)
		})
		if err != nil || n < q.Limit {
			return err
		}
		q.After = strings.Clone(last)
	}
}

// number gives a change the number that it has among those of its object that the caller
// sees.
func (p *shownParts) number(ctx context.Context, s store.Snapshot, c *store.Change) error {
	if p == nil {
		return nil
	}
	n := p.left
	if n < 0 {
		if !p.v.hidesParts(c.Collection) {
			return nil
		}
		n, p.base = 1, c.Version-1
		err := p.walk(ctx, s, store.HistoryQuery{Network: c.Network, Collection: c.Collection, ID: c.ID, After: c.Position}, func(*store.Change) error {
			n++
			return nil
		})
		if err != nil {
			return err
		}
		n += p.base
	}
	c.Version, c.Revision = n, n
	return nil
}

// next notes that a change has been shown.
func (p *shownParts) next() {
	if p != nil && p.left >= 0 {
		p.left--
	}
}
