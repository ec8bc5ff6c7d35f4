package keyword

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// The texts of ends of intervals are in the order of the ends, whatever the numbers.
func TestEndsAreOrdered(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	ends := []any{int64(0), int64(1), int64(-1), int64(9), int64(10), int64(-10), int64(-9), int64(math.MaxInt64), int64(math.MaxInt64 - 1), int64(math.MinInt64),
		0.1, -0.1, 1.5, 1.51, -1.5, -1.51, 15.0, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64}
	for range 60 {
		ends = append(ends, random.Int64N(2000)-1000, random.NormFloat64()*math.Pow(10, float64(random.IntN(40)-20)))
	}
	for _, a := range ends {
		for _, b := range ends {
			order, _ := CompareValues(a, b)
			x, _ := bound(a, lowest)
			y, _ := bound(b, lowest)
			if strings.Compare(x, y) != order || x <= lowest || x >= highest {
				t.Fatalf("%v and %v are %q and %q", a, b, x, y)
			}
		}
	}
}

// Intervals are claimed so that the first claim after Before is the only one that may meet
// an interval.
func TestIntervalsAreOrderedByEnd(t *testing.T) {
	t.Parallel()
	rule := ClaimRule{Properties: []string{"hall"}, From: "from", To: "to"}
	claim := func(from, to any) string {
		value, claims, err := rule.Value(t.Context(), map[string]any{"hall": "h", "from": from, "to": to}, "ACTIVE")
		if err != nil || !claims {
			t.Fatal(from, to, claims, err)
		}
		return value
	}
	for _, c := range []struct {
		from, to, otherFrom, otherTo any
		after, meets                 bool
	}{
		{int64(1), int64(2), int64(2), int64(3), true, false},
		{int64(2), int64(3), int64(1), int64(2), false, false},
		{int64(15), int64(16), int64(1), 15.1, true, true},
		{int64(-15), int64(-14), int64(-20), int64(-15), false, false},
		{int64(-15), int64(-14), int64(-20), -14.9, true, true},
		{nil, int64(1), int64(0), int64(1), true, true},
		{int64(1), nil, int64(0), int64(1), false, false},
		{nil, nil, int64(0), nil, true, true},
		{"2026-03-01", "2026-03-02", "2026-03-02", nil, true, false},
		{"2026-03-01T00:00:00.000Z", "2026-03-02T00:00:00.000Z", nil, "2026-03-01T00:00:00.001Z", true, true},
	} {
		i, other := IntervalOf(claim(c.from, c.to)), claim(c.otherFrom, c.otherTo)
		if after := other > i.Before(); after != c.after {
			t.Errorf("%+v: %q after %q is %t", c, other, i.Before(), after)
		}
		if i.Meets(IntervalOf(other)) != c.meets {
			t.Errorf("%+v: meets is not %t", c, c.meets)
		}
	}
	for _, ends := range [][2]any{{int64(1), int64(1)}, {int64(2), int64(1)}, {"2026-03-01", int64(1)}, {"soon", nil}, {true, nil}, {"2026-02-30", nil}} {
		if value, claims, _ := rule.Value(t.Context(), map[string]any{"hall": "h", "from": ends[0], "to": ends[1]}, "ACTIVE"); claims {
			t.Errorf("%v claims %q", ends, value)
		}
	}
}
