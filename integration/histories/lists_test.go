package histories

import (
	"slices"
	"testing"
)

// at is a committed transaction.
func at(begin, end int64, operations ...Operation) Transaction {
	return Transaction{Begin: begin, End: end, Outcome: Committed, Operations: operations}
}

// beside are committed transactions of which each overlaps all others.
func beside(transactions ...[]Operation) (history []Transaction) {
	for _, operations := range transactions {
		history = append(history, at(1, 2, operations...))
	}
	return history
}

func aborted(operations ...Operation) Transaction {
	return Transaction{Begin: 1, End: 2, Outcome: Aborted, Operations: operations}
}

func unknown(operations ...Operation) Transaction {
	return Transaction{Begin: 1, Outcome: Unknown, Operations: operations}
}

type ops = []Operation

func TestCheckLists(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		history []Transaction
		want    []Kind
	}{
		"nothing": {},
		"one after another": {[]Transaction{
			at(1, 2, Append("a", 1), Append("b", 1), Read("a", 1), Read("b", 1)),
			at(3, 4, Read("a", 1), Append("a", 2), Read("a", 1, 2)),
			at(5, 6, Read("a", 1, 2), Read("b", 1))}, nil},
		"beside each other, in an order that time does not give": {[]Transaction{
			at(1, 9, Append("a", 1), Append("b", 1)), at(2, 8, Read("a"), Read("b")), at(3, 7, Append("a", 2), Append("b", 2)),
			at(10, 11, Read("a", 2, 1), Read("b", 2, 1))}, nil},
		"a write without an answer that takes effect later": {[]Transaction{
			unknown(Append("a", 1), Append("b", 1)), at(3, 4, Read("a")), at(5, 6, Append("a", 2)), at(7, 8, Read("a", 2, 1), Read("b", 1))}, nil},
		"a write without an answer that takes no effect": {[]Transaction{unknown(Append("a", 1)), at(3, 4, Read("a"))}, nil},
		"an aborted write":            {[]Transaction{aborted(Append("a", 1)), at(3, 4, Read("a"))}, nil},
		"refused because of a change": {[]Transaction{at(1, 2, Append("a", 1)), aborted(Changed("a")), at(3, 4, Read("a", 1))}, nil},
		"several elements of a transaction": {[]Transaction{
			at(1, 2, Append("a", 1), Append("a", 2)), at(1, 2, Read("a")), at(3, 4, Read("a", 1, 2))}, nil},

		"G0": {beside(ops{Append("a", 1), Append("b", 1)}, ops{Append("a", 2), Append("b", 2)}, ops{Read("a", 1, 2)}, ops{Read("b", 2, 1)}),
			[]Kind{G0}},
		"G0 over three lists": {beside(ops{Append("a", 1), Append("c", 1)}, ops{Append("a", 2), Append("b", 2)}, ops{Append("b", 3), Append("c", 3)},
			ops{Read("a", 1, 2)}, ops{Read("b", 2, 3)}, ops{Read("c", 3, 1)}), []Kind{G0}},
		"G1a":                       {[]Transaction{aborted(Append("a", 1)), at(1, 2, Read("a", 1))}, []Kind{G1a}},
		"G1a below another element": {[]Transaction{aborted(Append("a", 1)), at(1, 2, Append("a", 2)), at(1, 2, Read("a", 1, 2))}, []Kind{G1a}},
		"G1a by a refusal":          {[]Transaction{aborted(Append("a", 1)), aborted(Changed("a")), at(3, 4, Read("a"))}, []Kind{G1a}},
		"G1a by a refusal, before another change": {[]Transaction{at(1, 2, Append("a", 1)), aborted(Changed("a", 1)), at(3, 4, Append("a", 2)),
			at(5, 6, Read("a", 1, 2))}, []Kind{G1a}},
		"G1b":              {beside(ops{Append("a", 1), Append("a", 2)}, ops{Read("a", 1)}), []Kind{G1b}},
		"G1c":              {beside(ops{Append("a", 1), Read("b", 1)}, ops{Append("b", 1), Read("a", 1)}), []Kind{G1c}},
		"G1c with a write": {beside(ops{Append("a", 1), Read("b", 1)}, ops{Append("a", 2), Append("b", 1)}, ops{Read("a", 1, 2)}), []Kind{G1c}},
		"lost update, both in the list": {beside(ops{Read("a"), Append("a", 1)}, ops{Read("a"), Append("a", 2)}, ops{Read("a", 1, 2)}),
			[]Kind{LostUpdate}},
		"lost update, one vanishes": {beside(ops{Append("a", 1), Read("a", 1)}, ops{Append("a", 2), Append("a", 3), Read("a", 2, 3)}),
			[]Kind{LostUpdate}},
		"lost update, never seen": {[]Transaction{at(1, 2, Append("a", 1)), at(3, 4, Read("a"))}, []Kind{LostUpdate}},
		"G-single, half a transaction": {beside(ops{Append("a", 1), Append("b", 1)}, ops{Read("a", 1), Read("b")}, ops{Read("b", 1)}),
			[]Kind{GSingle}},
		"G-single, from an old state of another list": {beside(ops{Append("a", 1), Append("b", 1)}, ops{Read("a"), Append("b", 2)}, ops{Read("a", 1)}, ops{Read("b", 1, 2)}),
			[]Kind{GSingle}},
		"G2, write skew": {beside(ops{Read("a"), Append("b", 1)}, ops{Read("b"), Append("a", 1)}, ops{Read("a", 1)}, ops{Read("b", 1)}),
			[]Kind{G2}},
		"G2, two readers in different orders": {beside(ops{Append("a", 1)}, ops{Append("b", 1)}, ops{Read("a", 1), Read("b")}, ops{Read("a"), Read("b", 1)}),
			[]Kind{G2}},
		"a stale read": {[]Transaction{at(1, 2, Append("a", 1)), at(3, 4, Read("a")), at(5, 6, Read("a", 1))}, []Kind{GSingle.InRealTime()}},
		"a write before one that had ended": {[]Transaction{at(1, 2, Append("a", 1)), at(3, 4, Append("a", 2)), at(3, 6, Read("a", 2, 1))},
			[]Kind{G0.InRealTime()}},
		"a read of the future": {[]Transaction{at(1, 2, Read("a", 1)), at(3, 4, Append("a", 1))}, []Kind{G1c.InRealTime()}},
		"two readers, one after the other": {[]Transaction{at(1, 9, Append("a", 1)), at(2, 3, Read("a", 1)), at(4, 5, Read("a"))},
			[]Kind{GSingle.InRealTime()}},
		"incompatible order": {beside(ops{Append("a", 1)}, ops{Append("a", 2)}, ops{Append("a", 3)}, ops{Read("a", 1, 2, 3)}, ops{Read("a", 1, 3)}),
			[]Kind{IncompatibleOrder}},
		"internal":          {beside(ops{Append("a", 1), Read("a")}), []Kind{Internal}},
		"duplicate element": {beside(ops{Append("a", 1)}, ops{Read("a", 1, 1)}), []Kind{Duplicate}},
		"unwritten element": {beside(ops{Read("a", 1)}), []Kind{Unwritten}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := CheckLists(c.history)
			for _, kind := range c.want {
				if !slices.ContainsFunc(found, func(a Anomaly) bool { return a.Kind == kind }) {
					t.Errorf("%s is not found", kind)
				}
			}
			// What follows from the injected fault is of the same kind, but for lists
			// that cannot be compared.
			for _, a := range found {
				if !slices.Contains(c.want, a.Kind) && !slices.Contains(c.want, LostUpdate) && !slices.Contains(c.want, IncompatibleOrder) && !slices.Contains(c.want, Internal) {
					t.Errorf("found %s", a)
				}
			}
			if len(c.want) == 0 && len(found) > 0 {
				t.Errorf("found in a history without faults: %v", found)
			}
		})
	}
}

// TestCheckListsSerial compares the checker with known results: transactions that ran
// one after another have no anomaly, and one that moves to another time has.
func TestCheckListsSerial(t *testing.T) {
	t.Parallel()
	keys := []string{"a", "b", "c"}
	lists := map[string][]int64{}
	var history []Transaction
	for i := range int64(2000) {
		var operations ops
		for k, key := range keys {
			switch (i + int64(k)) % 4 {
			case 0:
				lists[key] = append(slices.Clone(lists[key]), i)
				operations = append(operations, Append(key, i), Read(key, lists[key]...))
			case 1, 2:
				operations = append(operations, Read(key, lists[key]...))
			}
		}
		history = append(history, at(10*i, 10*i+25, operations...)) // beside two others
	}
	if found := CheckLists(history); len(found) > 0 {
		t.Fatalf("found %v", found[0])
	}
	moved := slices.Clone(history)
	moved[1000].Begin, moved[1000].End = 100, 101
	if found := CheckLists(moved); len(found) == 0 {
		t.Error("a transaction that has seen the future is not found")
	}
}
