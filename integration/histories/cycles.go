package histories

import (
	"fmt"
	"slices"
	"strings"
)

// findCycles reports a cycle of each kind in each set of transactions that depend on
// each other. Cycles that need the order in time are looked for in sets that have no
// others.
func (c *checker) findCycles(edges [][]edge) {
	of := components(edges, written|read|unseen)
	cyclic := c.judge(edges, of, 0)
	of = components(edges, written|read|unseen|earlier)
	c.judgeIn(edges, of, earlier, func(i int) bool { return cyclic[i] })
}

// maxTries is in how many places of a component cycles are looked for: a history that is
// wrong throughout needs no list of them all.
const maxTries = 500

// judge reports cycles, and returns the transactions of the components that have one.
func (c *checker) judge(edges [][]edge, of []int, time relation) map[int]bool {
	return c.judgeIn(edges, of, time, func(int) bool { return false })
}

func (c *checker) judgeIn(edges [][]edge, of []int, time relation, skip func(i int) bool) map[int]bool {
	cyclic := map[int]bool{}
	reported, tries := map[string]bool{}, map[int]int{}
	skipped := map[int]bool{}
	for i := range edges {
		skipped[of[i]] = skipped[of[i]] || skip(i)
	}
	report := func(component int, kind Kind, cycle []step) {
		if time != 0 {
			kind = kind.InRealTime()
		}
		if name := fmt.Sprint(kind, component); !reported[name] {
			reported[name] = true
			c.foundCycle(kind, cycle)
		}
	}
	for i := range edges {
		for _, e := range edges[i] {
			if of[i] != of[e.to] || skipped[of[i]] {
				continue
			}
			cyclic[i], cyclic[e.to] = true, true
			if e.why == earlier || tries[of[i]] == maxTries {
				continue
			}
			tries[of[i]]++
			if kind, cycle := simplest(edges, of, i, e, time); cycle != nil {
				report(of[i], kind, cycle)
			}
		}
	}
	return cyclic
}

// step is a transaction in a cycle, with the edge to the next.
type step struct {
	from int
	edge
}

// simplest returns a shortest cycle through an edge, of the lowest kind that it can be.
func simplest(edges [][]edge, of []int, from int, e edge, time relation) (Kind, []step) {
	path := func(allowed relation) []step {
		if back := shortest(edges, of, e.to, from, allowed|time); back != nil {
			return append([]step{{from, e}}, back...)
		}
		return nil
	}
	switch e.why {
	case written:
		return G0, path(written)
	case read:
		return G1c, path(written | read)
	}
	cycle := path(written | read)
	if cycle == nil {
		return G2, path(written | read | unseen)
	}
	if len(cycle) == 2 && cycle[1].why == written && cycle[1].key == e.key {
		return LostUpdate, cycle
	}
	return GSingle, cycle
}

// shortest returns a shortest path within a component by edges of certain relations.
func shortest(edges [][]edge, of []int, from, to int, allowed relation) []step {
	came := map[int]step{from: {from: -1}}
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at == to {
			var path []step
			for s := came[at]; s.from >= 0; s = came[s.from] {
				path = append(path, s)
			}
			slices.Reverse(path)
			return path
		}
		for _, e := range edges[at] {
			if _, seen := came[e.to]; !seen && e.why&allowed != 0 && of[e.to] == of[from] {
				came[e.to] = step{at, e}
				queue = append(queue, e.to)
			}
		}
	}
	return nil
}

func (c *checker) foundCycle(kind Kind, cycle []step) {
	var text strings.Builder
	var transactions []int
	for _, s := range cycle {
		fmt.Fprintf(&text, "#%d -%s-> ", s.from, strings.TrimSpace(relationNames[s.why]+" "+s.key))
		transactions = append(transactions, s.from)
	}
	c.found(kind, transactions, "%s#%d", text.String(), cycle[0].from)
}

// components returns the number of the strongly connected component of each
// transaction, by the algorithm of Tarjan without recursion.
func components(edges [][]edge, allowed relation) []int {
	t := tarjan{edges: edges, allowed: allowed, index: make([]int, len(edges)), low: make([]int, len(edges)), of: make([]int, len(edges)),
		next: make([]int, len(edges))}
	for i := range edges {
		if t.index[i] == 0 {
			t.visit(i)
		}
	}
	return t.of
}

type tarjan struct {
	edges   [][]edge
	allowed relation
	// index is the order of the visits from 1; next the edge of each to go on with.
	index, low, next []int
	// of is the component, from 1; 0 while it is not known.
	of           []int
	visits, sets int
	open         []int
}

func (t *tarjan) visit(root int) {
	for path := []int{root}; len(path) > 0; {
		at := path[len(path)-1]
		if t.index[at] == 0 {
			t.visits++
			t.index[at], t.low[at] = t.visits, t.visits
			t.open = append(t.open, at)
		}
		if to, more := t.follow(at); more {
			path = append(path, to)
			continue
		}
		path = path[:len(path)-1]
		if len(path) > 0 {
			up := path[len(path)-1]
			t.low[up] = min(t.low[up], t.low[at])
		}
		if t.low[at] == t.index[at] {
			t.close(at)
		}
	}
}

// follow returns the next transaction after one that has not been visited.
func (t *tarjan) follow(at int) (to int, more bool) {
	for ; t.next[at] < len(t.edges[at]); t.next[at]++ {
		e := t.edges[at][t.next[at]]
		switch {
		case e.why&t.allowed == 0:
		case t.index[e.to] == 0:
			t.next[at]++
			return e.to, true
		case t.of[e.to] == 0:
			t.low[at] = min(t.low[at], t.index[e.to])
		}
	}
	return 0, false
}

// close makes a component of the transactions that were visited since one of them.
func (t *tarjan) close(first int) {
	t.sets++
	for {
		last := t.open[len(t.open)-1]
		t.open = t.open[:len(t.open)-1]
		t.of[last] = t.sets
		if last == first {
			return
		}
	}
}
