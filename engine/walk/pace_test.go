package walk_test

import (
	"testing"
	"time"

	"marquee/engine/walk"
)

func TestPace(t *testing.T) {
	p := walk.Pace{Target: 50 * time.Millisecond, Size: 100, Max: 150}
	for _, step := range []struct {
		name string
		do   func()
		want int
	}{
		{"fast", func() { p.Took(time.Millisecond, 1) }, 150},
		{"fast, but run twice", func() { p.Took(time.Millisecond, 2) }, 150},
		{"slow", func() { p.Took(101*time.Millisecond, 1) }, 75},
		{"about right", func() { p.Took(80*time.Millisecond, 1) }, 75},
		{"slow again", func() { p.Took(time.Second, 1) }, 37},
		{"still slow", func() { p.Took(time.Second, 1) }, 18},
		{"slow for another reason than its size", func() { p.Took(time.Second, 1) }, 16},
		{"met a write", p.Again, 8},
		{"slow and small", func() { p.Took(time.Second, 1) }, 8},
		{"fast and small", func() { p.Took(time.Millisecond, 1) }, 16},
	} {
		if step.do(); p.Size != step.want {
			t.Errorf("%s: the size is %d, want %d", step.name, p.Size, step.want)
		}
	}
}

// A pace with a least size keeps it, however long transactions take.
func TestPaceLeast(t *testing.T) {
	p := walk.Pace{Target: 50 * time.Millisecond, Size: 1000, Max: 1000, Least: 250}
	for range 5 {
		p.Took(time.Second, 1)
	}
	if p.Size != 250 {
		t.Errorf("the size is %d, want 250", p.Size)
	}
}
