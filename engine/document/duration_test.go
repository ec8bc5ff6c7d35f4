package document

import (
	"strings"
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	for _, c := range []struct{ from, duration, want string }{
		{"2031-01-01T00:00:00.000Z", "P30D", "2031-01-31T00:00:00.000Z"},
		{"2031-01-01T00:00:00.000Z", "P1W", "2031-01-08T00:00:00.000Z"},
		{"2031-01-01T00:00:00.000Z", "P1Y2M3W4DT5H6M7.089S", "2032-03-26T05:06:07.089Z"},
		{"2031-01-01T00:00:00.000Z", "P1Y3D", "2032-01-04T00:00:00.000Z"},
		{"2031-01-01T00:00:00.000Z", "P14M", "2032-03-01T00:00:00.000Z"},
		{"2031-01-01T12:30:00.500Z", "PT36H", "2031-01-03T00:30:00.500Z"},
		{"2031-01-01T00:00:00.999Z", "PT0,001S", "2031-01-01T00:00:01.000Z"},
		{"2031-01-01T00:00:00.000Z", "P0D", "2031-01-01T00:00:00.000Z"},
		{"2031-01-01T00:00:00.000Z", "PT0S", "2031-01-01T00:00:00.000Z"},
		// The last day of a month replaces a day that it lacks.
		{"2031-01-31T10:00:00.000Z", "P1M", "2031-02-28T10:00:00.000Z"},
		{"2032-01-31T10:00:00.000Z", "P1M", "2032-02-29T10:00:00.000Z"},
		{"2031-01-31T10:00:00.000Z", "P2M", "2031-03-31T10:00:00.000Z"},
		{"2031-01-31T10:00:00.000Z", "P13M1D", "2032-03-01T10:00:00.000Z"},
		{"2032-02-29T00:00:00.000Z", "P1Y", "2033-02-28T00:00:00.000Z"},
		{"2032-02-29T00:00:00.000Z", "P4Y", "2036-02-29T00:00:00.000Z"},
		{"2031-05-31T23:59:59.999Z", "P1MT0.001S", "2031-07-01T00:00:00.000Z"},
		// In UTC, no hour is missing or repeated.
		{"2031-03-30T00:30:00.000Z", "PT1H", "2031-03-30T01:30:00.000Z"},
		{"2031-03-29T01:30:00.000Z", "P1D", "2031-03-30T01:30:00.000Z"},
		// The range of stored times.
		{"9999-12-31T23:59:59.998Z", "PT0.001S", "9999-12-31T23:59:59.999Z"},
		{"9999-12-31T23:59:59.999Z", "PT0.001S", ""},
		{"9999-12-31T00:00:00.000Z", "P1D", ""},
		{"9999-12-01T00:00:00.000Z", "P1M", ""},
		{"2031-01-01T00:00:00.000Z", "P7968Y", "9999-01-01T00:00:00.000Z"},
		{"2031-01-01T00:00:00.000Z", "P7969Y", ""},
		{"0001-01-01T00:00:00.000Z", "P9998Y", "9999-01-01T00:00:00.000Z"},
		{"2031-01-01T00:00:00.000Z", "P" + strings.Repeat("9", 40) + "Y", ""},
		{"2031-01-01T00:00:00.000Z", "P" + strings.Repeat("9", 40) + "W", ""},
		{"2031-01-01T00:00:00.000Z", "PT" + strings.Repeat("9", 40) + "H", ""},
		{"2031-01-01T00:00:00.000Z", "P1000000000000Y1000000000000MT1000000000000S", ""},
		{"2031-01-01T00:00:00.000Z", "PT9223372036854775807S", ""},
		{"2031-01-01T00:00:00.000Z", "PT251477222400S", "9999-12-31T00:00:00.000Z"},
	} {
		from, _ := ParseTime(c.from)
		d, ok := ParseDuration(c.duration)
		if !ok {
			t.Errorf("%s is rejected", c.duration)
			continue
		}
		got := ""
		if end, ok := d.After(from); ok {
			got = FormatTime(end)
		}
		if got != c.want {
			t.Errorf("%s after %s is %q, want %q", c.duration, c.from, got, c.want)
		}
	}
}

func TestDurationsRefused(t *testing.T) {
	for _, s := range []string{"", "P", "PT", "P1", "1D", "P1DT", "p1d", "P-1D", "-P1D", "+P1D", "P1.5D", "P1.5Y", "P1H", "PT1D", "P1D1Y", "P1D1W",
		"PT1S1M", "P1Y1Y", "P 1D", "P1D ", "P1D\n", "30 days", "PT1.S", "PT.5S", "PT1.0123456789S", "P1Y/2031-01-01", "P٣D"} {
		if _, ok := ParseDuration(s); ok {
			t.Errorf("%q is accepted", s)
		}
	}
}

// FuzzDuration checks that a duration ends no earlier than it begins, at a time
// that can be stored unless it is too long, and that a longer one ends no earlier.
func FuzzDuration(f *testing.F) {
	for _, s := range []string{"P1Y2M3W4DT5H6M7.5S", "P1M", "PT999999999999999999999S", "P99999999999W", "P9999Y", "T1M", "P13M30D"} {
		f.Add(s, int64(1_990_000_000_000))
	}
	f.Fuzz(func(t *testing.T, s string, milliseconds int64) {
		from := time.UnixMilli(milliseconds).UTC()
		d, ok := ParseDuration(s)
		if !ok || from.Year() < 1 || from.Year() > 9999 {
			return
		}
		end, ok := d.After(from)
		if !ok {
			return
		}
		stored, storable := ParseTime(FormatTime(end))
		if end.Before(from) || !storable || !stored.Equal(end.Truncate(time.Millisecond)) {
			t.Fatalf("%s after %s is %s", s, from, end)
		}
		for _, more := range []Duration{{d.Months + 1, d.Days, d.Seconds, d.Nanoseconds}, {d.Months, d.Days + 1, d.Seconds, d.Nanoseconds}, {d.Months, d.Days, d.Seconds + 1, d.Nanoseconds}} {
			if later, ok := more.After(from); ok && later.Before(end) {
				t.Fatalf("%v after %s is %s, but %v is %s", d, from, end, more, later)
			}
		}
	})
}
