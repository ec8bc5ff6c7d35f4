package read

import (
	"context"
	"time"

	"marquee/engine/access"
	"marquee/engine/message"
	"marquee/engine/store"
)

// Include is what events have besides what identifies a change.
type Include string

const (
	IncludeChanges Include = "changes"
	IncludeObject  Include = "object"
	IncludeNone    Include = "none"
)

// ChangesQuery asks for the changes of a feed.
type ChangesQuery struct {
	Feed
	// After is a position of the feed, or Beginning. Without it, the answer is only a position.
	After   string
	Include Include
	// Limit and Bytes bound the events. One event may be larger.
	Limit, Bytes int
	// Waiter, if set, has been woken: the changes may be those that its follower has read, which can
	// lack the last ones.
	Waiter *Waiter
}

// Events are some changes of a feed, in commit order.
type Events struct {
	List []Event
	// Position is behind the events.
	Position string
	// More reports that more events may follow at once. Doubt reports that some follow, or a reset,
	// as soon as it is certain who sees which objects.
	More, Doubt bool
	// Reset is not "" if the caller has to read the objects again.
	Reset Reset
}

// Reset is the reason why no change says what has happened since a position.
type Reset string

const (
	// RightsChanged reports that the caller sees other objects than at the position, or others
	// of their properties.
	RightsChanged Reset = "RIGHTS_CHANGED"
	// OwnersInDoubt reports that a list from which the caller follows left out objects because
	// their owners were in doubt, which are certain now.
	OwnersInDoubt Reset = "OWNERS_IN_DOUBT"
	// PositionTooOld reports that changes after the position have been removed.
	PositionTooOld Reset = "POSITION_TOO_OLD"
)

// Event is a change as a caller sees it, as JSON, with the position behind it.
type Event struct {
	Position string
	JSON     []byte
}

const (
	// changesAtOnce is the number of changes that are read at once, unless more are asked for:
	// MongoDB begins a large transaction anew for each read of a part of its changes.
	changesAtOnce = 500
	// leastEvent is less than the size of an event, of which the position is the longest part.
	leastEvent = 512
	// changesTime is the time after which a read of changes ends, although none was found
	// that the caller sees.
	changesTime = 10 * time.Second
)

// Changes returns the changes after a position, as far as the caller sees the objects now. Of an
// object whose owners have changed, those who no longer see it get an event of kind left, and
// those who see it since then get the object.
func (e *Reader) Changes(ctx context.Context, caller *access.Caller, q ChangesQuery) (Events, error) {
	if err := e.mayFollow(caller, q.Feed); err != nil {
		return Events{}, err
	}
	p := e.positions(caller, q.Feed)
	at, reset, err := p.open(q.After)
	if err == nil && reset == "" && p.doubt {
		var hides bool
		if hides, err = e.hides(ctx, caller, q.Feed); !hides {
			reset = OwnersInDoubt
		}
	}
	if q.After == "" || err == nil && reset != "" {
		return e.begin(ctx, caller, q, reset)
	}
	if err != nil {
		return Events{}, err
	}
	f := &feeding{e: e, caller: caller, q: q, positions: p, at: at}
	most := changesTime
	if deadline, ok := ctx.Deadline(); ok {
		most = min(most, time.Until(deadline)/2)
	}
	for begun := time.Now(); ; {
		r, more, err := f.read(ctx)
		switch code, _ := store.CodeOf(err); code {
		case store.CodeBadPosition:
			return Events{}, message.PositionInvalid.Error(message.Params{"parameter": "after"})
		case store.CodeTooOld:
			return e.begin(ctx, caller, q, PositionTooOld)
		}
		if err != nil {
			return Events{}, store.Translate(err)
		}
		if err := f.add(ctx, r.changes); err != nil {
			return Events{}, store.Translate(err)
		}
		if f.More = more; f.full || f.Doubt {
			if f.More = f.full; f.full && !r.read.IsZero() {
				f.keepRest(r)
			}
			break
		}
		if f.at = r.next; !f.More || time.Since(begun) > most {
			break
		}
	}
	f.Position = p.seal(f.at, feedBlock)
	f.Doubt = f.Doubt || p.doubt
	return f.Events, nil
}

// begin returns the position of now, with a reset if there was another one.
func (e *Reader) begin(ctx context.Context, caller *access.Caller, q ChangesQuery, reset Reset) (Events, error) {
	now, err := e.Position(ctx, caller, q.Feed)
	if q.After == "" {
		reset = ""
	}
	return Events{Position: now, Reset: reset}, err
}

// hides reports whether the caller does not see objects of a feed because their owners are in
// doubt.
func (e *Reader) hides(ctx context.Context, caller *access.Caller, f Feed) (hides bool, err error) {
	types := f.Types
	if len(types) == 0 {
		types = e.Registry().Types()
	}
	err = e.snapshot(ctx, func(s store.Snapshot) error {
		v := e.newView(caller, f.Network, nil)
		hides = false
		for i := 0; i < len(types) && !hides; i++ {
			if _, err := v.visibleOtherwise(ctx, s, types[i], f.Network); err != nil {
				return err
			}
			if hides, err = v.hides(ctx, s, types[i], nil); err != nil {
				return err
			}
		}
		return nil
	})
	return hides, store.Translate(err)
}
