// Package coupon has the rule of coupons that their schema cannot say: until
// when a coupon can be used.
package coupon

import (
	"context"
	"time"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
)

// Hooks keep usableUntil as the other fields of a coupon say. It is stored, so
// that lists can be filtered and ordered by it.
func Hooks() map[string]engine.Hooks {
	return map[string]engine.Hooks{"coupons": {Merged: engine.Each(setUsableUntil)}}
}

func setUsableUntil(_ context.Context, _ *engine.Writing, c *engine.Change) error {
	if until, known := usableUntil(c); known {
		c.After["usableUntil"] = document.FormatTime(until)
	}
	return nil
}

// usableUntil is not known of a coupon that lacks what it follows from, and
// that its schema refuses.
func usableUntil(c *engine.Change) (until time.Time, known bool) {
	validTo, limited := timeAt(c, "validTo")
	switch c.After["couponEndDateType"] {
	case "VALID_TO":
		return validTo, limited
	case "EXPIRY":
		return expiry(c)
	case "GREATEST_OF_EXPIRY_OR_VALID_TO":
		expired, known := expiry(c)
		if validTo.After(expired) {
			expired = validTo
		}
		return expired, known && limited
	}
	return time.Time{}, false
}

// expiry is the end of the expiry period, which begins at validFrom. One that
// no stored time reaches is refused.
func expiry(c *engine.Change) (end time.Time, known bool) {
	text, _ := c.After["expiry"].(string)
	period, valid := document.ParseDuration(text)
	from, begins := timeAt(c, "validFrom")
	if !valid || !begins {
		return time.Time{}, false
	}
	end, reached := period.After(from)
	if !reached {
		c.Refuse(message.CouponExpiry, "/expiry", nil)
	}
	return end, reached
}

func timeAt(c *engine.Change, property string) (time.Time, bool) {
	text, _ := c.After[property].(string)
	return document.ParseTime(text)
}
