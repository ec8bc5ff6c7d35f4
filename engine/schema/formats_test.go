package schema

import (
	"testing"

	"marquee/engine/document"
)

func TestFormats(t *testing.T) {
	for format, c := range map[string]struct{ valid, invalid []string }{
		"ip-or-cidr": {
			[]string{"192.0.2.1", "192.0.2.0/24", "2001:db8::1", "2001:db8::/32", "0.0.0.0/0", "::ffff:192.0.2.1"},
			[]string{"", "192.0.2", "192.0.2.256", "192.0.2.0/33", "192.0.2.0/", "192.0.2.01", "fe80::1%eth0", "example.com", "2001:db8::/129"},
		},
		"country": {
			[]string{"NO", "GB", "US", "ZA", "TW", "AX"},
			[]string{"", "no", "NOR", "UK", "EU", "ZZ", "XX", "001", "N", "A1", "SU", "DD", "YU", "AN", "AC", "EA", "IC", "TA", "DG", "CP", "XA", "QO"},
		},
		"currency": {
			[]string{"NOK", "USD", "JPY", "CHF", "VES", "MRU", "SLE", "ZWG"},
			[]string{"", "nok", "NO", "USDX", "ZZZ", "123", "DEM", "FRF", "SLL"},
		},
		"time-zone": {
			[]string{"Europe/Oslo", "UTC", "America/Argentina/Buenos_Aires", "Etc/GMT+5"},
			[]string{"", "Local", "Oslo", "Europe/Atlantis", "../etc/passwd", "/etc/localtime", "+02:00", "Europe/"},
		},
		"local-date-time": {
			[]string{"2030-02-28T23:59", "2030-02-28T23:59:59", "2028-02-29T00:00:00.5"},
			[]string{"", "2030-02-29T00:00:00", "2030-01-01", "2030-01-01T24:00", "2030-01-01T00:00:00Z", "2030-01-01T00:00:00+01:00", "2030-01-01 00:00", "2030-01-01T9:00"},
		},
		"any-date-time": {
			[]string{"2030-02-28T23:59", "2028-02-29T00:00:00.5", "2030-01-01T00:00:00Z", "2030-01-01t00:00z", "2030-01-01T00:00:00.25-09:30", "2030-01-01T00:00+02"},
			[]string{"", "2030-02-29T00:00:00", "2030-01-01", "2030-01-01Z", "2030-01-01T24:00Z", "2030-01-01T00:00:00+", "2030-01-01T00:00:00 Z", "2030-01-01T00:00:00+25:00", "2030-01-01T00:00:00+24:00", "2030-01-01T00:00-0160", "2030-01-01T9:00", "2030-01-01T9:00Z", "0000-06-01T00:00:00Z"},
		},
		"language": {
			[]string{"en", "nb-NO", "zh-Hant-TW", "de-CH-1996", "sr-Latn"},
			[]string{"", "english", "en_US", "xx-", "1", "e"},
		},
		"date-time": {
			[]string{"2030-01-01T00:00:00Z", "2030-01-01T00:00:00.123+02:00"},
			[]string{"", "2030-01-01", "2030-13-01T00:00:00Z", "soon"},
		},
		"duration": {[]string{"P30D", "PT1H", "P1Y2M", "P1Y3D", "P1Y2M3W4DT5H6M7.5S", "P0D"}, []string{"", "30 days", "P", "PT", "-P1D", "P1.5D", "P1DT"}},
		"email":    {[]string{"a@example.com"}, []string{"", "a", "a@", "@b"}},
		"hostname": {[]string{"example.com", "a"}, []string{"-a.example", "a b", "a_b"}},
		"uri":      {[]string{"https://example.com/x"}, []string{"", "/x", "example.com"}},
	} {
		loaded := load(t, `"a": {"type": "string", "format": "`+format+`"}`, "")
		for _, s := range c.valid {
			if got := faultsOf(loaded, map[string]any{"a": s}); got != "" {
				t.Errorf("%s %q: %s", format, s, got)
			}
		}
		for _, s := range c.invalid {
			if got, want := faultsOf(loaded, map[string]any{"a": s}), "error.value.format field=/a format="+format; got != want {
				t.Errorf("%s %q: %q", format, s, got)
			}
		}
	}
}

func TestGeometryCollection(t *testing.T) {
	loaded := load(t, `"a": {"type": "object", "format": "geojson-geometry-collection"}`, "")
	collection := func(geometries string) map[string]any {
		return decode(t, `{"a": {"type": "GeometryCollection", "geometries": [`+geometries+`]}}`)
	}
	for _, valid := range []string{
		``, `{"type": "Point", "coordinates": [10.5, 59.9]}`, `{"type": "Point", "coordinates": [180, -90, 8848]}`,
		`{"type": "MultiPoint", "coordinates": []}`, `{"type": "LineString", "coordinates": [[0, 0], [1, 1]]}`,
		`{"type": "MultiLineString", "coordinates": [[[0, 0], [1, 1]]]}`,
		`{"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0.0]]]}`,
		`{"type": "MultiPolygon", "coordinates": [[[[0, 0], [1, 0], [1, 1], [0, 0]]]]}`,
		`{"type": "GeometryCollection", "geometries": []}`,
	} {
		if got := faultsOf(loaded, collection(valid)); got != "" {
			t.Errorf("%s: %s", valid, got)
		}
	}
	for _, invalid := range []string{
		`1`, `{}`, `{"type": "Circle", "coordinates": [0, 0]}`, `{"type": "Point"}`, `{"type": "Point", "coordinates": [181, 0]}`,
		`{"type": "Point", "coordinates": [0, 90.1]}`, `{"type": "Point", "coordinates": [0]}`, `{"type": "Point", "coordinates": ["0", 0]}`,
		`{"type": "Point", "coordinates": [0, 0, 0, 0]}`, `{"type": "LineString", "coordinates": [[0, 0]]}`,
		`{"type": "Polygon", "coordinates": []}`, `{"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [0, 0]]]}`,
		`{"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0.1]]]}`, `{"type": "GeometryCollection"}`,
		`{"type": "Feature", "geometry": null}`,
	} {
		if got := faultsOf(loaded, collection(invalid)); got != "error.value.format field=/a format=geojson-geometry-collection" {
			t.Errorf("%s: %q", invalid, got)
		}
	}
	if got := faultsOf(loaded, map[string]any{"a": map[string]any{"type": "Point", "coordinates": []any{int64(0), int64(0)}}}); got == "" {
		t.Error("a geometry that is no collection is taken")
	}
}

// The format accepts stored times, so that clients can send back what they read.
func TestStoredTimesAreValid(t *testing.T) {
	loaded := load(t, `"a": {"type": "string", "format": "date-time"}`, "")
	for _, s := range []string{"0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", "2030-01-01T00:00", "2030-01-01T00:00:00+14:00"} {
		canonical, ok := document.CanonicalTime(s)
		if got := faultsOf(loaded, map[string]any{"a": canonical}); !ok || got != "" {
			t.Errorf("%s: %s %s", s, canonical, got)
		}
	}
}
