package segment

import (
	"time"

	"marquee/engine"
)

// calendar says when a life ends that follows the calendar.
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

// until is the start of the next such day, in a week where it is one today.
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

// startOfDay is the first moment at which the date in a zone is that one, or a
// later one where the day was left out. Midnight will not do: where clocks
// change at that hour it does not exist, or twice.
func startOfDay(year int, month time.Month, day int, zone *time.Location) time.Time {
	midnight := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	// No zone is further from UTC than that.
	for from := midnight.Add(-36 * time.Hour).In(zone); ; {
		_, offset := from.Zone()
		start := midnight.Add(-time.Duration(offset) * time.Second)
		if start.Before(from) { // skipped by the change that from is
			return from
		}
		_, change := from.ZoneBounds()
		if change.IsZero() || start.Before(change) {
			return start
		}
		from = change
	}
}

// zones are the time zones of networks. Each is read once.
type zones struct {
	w    *engine.Writing
	read map[string]*time.Location
}

// of is the zone of a network, UTC where it names none.
func (z *zones) of(network string) (*time.Location, error) {
	if zone, known := z.read[network]; known {
		return zone, nil
	}
	seen, err := z.w.See("networks", "", []string{network})
	if err != nil {
		return nil, err
	}
	name, _ := seen[network].Object["timeZone"].(string)
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" { // of a network whose write is refused
		zone = time.UTC
	}
	if z.read == nil {
		z.read = map[string]*time.Location{}
	}
	z.read[network] = zone
	return zone, nil
}
