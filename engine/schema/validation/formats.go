package validation

import (
	"encoding/base64"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // time zones must not depend on the machine

	"golang.org/x/text/language"

	"marquee/engine/document"
	"marquee/engine/message"
)

// Formats are the formats that JSON Schema lacks or defines differently. A value of
// a type to which the format does not apply is valid.
var Formats = map[string]func(any) bool{
	// Times that can be stored: no leap seconds, and no year beyond 9999 in UTC.
	"date-time": ofString(func(s string) bool {
		_, ok := document.ParseTime(s)
		return ok
	}),
	// ISO 8601 allows P1Y3D and P1M2W.
	"duration": ofString(func(s string) bool {
		_, ok := document.ParseDuration(s)
		return ok
	}),
	"ip-or-cidr": ofString(func(s string) bool {
		if _, err := netip.ParsePrefix(s); err == nil {
			return true
		}
		address, err := netip.ParseAddr(s)
		return err == nil && address.Zone() == "" // a zone is local to one machine
	}),
	"country":  ofString(func(s string) bool { return countries[s] }),
	"currency": ofString(func(s string) bool { return currencies[s] }),
	"time-zone": ofString(func(s string) bool {
		_, err := time.LoadLocation(s)
		return err == nil && s != "" && s != "Local"
	}),
	localTimeFormat: ofString(func(s string) bool {
		_, ok := localTime(s)
		return ok
	}),
	// A date-time whose offset is kept as it was sent, or none.
	"any-date-time": ofString(func(s string) bool {
		_, _, ok := anyTime(s)
		return ok
	}),
	localRange: func(value any) bool {
		object, _ := value.(map[string]any)
		first, local, known := anyTime(object["first"])
		second, alsoLocal, both := anyTime(object["second"])
		return !known || !both || local == alsoLocal && !second.Before(first)
	},
	"language": ofString(func(s string) bool {
		_, err := language.Parse(s)
		return err == nil && !strings.Contains(s, "_") // BCP 47 has hyphens only
	}),
	"geojson-geometry-collection": geometryCollection,
	// What contentEncoding demands (RFC 4648, section 4), without line breaks.
	Base64Format: ofString(func(s string) bool {
		_, err := base64.StdEncoding.Strict().DecodeString(s)
		return err == nil && !strings.ContainsAny(s, "\r\n")
	}),
}

// Base64Format is the format in which strings with contentEncoding are validated.
const Base64Format = "base64"

const localTimeFormat = "local-date-time"

// localRange checks an object whose members first and second are both local date-times,
// or both date-times with an offset, the second not before the first.
const localRange = "local-date-range"

// anyTime parses a local date-time, or one with Z or an offset.
func anyTime(value any) (t time.Time, local, ok bool) {
	if t, local = localTime(value); local {
		return t, true, true
	}
	s, _ := value.(string)
	if !zoned.MatchString(s) {
		return time.Time{}, false, false
	}
	t, ok = document.ParseTime(s)
	return t, false, ok
}

// zoned matches what ends with Z or an offset.
var zoned = regexp.MustCompile(`[Tt].*([Zz]|[+-][0-9:]+)$`)

// rangeFault explains why the second end of a range is not valid.
func rangeFault(value any, at string) (*message.Definition, message.Params) {
	object, _ := value.(map[string]any)
	_, local, _ := anyTime(object["first"])
	_, alsoLocal, _ := anyTime(object["second"])
	if local != alsoLocal {
		return message.ValueOffset, message.Params{"other": at + "/first"}
	}
	return message.ValueOrder, message.Params{"relation": "no earlier than", "other": at + "/first"}
}

// localTime parses a date and time without a zone.
func localTime(value any) (time.Time, bool) {
	s, _ := value.(string)
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, s); err == nil && document.TwoDigitHour(s) {
			return t, true
		}
	}
	return time.Time{}, false
}

func ofString(valid func(string) bool) func(any) bool {
	return func(value any) bool {
		s, ok := value.(string)
		return !ok || valid(s)
	}
}

// geometryCollection checks a GeometryCollection of RFC 7946: known geometry
// types, positions within the world, closed rings.
func geometryCollection(value any) bool {
	object, ok := value.(map[string]any)
	return !ok || object["type"] == "GeometryCollection" && geometry(object)
}

func geometry(value any) bool {
	object, ok := value.(map[string]any)
	if !ok {
		return false
	}
	if object["type"] == "GeometryCollection" {
		return each(object["geometries"], 0, geometry)
	}
	coordinates := object["coordinates"]
	switch object["type"] {
	case "Point":
		return position(coordinates)
	case "MultiPoint":
		return each(coordinates, 0, position)
	case "LineString":
		return lineString(coordinates)
	case "MultiLineString":
		return each(coordinates, 0, lineString)
	case "Polygon":
		return each(coordinates, 1, ring)
	case "MultiPolygon":
		return each(coordinates, 0, func(polygon any) bool { return each(polygon, 1, ring) })
	}
	return false
}

func each(value any, least int, valid func(any) bool) bool {
	items, ok := value.([]any)
	return ok && len(items) >= least && !slices.ContainsFunc(items, func(item any) bool { return !valid(item) })
}

func lineString(value any) bool { return each(value, 2, position) }

func ring(value any) bool {
	if !each(value, 4, position) {
		return false
	}
	positions := value.([]any)
	return document.Equal(positions[0], positions[len(positions)-1])
}

func position(value any) bool {
	numbers, ok := value.([]any)
	if !ok || len(numbers) < 2 || len(numbers) > 3 {
		return false
	}
	for i, bound := range []float64{180, 90} {
		if n, ok := asFloat(numbers[i]); !ok || n < -bound || n > bound {
			return false
		}
	}
	if len(numbers) == 3 {
		_, ok = asFloat(numbers[2])
	}
	return ok
}

func asFloat(value any) (float64, bool) {
	switch n := value.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}
