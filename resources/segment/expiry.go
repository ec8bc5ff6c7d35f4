package segment

import (
	"maps"
	"math"
	"time"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/resources/catalogue"
)

const (
	fixedDuration = "FIXED_DURATION"
	active        = "ACTIVE"
	archived      = "ARCHIVED"
)

var units = map[string]time.Duration{"Minutes": time.Minute, "Hours": time.Hour, "Days": 24 * time.Hour}

// maxTime is the last moment that can be stored.
var maxTime = time.Date(9999, time.December, 31, 23, 59, 59, 999e6, time.UTC)

// settleExpiry sets the time at which a segment becomes ARCHIVED, and archives it
// when that has passed.
//
// A client's write that changes the segment restarts its time to live. One that changes
// nothing leaves the time as it is, unless it has passed: then it restarts, too, and
// the segment is ACTIVE unless the client sets its state. An ARCHIVED segment
// keeps the time at which it was archived, and never has a later one.
func settleExpiry(now time.Time, c *engine.Change, zones *zones) error {
	expired := hasExpired(c.Before, now)
	if c.Internal() {
		if expired {
			c.After["state"] = archived
			c.SetCause(message.CauseTime, message.Params{"field": "/" + Expiry, "time": c.After[Expiry]})
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
	if !expired && !hasChanges(c) {
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
	case until.After(maxTime):
		c.Refuse(catalogue.SegmentLifeTooLong, "/ttlNumber", nil)
	default:
		c.After[Expiry] = document.FormatTime(until)
	}
	return nil
}

// hasExpired reports whether the life of a segment is over.
func hasExpired(object map[string]any, now time.Time) bool {
	text, _ := object[Expiry].(string)
	until, ok := document.ParseTime(text)
	return ok && !until.After(now)
}

// hasChanges reports whether a write changes a segment.
func hasChanges(c *engine.Change) bool {
	return c.Created() || c.State != c.StateBefore ||
		!maps.EqualFunc(c.Before, c.After, func(a, b any) bool { return document.Equal(a, b) })
}

// expiry returns the end of a life that begins now. It reports known as false if
// the segment lacks a property that its schema requires.
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

// fixed returns the time a number of units from now, at least a millisecond. A
// time after maxTime stands for every later one.
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
	if millis > float64(maxTime.UnixMilli()-now.UnixMilli()) {
		return maxTime.Add(time.Millisecond), true
	}
	return time.UnixMilli(now.UnixMilli() + int64(millis)), true
}
