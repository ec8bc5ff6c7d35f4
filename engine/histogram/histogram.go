// Package histogram counts values by their size, for metrics. It imports nothing of the
// project.
package histogram

import (
	"slices"
	"sync/atomic"
	"time"
)

// Histogram counts values in buckets. It is safe for concurrent use, and adding a value
// allocates nothing.
type Histogram struct {
	bounds []int64
	// counts has one more than bounds, for larger values.
	counts []atomic.Uint64
	sum    atomic.Int64
}

// New returns a histogram with the upper bounds of its buckets, in ascending order.
func New(bounds ...int64) *Histogram {
	return &Histogram{bounds: bounds, counts: make([]atomic.Uint64, len(bounds)+1)}
}

// Durations returns a histogram of durations from a tenth of a millisecond to half a minute.
func Durations() *Histogram {
	var bounds []int64
	for _, d := range []time.Duration{100 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
		10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
		time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second, 30 * time.Second} {
		bounds = append(bounds, int64(d))
	}
	return New(bounds...)
}

// Sizes returns a histogram of numbers of items from 1 to 512.
func Sizes() *Histogram { return New(1, 2, 4, 8, 16, 32, 64, 128, 256, 512) }

// Add counts a value.
func (h *Histogram) Add(value int64) {
	at, _ := slices.BinarySearch(h.bounds, value)
	h.counts[at].Add(1)
	h.sum.Add(value)
}

// Counts are the values that a histogram has counted so far.
type Counts struct {
	// Bounds are the upper bounds of the buckets, and Below the numbers of values that are
	// not greater.
	Bounds []int64
	Below  []uint64
	Count  uint64
	Sum    int64
}

// Counts returns what was counted so far.
func (h *Histogram) Counts() Counts {
	c := Counts{Bounds: h.bounds, Below: make([]uint64, len(h.bounds)), Sum: h.sum.Load()}
	for i := range h.counts {
		c.Count += h.counts[i].Load()
		if i < len(c.Below) {
			c.Below[i] = c.Count
		}
	}
	return c
}
