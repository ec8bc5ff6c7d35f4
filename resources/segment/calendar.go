package segment

import (
	"time"

	"marquee/engine"
)

// calendar has, by time-to-live type, the end of a life that depends on the
// calendar.
var calendar = map[string]func(now time.Time, zone *time.Location) time.Time{
	"TODAY":           func(now time.Time, zone *time.Location) time.Time { return daysLater(now, zone, 1) },
	"THIS_WEEK":       until(time.Monday),
	"THIS_MONTH":      endOfMonth,
	"UNTIL_MONDAY":    until(time.Monday),
	"UNTIL_TUESDAY":   until(time.Tuesday),
	"UNTIL_WEDNESDAY": until(time.Wednesday),
	"UNTIL_THURSDAY":  until(time.Thursday),
	"UNTIL_FRIDAY":    until(time.Friday),
	"UNTIL_SATURDAY":  until(time.Saturday),
	"UNTIL_SUNDAY":    until(time.Sunday),
}

// until returns a function for the start of the next such day of the week, which
// is in a week if it is that day today.
func until(day time.Weekday) func(time.Time, *time.Location) time.Time {
	return func(now time.Time, zone *time.Location) time.Time {
		days := int(day - now.In(zone).Weekday())
		if days <= 0 {
			days += 7
		}
		return daysLater(now, zone, days)
	}
}

func endOfMonth(now time.Time, zone *time.Location) time.Time {
	year, month, _ := now.In(zone).Date()
	return startOfDay(year, month+1, 1, zone)
}

func daysLater(now time.Time, zone *time.Location, days int) time.Time {
	year, month, day := now.In(zone).Date()
	return startOfDay(year, month, day+days, zone)
}

// startOfDay returns the first moment of a date in a zone, or of the next date
// if the zone skipped that day. It is not always midnight: where clocks change at
// that hour, midnight may not exist, or exist twice.
func startOfDay(year int, month time.Month, day int, zone *time.Location) time.Time {
	midnight := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	// No zone is further from UTC than 36 hours.
	for from := midnight.Add(-36 * time.Hour).In(zone); ; {
		_, offset := from.Zone()
		start := midnight.Add(-time.Duration(offset) * time.Second)
		if start.Before(from) { // the change of clocks at from skipped it
			return from
		}
		_, change := from.ZoneBounds()
		if change.IsZero() || start.Before(change) {
			return start
		}
		from = change
	}
}

// zones caches the time zones of networks during a hook.
type zones struct {
	w    *engine.Writing
	read map[string]*time.Location
}

// of returns the zone of a network, UTC if it has none.
func (z *zones) of(network string) (*time.Location, error) {
	if zone, known := z.read[network]; known {
		return zone, nil
	}
	found, err := z.w.Lookup("networks", "", []string{network})
	if err != nil {
		return nil, err
	}
	name, _ := found[network].Object["timeZone"].(string)
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" { // the network is invalid, and its write is refused
		zone = time.UTC
	}
	if z.read == nil {
		z.read = map[string]*time.Location{}
	}
	z.read[network] = zone
	return zone, nil
}
