package histogram

import (
	"slices"
	"testing"
	"time"
)

// Each bucket has the values up to its bound, and those of the buckets before it.
func TestCounts(t *testing.T) {
	h := New(1, 10, 100)
	for _, value := range []int64{0, 1, 2, 10, 11, 100, 101, 5000} {
		h.Add(value)
	}
	c := h.Counts()
	if !slices.Equal(c.Below, []uint64{2, 4, 6}) || c.Count != 8 || c.Sum != 5225 {
		t.Errorf("%+v", c)
	}
}

func TestAddAllocatesNothing(t *testing.T) {
	h := Durations()
	if n := testing.AllocsPerRun(100, func() { h.Add(int64(3 * time.Millisecond)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
