package document

import (
	"regexp"
	"strconv"
	"time"
)

// Duration is a span of ISO 8601. Years and months are of the calendar, a day
// is 24 hours, as all days are in UTC.
type Duration struct {
	// Months holds the years, too.
	Months int64
	// Days holds the weeks, too.
	Days    int64
	Seconds int64
	// Nanoseconds are the fraction of a second.
	Nanoseconds int64
}

var duration = regexp.MustCompile(`^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:[.,](\d{1,9}))?S)?)?$`)

// ParseDuration reads a duration of ISO 8601, such as P1Y2M3W4DT5H6M7.5S: each
// part is a whole number, of seconds also a fraction, and may be left out, but
// not all of them. Parts beyond maxDurationPart are taken for that.
func ParseDuration(s string) (Duration, bool) {
	found := duration.FindStringSubmatch(s)
	if found == nil || s[len(s)-1] == 'P' || s[len(s)-1] == 'T' {
		return Duration{}, false
	}
	part := func(i int) int64 {
		n, err := strconv.ParseInt(found[i], 10, 64)
		if err != nil && found[i] != "" || n > maxDurationPart {
			return maxDurationPart
		}
		return n
	}
	fraction, _ := strconv.ParseInt((found[8] + "000000000")[:9], 10, 64)
	return Duration{
		Months:      12*part(1) + part(2),
		Days:        7*part(3) + part(4),
		Seconds:     3600*part(5) + 60*part(6) + part(7),
		Nanoseconds: fraction,
	}, true
}

// maxDurationPart is longer than stored times reach, whatever it counts, and so
// short that nothing overflows.
const maxDurationPart = 1_000_000_000_000

// After is the time at which the duration ends that begins at a time, in UTC:
// years and months first, on the last day of a month that lacks the day, then
// days, then the time of day. Ok is false beyond the year 9999.
func (d Duration) After(from time.Time) (end time.Time, ok bool) {
	const years = 10_000
	if d.Months > 12*years || d.Days > 366*years || d.Seconds > 86_400*366*years {
		return time.Time{}, false
	}
	from = from.UTC()
	end = from.AddDate(0, int(d.Months), 0)
	if end.Day() != from.Day() { // the days that the month lacks went on into the next
		end = end.AddDate(0, 0, -end.Day())
	}
	end = end.AddDate(0, 0, int(d.Days))
	end = time.Unix(end.Unix()+d.Seconds, int64(end.Nanosecond())+d.Nanoseconds).UTC()
	return end, end.Year() <= 9999
}
