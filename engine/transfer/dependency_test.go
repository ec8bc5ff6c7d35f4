package transfer

import (
	"fmt"
	"slices"
	"testing"
)

// Components are in order of dependency, and nodes that depend on each other are
// in one.
func TestComponents(t *testing.T) {
	for _, c := range []struct {
		needs [][]int32
		want  string
	}{
		{nil, "[]"},
		{[][]int32{{}, {}}, "[[0] [1]]"},
		{[][]int32{{1}, {2}, {}}, "[[2] [1] [0]]"},
		{[][]int32{{1}, {0}, {0}}, "[[0 1] [2]]"},
		{[][]int32{{2}, {0}, {1, 3}, {4}, {3}}, "[[3 4] [0 1 2]]"},
		{[][]int32{{0}}, "[[0]]"},
	} {
		got := [][]int32{}
		components(c.needs, func(nodes []int32) { got = append(got, slices.Sorted(slices.Values(nodes))) })
		if fmt.Sprint(got) != c.want {
			t.Errorf("%v has the components %v, want %s", c.needs, got, c.want)
		}
	}
}

// The set of held objects never misses one, and is empty after clear.
func TestHeld(t *testing.T) {
	var h held
	if h.has("a") {
		t.Error("an empty set has a")
	}
	for i := range 1000 {
		h.add(fmt.Sprint("object ", i))
	}
	missed, wrong := 0, 0
	for i := range 1000 {
		if !h.has(fmt.Sprint("object ", i)) {
			missed++
		}
		if h.has(fmt.Sprint("other ", i)) {
			wrong++
		}
	}
	if missed > 0 || wrong > 10 {
		t.Errorf("the set misses %d objects and has %d others", missed, wrong)
	}
	if h.clear(); h.has("object 1") {
		t.Error("a cleared set has an object")
	}
}
