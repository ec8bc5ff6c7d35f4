package segment

import (
	"math"
	"testing"
	"time"
	_ "time/tzdata"
)

func inZone(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func TestCalendar(t *testing.T) {
	for _, c := range []struct{ kind, zone, now, want string }{
		{"TODAY", "UTC", "2031-03-05T00:00:00Z", "2031-03-06T00:00:00Z"},
		{"TODAY", "UTC", "2031-03-05T23:59:59.999Z", "2031-03-06T00:00:00Z"},
		{"TODAY", "Asia/Tokyo", "2031-03-05T15:00:00Z", "2031-03-06T15:00:00Z"},
		{"TODAY", "Asia/Tokyo", "2031-03-05T14:59:59Z", "2031-03-05T15:00:00Z"},
		{"TODAY", "Asia/Kathmandu", "2031-03-05T12:00:00Z", "2031-03-05T18:15:00Z"},
		{"TODAY", "UTC", "2031-12-31T12:00:00Z", "2032-01-01T00:00:00Z"},
		// The day on which clocks go forward has 23 hours, the other 25.
		{"TODAY", "Europe/Oslo", "2031-03-30T12:00:00Z", "2031-03-30T22:00:00Z"},
		{"TODAY", "Europe/Oslo", "2031-10-26T12:00:00Z", "2031-10-26T23:00:00Z"},
		// Midnight is skipped in Cairo, and occurs twice in Havana.
		{"TODAY", "Africa/Cairo", "2024-04-25T12:00:00Z", "2024-04-25T22:00:00Z"},
		{"TODAY", "America/Havana", "2024-11-02T12:00:00Z", "2024-11-03T04:00:00Z"},
		// Samoa had no 30th of December in 2011.
		{"TODAY", "Pacific/Apia", "2011-12-30T09:00:00Z", "2011-12-30T10:00:00Z"},
		{"THIS_WEEK", "UTC", "2031-03-03T00:00:00Z", "2031-03-10T00:00:00Z"},
		{"THIS_WEEK", "UTC", "2031-03-09T23:00:00Z", "2031-03-10T00:00:00Z"},
		{"THIS_WEEK", "America/New_York", "2031-03-10T03:59:00Z", "2031-03-10T04:00:00Z"},
		{"THIS_WEEK", "UTC", "2031-12-30T12:00:00Z", "2032-01-05T00:00:00Z"},
		{"THIS_MONTH", "UTC", "2032-02-01T00:00:00Z", "2032-03-01T00:00:00Z"},
		{"THIS_MONTH", "UTC", "2031-12-31T23:59:59Z", "2032-01-01T00:00:00Z"},
		{"THIS_MONTH", "Pacific/Kiritimati", "2031-01-31T10:00:00Z", "2031-02-28T10:00:00Z"},
		{"UNTIL_MONDAY", "UTC", "2031-03-03T00:00:00Z", "2031-03-10T00:00:00Z"},
		{"UNTIL_TUESDAY", "UTC", "2031-03-03T00:00:00Z", "2031-03-04T00:00:00Z"},
		{"UNTIL_WEDNESDAY", "UTC", "2031-03-03T00:00:00Z", "2031-03-05T00:00:00Z"},
		{"UNTIL_THURSDAY", "UTC", "2031-03-07T00:00:00Z", "2031-03-13T00:00:00Z"},
		{"UNTIL_FRIDAY", "UTC", "2031-03-06T23:59:59Z", "2031-03-07T00:00:00Z"},
		{"UNTIL_SATURDAY", "UTC", "2031-03-03T00:00:00Z", "2031-03-08T00:00:00Z"},
		{"UNTIL_SUNDAY", "UTC", "2031-03-09T12:00:00Z", "2031-03-16T00:00:00Z"},
		{"UNTIL_SUNDAY", "Europe/Oslo", "2031-03-30T12:00:00Z", "2031-04-05T22:00:00Z"},
	} {
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		if got := calendar[c.kind](now, inZone(t, c.zone)).UTC().Format(time.RFC3339); got != c.want {
			t.Errorf("%s at %s in %s ends at %s, want %s", c.kind, c.now, c.zone, got, c.want)
		}
	}
}

// The start of each day around a change of clocks is the one found by trying
// every quarter of an hour.
func TestStartOfDay(t *testing.T) {
	day := func(at time.Time, zone *time.Location) string { return at.In(zone).Format(time.DateOnly) }
	tried := 0
	for _, name := range []string{"Europe/Oslo", "Africa/Cairo", "America/Havana", "America/Sao_Paulo", "America/Asuncion", "America/Santiago",
		"Asia/Beirut", "Asia/Gaza", "Asia/Tehran", "Atlantic/Azores", "Australia/Lord_Howe", "Pacific/Apia", "Pacific/Kwajalein"} {
		zone := inZone(t, name)
		for at := time.Date(1975, 1, 1, 12, 0, 0, 0, zone); ; {
			_, change := at.ZoneBounds()
			if change.IsZero() || change.Year() > 2030 {
				break
			}
			year, month, date := change.In(zone).Date()
			for days := -2; days <= 2; days++ {
				tried++
				want := time.Date(year, month, date+days, 0, 0, 0, 0, time.UTC)
				first := want.Add(-40 * time.Hour)
				for day(first, zone) < want.Format(time.DateOnly) {
					first = first.Add(15 * time.Minute)
				}
				if got := startOfDay(year, month, date+days, zone); !got.Equal(first) {
					t.Errorf("%s in %s begins at %s, want %s", want.Format(time.DateOnly), name, got, first.In(zone))
				}
			}
			at = change
		}
	}
	if tried < 2000 {
		t.Errorf("only %d days were tried", tried)
	}
}

func TestFixed(t *testing.T) {
	now := time.Date(2031, 3, 5, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		number any
		unit   string
		want   time.Duration
	}{
		{int64(30), "Days", 30 * 24 * time.Hour}, {0.5, "Days", 12 * time.Hour}, {1.1, "Hours", 66 * time.Minute},
		{int64(1), "Minutes", time.Minute}, {1e-9, "Minutes", time.Millisecond}, {5e-324, "Days", time.Millisecond},
	} {
		if got, known := fixed(now, c.number, units[c.unit]); !known || got.Sub(now) != c.want {
			t.Errorf("%v %s = %v, want %v", c.number, c.unit, got.Sub(now), c.want)
		}
	}
	last := float64(maxTime.UnixMilli()-now.UnixMilli()) / 60_000
	if got, known := fixed(now, last, units["Minutes"]); !known || got.After(maxTime) || maxTime.Sub(got) > time.Second {
		t.Errorf("the longest life ends at %s, want just before %s", got, maxTime)
	}
	for _, number := range []any{last + 1, int64(math.MaxInt64), math.MaxFloat64} {
		if got, known := fixed(now, number, units["Minutes"]); !known || !got.After(maxTime) {
			t.Errorf("%v minutes end at %s, want after %s", number, got, maxTime)
		}
	}
	for _, number := range []any{nil, "1", int64(0), -1.5, true, []any{}} {
		if got, known := fixed(now, number, units["Days"]); known {
			t.Errorf("%v days end at %s, want no result", number, got)
		}
	}
	if _, known := fixed(now, int64(1), units["Weeks"]); known {
		t.Error("a week is a unit")
	}
}
