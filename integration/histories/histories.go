// Package histories judges what concurrent clients have seen. CheckRegister decides
// whether the operations on one object are linearizable; CheckLists looks for the
// isolation anomalies of Adya, G0 to G2, in transactions that append to lists and read
// them. It knows nothing of the service: it imports porcupine and the standard library.
// Begin with Transaction and CheckLists.
package histories

import (
	"fmt"
	"slices"
	"strings"
)

// Outcome is what the client of a transaction knows about it.
type Outcome int

const (
	// Unknown is the outcome of a transaction whose answer was lost, or says that the
	// server does not know: it may take effect at any time after it began, or never.
	Unknown Outcome = iota
	Committed
	// Aborted is the outcome of a transaction of which nothing may ever be seen.
	Aborted
)

func (o Outcome) String() string { return [...]string{"unknown", "committed", "aborted"}[o] }

// Transaction is what a client has asked for and learned in one atomic step.
type Transaction struct {
	// Begin and End are the times before the request and after its answer. End has
	// no meaning if the outcome is unknown.
	Begin, End int64
	Outcome    Outcome
	// Operations are in the order in which they happen within the transaction.
	Operations []Operation
}

// Operation appends an element to the list with a key, or reads the list. No element is
// appended twice to the same list.
type Operation struct {
	Key    string
	Append bool
	// Element is what is appended.
	Element int64
	// List is what was read.
	List []int64
	// Changed reports that the transaction was aborted because the list is not List any
	// more.
	Changed bool
}

// Append returns the operation that appends an element.
func Append(key string, element int64) Operation {
	return Operation{Key: key, Append: true, Element: element}
}

// Read returns the operation that reads a list.
func Read(key string, list ...int64) Operation { return Operation{Key: key, List: list} }

// Changed returns the operation that aborts a transaction if a list is not as it was.
func Changed(key string, was ...int64) Operation {
	return Operation{Key: key, List: was, Changed: true}
}

func (o Operation) String() string {
	switch {
	case o.Append:
		return fmt.Sprintf("append %s %d", o.Key, o.Element)
	case o.Changed:
		return fmt.Sprintf("%s has changed since %v", o.Key, o.List)
	}
	return fmt.Sprintf("read %s %v", o.Key, o.List)
}

func (t *Transaction) String() string {
	var operations []string
	for _, o := range t.Operations {
		operations = append(operations, o.String())
	}
	return fmt.Sprintf("%s, from %d to %d: %s", t.Outcome, t.Begin, t.End, strings.Join(operations, "; "))
}

// Kind is the name of an anomaly.
type Kind string

const (
	// G0 is a cycle of writes: two transactions overwrite each other.
	G0 Kind = "G0"
	// G1a is a read of what an aborted transaction has written, also by a transaction
	// that is aborted because of it.
	G1a Kind = "G1a"
	// G1b is a read of a state in the middle of a transaction.
	G1b Kind = "G1b"
	// G1c is a cycle of writes and reads: two transactions see each other.
	G1c Kind = "G1c"
	// GSingle is a cycle with one anti-dependency, for example a snapshot that has one
	// half of a transaction. With one list and two transactions, it is a
	// LostUpdate.
	GSingle Kind = "G-single"
	// G2 is a cycle with several anti-dependencies, for example write skew.
	G2 Kind = "G2"
	// LostUpdate is an append that was acknowledged or seen, and is not there later, or
	// one that was made from a state that was no longer the last.
	LostUpdate Kind = "lost update"
	// IncompatibleOrder is two reads of a list of which neither begins with the other.
	IncompatibleOrder Kind = "incompatible order"
	// Internal is a transaction that does not see what it has appended itself.
	Internal Kind = "internal"
	// Duplicate is an element that a list has twice.
	Duplicate Kind = "duplicate element"
	// Unwritten is a read of an element that nobody has appended.
	Unwritten Kind = "unwritten element"
)

// InRealTime is the kind of a cycle that exists only because a transaction that begins
// after the end of another must come after it. A store without such cycles is strictly
// serializable.
func (k Kind) InRealTime() Kind { return k + " in real time" }

// Anomaly is something that no serial order of the transactions explains.
type Anomaly struct {
	Kind Kind
	// Transactions are indexes in the history; those of a cycle in its order.
	Transactions []int
	Text         string
}

func (a Anomaly) String() string { return string(a.Kind) + ": " + a.Text }

// CheckLists returns what is wrong with a history of transactions on lists that were
// empty before. At least one read of each list should begin when all else has ended:
// only then is an element missed that was lost without being seen.
func CheckLists(history []Transaction) []Anomaly {
	c := &checker{history: history, writers: map[element]writer{}, longest: map[string][]int64{}}
	c.noteWriters()
	c.chooseLongest()
	for i := range history {
		switch history[i].Outcome {
		case Committed:
			c.checkReads(i)
		case Aborted:
			c.checkRefusal(i)
		}
	}
	c.checkLost()
	c.findCycles(c.edges())
	return c.anomalies
}

type element struct {
	key   string
	value int64
}

// writer is the transaction that has appended an element. Last reports whether it has
// appended nothing to the same list afterwards.
type writer struct {
	transaction int
	last        bool
}

