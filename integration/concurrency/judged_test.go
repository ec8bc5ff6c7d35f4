package concurrency

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/anishathalye/porcupine"

	"marquee/integration/histories"
)

// judged compares what clients have seen with every order in which their requests may have
// been made. If none explains it, the result ends with the first answer that contradicts
// the ones before it.
func judged(model porcupine.Model, all []porcupine.Operation, outcome func(porcupine.Operation) (read bool, o histories.Outcome)) string {
	result := porcupine.CheckOperationsTimeout(model, all, historyPatience)
	if result != porcupine.Illegal {
		return string(result)
	}
	var ends []int64
	for _, o := range all {
		if o.Return != math.MaxInt64 {
			ends = append(ends, o.Return)
		}
	}
	slices.Sort(ends)
	until := func(end int64) (known []porcupine.Operation) {
		for _, o := range all {
			read, is := outcome(o)
			switch {
			case o.Return <= end:
				known = append(known, o)
			case o.Call <= end && !read && is != histories.Aborted:
				o.Return = math.MaxInt64
				known = append(known, o)
			}
		}
		return known
	}
	n := sort.Search(len(ends), func(n int) bool {
		return porcupine.CheckOperationsTimeout(model, until(ends[n]), historyPatience) == porcupine.Illegal
	})
	if n == len(ends) {
		return string(result)
	}
	before := until(ends[n])
	slices.SortFunc(before, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	text := fmt.Sprintf("%s at %d:", result, ends[n])
	for _, o := range before {
		text += fmt.Sprintf("\n%d\t%d\t%d\t%+v", o.ClientId, o.Call/1000, o.Return/1000, o.Input)
	}
	return text
}
