package histories

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestCheckRegister(t *testing.T) {
	t.Parallel()
	read := func(begin, end, version int64, value string) Access {
		return Access{Begin: begin, End: end, Outcome: Committed, Kind: ReadValue, Version: version, Value: value}
	}
	write := func(begin, end, version int64, value string) Access {
		return Access{Begin: begin, End: end, Outcome: Committed, Kind: WriteValue, Version: version, Value: value}
	}
	set := func(begin, end, expected, version int64, value string) Access {
		return Access{Begin: begin, End: end, Outcome: Committed, Kind: CompareAndSet, Expected: expected, Version: version, Value: value}
	}
	refused := func(begin, end, expected int64, value string) Access {
		return Access{Begin: begin, End: end, Outcome: Aborted, Kind: CompareAndSet, Expected: expected, Value: value}
	}
	lost := func(kind AccessKind, begin, expected int64, value string) Access {
		return Access{Begin: begin, Outcome: Unknown, Kind: kind, Expected: expected, Value: value}
	}
	for name, c := range map[string]struct {
		history []Access
		wrong   bool
	}{
		"nothing":                               {},
		"one after another":                     {[]Access{read(1, 2, 1, "0"), write(3, 4, 2, "x"), read(5, 6, 2, "x"), set(7, 8, 2, 3, "y"), refused(9, 10, 2, "z"), read(11, 12, 3, "y")}, false},
		"beside each other":                     {[]Access{write(1, 9, 3, "x"), write(2, 8, 2, "y"), read(3, 7, 2, "y"), read(4, 6, 3, "x")}, false},
		"a write without an answer, seen late":  {[]Access{lost(WriteValue, 1, 0, "x"), read(3, 4, 1, "0"), read(5, 6, 2, "x")}, false},
		"a write without an answer, never seen": {[]Access{lost(WriteValue, 1, 0, "x"), read(3, 4, 1, "0"), write(5, 6, 2, "y"), read(7, 8, 2, "y")}, false},
		"a condition without an answer":         {[]Access{lost(CompareAndSet, 1, 1, "x"), lost(CompareAndSet, 1, 1, "y"), read(5, 6, 2, "y")}, false},

		"a stale read":                   {[]Access{write(1, 2, 2, "x"), read(3, 4, 1, "0")}, true},
		"a read that goes back":          {[]Access{write(1, 9, 2, "x"), read(2, 3, 2, "x"), read(4, 5, 1, "0")}, true},
		"a lost update":                  {[]Access{set(1, 4, 1, 2, "x"), set(2, 3, 1, 2, "y")}, true},
		"an ignored condition":           {[]Access{write(1, 2, 2, "x"), set(3, 4, 1, 3, "y")}, true},
		"a condition that held":          {[]Access{refused(1, 2, 1, "x")}, true},
		"refused, and stored":            {[]Access{write(1, 9, 2, "y"), refused(1, 9, 1, "x"), read(10, 11, 3, "x")}, true},
		"acknowledged, and lost":         {[]Access{write(1, 2, 2, "x"), write(3, 4, 2, "y"), read(5, 6, 2, "y")}, true},
		"a value of nobody":              {[]Access{read(1, 2, 1, "x")}, true},
		"a version that is left out":     {[]Access{write(1, 2, 3, "x")}, true},
		"another value at a version":     {[]Access{write(1, 2, 2, "x"), read(3, 4, 2, "0")}, true},
		"two outcomes of one lost write": {[]Access{lost(WriteValue, 1, 0, "x"), read(3, 4, 2, "x"), write(5, 6, 3, "y"), read(7, 8, 4, "x")}, true},
	} {
		if err := CheckRegister("0", c.history, time.Minute); err != nil != c.wrong {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCheckRegisterGivesUp: what takes too long to decide is not said to be right.
func TestCheckRegisterGivesUp(t *testing.T) {
	t.Parallel()
	var history []Access
	for i := range int64(60) {
		history = append(history, Access{Begin: i, Outcome: Unknown, Kind: WriteValue, Value: fmt.Sprint(i)})
	}
	history = append(history, Access{Begin: 100, End: 101, Outcome: Committed, Kind: ReadValue, Version: 31, Value: "none of them"})
	if err := CheckRegister("0", history, 50*time.Millisecond); !errors.Is(err, ErrUndecided) {
		t.Errorf("%v", err)
	}
}
