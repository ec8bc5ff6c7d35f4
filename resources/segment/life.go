package segment

import (
	"maps"
	"math"
	"time"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
)

const (
	fixedDuration = "FIXED_DURATION"
	active        = "ACTIVE"
	archived      = "ARCHIVED"
)

var units = map[string]time.Duration{"Minutes": time.Minute, "Hours": time.Hour, "Days": 24 * time.Hour}

// end is the last moment that can be stored.
var end = time.Date(9999, time.December, 31, 23, 59, 59, 999e6, time.UTC)

// settleLife says when a segment becomes ARCHIVED, and makes it so when it is
// time.
//
// The client's writes give it a life that begins now; one that changes nothing
// leaves it the life that it has, until that is over: then it begins anew, and
// the segment is ACTIVE unless the client says otherwise. What is ARCHIVED has
// no time before it, and keeps the one that it was archived at.
func settleLife(now time.Time, c *engine.Change, zones *zones) error {
	expired := reached(c.Before, now)
	if c.Internal() {
		if expired {
			c.After["state"] = archived
		}
		return nil
	}
	if _, given := c.Patch["state"]; expired && !given && c.After["state"] == archived {
		c.After["state"] = active
	}
	if c.After["state"] == archived {
		if !expired {
			delete(c.After, Expiry)
		}
		return nil
	}
	if !expired && !changes(c) {
		return nil
	}
	delete(c.After, Expiry)
	if c.After["ttlSpec"] != true {
		return nil
	}
	until, known, err := expiry(now, c, zones)
	switch {
	case err != nil || !known:
		return err
	case until.After(end):
		c.Refuse(message.SegmentLifeTooLong, "/ttlNumber", nil)
	default:
		c.After[Expiry] = document.FormatTime(until)
	}
	return nil
}

// reached reports whether the life of a segment is over.
func reached(object map[string]any, now time.Time) bool {
	text, _ := object[Expiry].(string)
	until, ok := document.ParseTime(text)
	return ok && !until.After(now)
}

// changes reports whether a write changes anything about a segment.
func changes(c *engine.Change) bool {
	return c.Created() || c.State != c.StateBefore ||
		!maps.EqualFunc(c.Before, c.After, func(a, b any) bool { return document.Equal(a, b) })
}

// expiry is the end of a life that begins now; known is false where the
// segment does not say what its schema demands.
func expiry(now time.Time, c *engine.Change, zones *zones) (until time.Time, known bool, err error) {
	kind, _ := c.After["timeToLiveType"].(string)
	if kind == fixedDuration {
		name, _ := c.After["ttlUnits"].(string)
		until, known = fixed(now, c.After["ttlNumber"], units[name])
		return until, known, nil
	}
	next, known := calendar[kind]
	if !known {
		return time.Time{}, false, nil
	}
	zone, err := zones.of(c.Network)
	if err != nil {
		return time.Time{}, false, err
	}
	return next(now, zone), true, nil
}

// fixed is a number of units later: at least a millisecond, and a moment that
// cannot be stored where it is too much.
func fixed(now time.Time, number any, unit time.Duration) (time.Time, bool) {
	var n float64
	switch v := number.(type) {
	case int64:
		n = float64(v)
	case float64:
		n = v
	}
	if n <= 0 || unit == 0 {
		return time.Time{}, false
	}
	millis := max(1, math.Round(n*float64(unit.Milliseconds())))
	if millis > float64(end.UnixMilli()-now.UnixMilli()) {
		return end.Add(time.Millisecond), true
	}
	return time.UnixMilli(now.UnixMilli() + int64(millis)), true
}