type checker struct {
	history []Transaction
	writers map[element]writer
	// longest is the longest list that was read under each key: the order of versions.
	longest   map[string][]int64
	anomalies []Anomaly
}

func (c *checker) found(kind Kind, transactions []int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, i := range transactions {
		text += fmt.Sprintf("\n  #%d %s", i, &c.history[i])
	}
	c.anomalies = append(c.anomalies, Anomaly{kind, transactions, text})
}

func (c *checker) noteWriters() {
	for i, t := range c.history {
		last := map[string]element{}
		for _, o := range t.Operations {
			if !o.Append {
				continue
			}
			e := element{o.Key, o.Element}
			if w, ok := c.writers[e]; ok {
				c.found(Duplicate, []int{w.transaction, i}, "%d is appended to %s twice", o.Element, o.Key)
			}
			if before, ok := last[o.Key]; ok {
				c.writers[before] = writer{i, false}
			}
			last[o.Key], c.writers[e] = e, writer{i, true}
		}
	}
}

func (c *checker) chooseLongest() {
	for _, t := range c.history {
		for _, o := range t.Operations {
			if !o.Append && t.Outcome == Committed && len(o.List) > len(c.longest[o.Key]) {
				c.longest[o.Key] = o.List
			}
		}
	}
}

// checkReads examines what one transaction has read by itself.
func (c *checker) checkReads(i int) {
	own := map[string][]int64{}
	for _, o := range c.history[i].Operations {
		if o.Append {
			own[o.Key] = append(own[o.Key], o.Element)
			continue
		}
		mine := own[o.Key]
		if from := len(o.List) - len(mine); from < 0 || !slices.Equal(o.List[from:], mine) {
			c.found(Internal, []int{i}, "%v is not at the end of %s", mine, o.Key)
		}
		longest := c.longest[o.Key]
		if n := len(o.List); n == len(longest) || !slices.Equal(o.List, longest[:n]) {
			c.checkElements(i, o)
			c.checkOrder(i, o)
		}
		c.checkEnd(i, o)
	}
}

// checkElements is not needed for the beginning of a longer list, whose reader it finds
// at fault.
func (c *checker) checkElements(i int, o Operation) {
	seen := map[int64]bool{}
	for _, value := range o.List {
		if seen[value] {
			c.found(Duplicate, []int{i}, "%s has %d twice", o.Key, value)
		}
		seen[value] = true
		w, ok := c.writers[element{o.Key, value}]
		switch {
		case !ok:
			c.found(Unwritten, []int{i}, "%s has %d, which nobody has appended", o.Key, value)
		case c.history[w.transaction].Outcome == Aborted:
			c.found(G1a, []int{i, w.transaction}, "%s has %d of an aborted transaction", o.Key, value)
		}
	}
}

// checkRefusal looks for what an aborted transaction says has changed, and did not.
func (c *checker) checkRefusal(i int) {
	for _, o := range c.history[i].Operations {
		if !o.Changed {
			continue
		}
		if longest := c.longest[o.Key]; len(o.List) < len(longest) {
			if w, ok := c.writers[element{o.Key, longest[len(o.List)]}]; !ok || c.history[w.transaction].Begin <= c.history[i].End {
				continue
			}
		}
		c.found(G1a, []int{i}, "%s had not changed since %v", o.Key, o.List)
	}
}

func (c *checker) checkEnd(i int, o Operation) {
	if len(o.List) == 0 {
		return
	}
	end := o.List[len(o.List)-1]
	if w, ok := c.writers[element{o.Key, end}]; ok && !w.last && w.transaction != i {
		c.found(G1b, []int{i, w.transaction}, "%s ends with %d, in the middle of a transaction", o.Key, end)
	}
}

// checkOrder compares a list with the longest of its key.
func (c *checker) checkOrder(i int, o Operation) {
	longest := c.longest[o.Key]
	for at, value := range o.List {
		switch {
		case longest[at] == value:
			continue
		case !slices.Contains(longest, value):
			c.found(LostUpdate, []int{i}, "%d was seen in %s, and is not in its longest list %v", value, o.Key, longest)
		default:
			c.found(IncompatibleOrder, []int{i}, "the list of %s is not the beginning of %v", o.Key, longest)
		}
		return
	}
}

// checkLost looks for acknowledged appends that a later read does not have.
func (c *checker) checkLost() {
	latest := map[string]int{} // the read of each list that began last
	for i, t := range c.history {
		for _, o := range t.Operations {
			if o.Append || t.Outcome != Committed {
				continue
			}
			if before, ok := latest[o.Key]; !ok || t.Begin > c.history[before].Begin {
				latest[o.Key] = i
			}
		}
	}
	for i, t := range c.history {
		for _, o := range t.Operations {
			if !o.Append || t.Outcome != Committed || slices.Contains(c.longest[o.Key], o.Element) {
				continue
			}
			if reader, ok := latest[o.Key]; ok && c.history[reader].Begin > t.End {
				c.found(LostUpdate, []int{i, reader}, "%d was appended to %s, and no read has it, not even a later one", o.Element, o.Key)
			}
		}
	}
}
