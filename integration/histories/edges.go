package histories

import (
	"cmp"
	"slices"
)

// relation is why a transaction comes before another, as a set of bits.
type relation int

const (
	// written: the other has appended the next element.
	written relation = 1 << iota
	// read: the other has seen what this one has appended.
	read
	// unseen: the other has appended what this one has not seen (an anti-dependency).
	unseen
	// earlier: this one had ended before the other began.
	earlier
)

var relationNames = map[relation]string{written: "ww", read: "wr", unseen: "rw", earlier: "ended before"}

// edge leads from a transaction to one that must come after it.
type edge struct {
	to  int
	why relation
	key string // of the list, "" for earlier
}

// edges returns what follows each transaction.
func (c *checker) edges() [][]edge {
	edges := make([][]edge, len(c.history))
	add := func(from, to int, why relation, key string) {
		if from != to {
			edges[from] = append(edges[from], edge{to, why, key})
		}
	}
	for key, list := range c.longest {
		for at := 1; at < len(list); at++ {
			from, known := c.writers[element{key, list[at-1]}]
			if to, also := c.writers[element{key, list[at]}]; known && also {
				add(from.transaction, to.transaction, written, key)
			}
		}
	}
	for i, t := range c.history {
		own := map[string]int{} // appended so far
		for _, o := range t.Operations {
			if o.Append {
				own[o.Key]++
				continue
			}
			if t.Outcome != Committed {
				continue
			}
			seen := max(0, len(o.List)-own[o.Key])
			if seen > 0 {
				if w, ok := c.writers[element{o.Key, o.List[seen-1]}]; ok {
					add(w.transaction, i, read, o.Key)
				}
			}
			if longest := c.longest[o.Key]; seen < len(longest) {
				if w, ok := c.writers[element{o.Key, longest[seen]}]; ok {
					add(i, w.transaction, unseen, o.Key)
				}
			}
		}
	}
	c.addTimes(add)
	return edges
}

// addTimes adds the order in time. An edge is left out where others imply it: only from
// the transactions that had ended before a transaction began, and of which none had
// ended before another of them began.
func (c *checker) addTimes(add func(from, to int, why relation, key string)) {
	type moment struct {
		at    int64
		ended bool
		of    int
	}
	var moments []moment
	for i, t := range c.history {
		if t.Outcome == Aborted {
			continue
		}
		moments = append(moments, moment{t.Begin, false, i})
		if t.Outcome == Committed {
			moments = append(moments, moment{t.End, true, i})
		}
	}
	// A transaction that ends when another begins is concurrent with it.
	slices.SortFunc(moments, func(a, b moment) int {
		if a.at == b.at && a.ended != b.ended {
			if b.ended {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.at, b.at)
	})
	ended := map[int]bool{}
	before := map[int][]int{}
	for _, m := range moments {
		if m.ended {
			for _, i := range before[m.of] {
				delete(ended, i)
			}
			delete(before, m.of)
			ended[m.of] = true
			continue
		}
		for i := range ended {
			add(i, m.of, earlier, "")
			before[m.of] = append(before[m.of], i)
		}
	}
}
