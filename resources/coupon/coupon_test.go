package coupon

import (
	"testing"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/schema"
)

// The last moment of use depends on couponEndDateType. Where a property that it needs
// is missing, there is none.
func TestUsableUntil(t *testing.T) {
	const from, early, late = "2026-01-31T12:00:00.000Z", "2026-02-01T00:00:00.000Z", "2026-12-31T00:00:00.000Z"
	for _, c := range []struct {
		name, kind, expiry, validTo, want string
	}{
		{"until validTo", "VALID_TO", "P1M", early, early},
		{"a period from validFrom on", "EXPIRY", "P1D", late, "2026-02-01T12:00:00.000Z"},
		{"the period is later", "GREATEST_OF_EXPIRY_OR_VALID_TO", "P1D", early, "2026-02-01T12:00:00.000Z"},
		{"validTo is later", "GREATEST_OF_EXPIRY_OR_VALID_TO", "P1D", late, late},
		{"no validTo", "VALID_TO", "P1D", "", ""},
		{"no period", "EXPIRY", "", late, ""},
		{"a period without validTo", "GREATEST_OF_EXPIRY_OR_VALID_TO", "P1D", "", ""},
		{"an unknown kind", "NEVER", "P1D", late, ""},
		{"beyond the year 9999", "EXPIRY", "P9000Y", late, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			change := &engine.Change{Type: &schema.Type{Name: "coupons"}}
			change.After = map[string]any{"couponEndDateType": c.kind, "validFrom": from}
			for name, value := range map[string]string{"expiry": c.expiry, "validTo": c.validTo} {
				if value != "" {
					change.After[name] = value
				}
			}
			got := ""
			if until, known := usableUntil(change); known {
				got = document.FormatTime(until)
			}
			if got != c.want {
				t.Errorf("usable until %q, want %q", got, c.want)
			}
		})
	}
}
