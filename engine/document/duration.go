package document

import (
	"regexp"
	"strconv"
	"time"
)

// Duration is an ISO 8601 duration. Years and months are calendar units; a day is
// 24 hours, as all times are in UTC.
type Duration struct {
	// Months includes the years.
	Months int64
	// Days includes the weeks.
	Days    int64
	Seconds int64
	// Nanoseconds is the fraction of a second.
	Nanoseconds int64
}

var duration = regexp.MustCompile(`^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:[.,](\d{1,9}))?S)?)?$`)

// ParseDuration parses an ISO 8601 duration such as P1Y2M3W4DT5H6M7.5S. At least
// one part is required, and only seconds may have a fraction. Parts above
// maxDurationPart are reduced to it.
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

// maxDurationPart exceeds the range of stored times in any unit without causing
// overflow.
const maxDurationPart = 1_000_000_000_000

// After returns from plus the duration, in UTC: first months, where the last day
// of the month replaces a day that does not exist, then days, then the time of
// day. Ok is false beyond the year 9999.
func (d Duration) After(from time.Time) (end time.Time, ok bool) {
	const years = 10_000
	if d.Months > 12*years || d.Days > 366*years || d.Seconds > 86_400*366*years {
		return time.Time{}, false
	}
	from = from.UTC()
	end = from.AddDate(0, int(d.Months), 0)
	if end.Day() != from.Day() { // AddDate continued into the next month
		end = end.AddDate(0, 0, -end.Day())
	}
	end = end.AddDate(0, 0, int(d.Days))
	end = time.Unix(end.Unix()+d.Seconds, int64(end.Nanosecond())+d.Nanoseconds).UTC()
	return end, end.Year() <= 9999
}
