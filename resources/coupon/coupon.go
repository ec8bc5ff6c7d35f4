// Package coupon computes until when a coupon can be used. It may import the
// engine and catalogue; begin with Hooks.
package coupon

import (
	"context"
	"time"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/resources/catalogue"
)

// Hooks returns the hook that sets usableUntil from the other properties of a
// coupon. The value is stored so that lists can filter and order by it.
func Hooks() map[string]engine.Hooks {
	return map[string]engine.Hooks{"coupons": {BeforeValidate: engine.Each(setUsableUntil)}}
}

func setUsableUntil(_ context.Context, _ *engine.Writing, c *engine.Change) error {
	if until, known := usableUntil(c); known {
		c.After["usableUntil"] = document.FormatTime(until)
	}
	return nil
}

// usableUntil reports known as false if a property that the value depends on is
// missing; the schema rejects such a coupon.
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

// expiry returns the end of the expiry period, which begins at validFrom. It
// refuses a period whose end is too late to be stored.
func expiry(c *engine.Change) (end time.Time, known bool) {
	text, _ := c.After["expiry"].(string)
	period, valid := document.ParseDuration(text)
	from, begins := timeAt(c, "validFrom")
	if !valid || !begins {
		return time.Time{}, false
	}
	end, reached := period.After(from)
	if !reached {
		c.Refuse(catalogue.CouponExpiry, "/expiry", nil)
	}
	return end, reached
}

func timeAt(c *engine.Change, property string) (time.Time, bool) {
	text, _ := c.After[property].(string)
	return document.ParseTime(text)
}
