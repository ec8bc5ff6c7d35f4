package histories

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// Access is one operation of a client on a register: an object with a value and a
// version, which each write raises by one.
type Access struct {
	Client     int
	Begin, End int64
	Outcome    Outcome
	Kind       AccessKind
	// Value is what is written, or what was read.
	Value string
	// Expected is the version that a compare-and-set names.
	Expected int64
	// Version is what a read has found or a write has made; 0 if that is not known.
	Version int64
}

type AccessKind int

const (
	ReadValue AccessKind = iota
	WriteValue
	// CompareAndSet writes if the version is the expected one. Its outcome is Aborted
	// if it is not.
	CompareAndSet
)

func (a Access) String() string {
	return fmt.Sprintf("client %d, from %d to %d: %s %q (%s, expected version %d, version %d)", a.Client, a.Begin, a.End,
		[...]string{"read", "write", "compare-and-set"}[a.Kind], a.Value, a.Outcome, a.Expected, a.Version)
}

type register struct {
	version int64
	value   string
}

// registerModel takes a write of unknown outcome for one that has not ended: it then can
// come after everything else, where nobody sees it. That needs no second state.
var registerModel = porcupine.Model{
	Step: func(state, input, _ any) (bool, any) {
		is, a := state.(register), input.(Access)
		next := register{is.version + 1, a.Value}
		switch {
		case a.Kind == ReadValue:
			return is == register{a.Version, a.Value}, is
		case a.Kind == CompareAndSet && a.Outcome == Aborted:
			return is.version != a.Expected, is
		case a.Kind == CompareAndSet && is.version != a.Expected:
			return a.Outcome == Unknown, is
		case a.Outcome == Unknown || a.Version == 0:
			return true, next
		}
		return a.Version == next.version, next
	},
}

// ErrUndecided is wrapped by the error of CheckRegister if the time was too short.
var ErrUndecided = errors.New("it was not decided in time whether the history is linearizable")

// CheckRegister returns an error unless the history of a register, which has the version
// 1 and a value at first, is linearizable. Reads that failed, and writes that were
// aborted for another reason than their condition, must not be part of it.
func CheckRegister(first string, history []Access, limit time.Duration) error {
	model := registerModel
	model.Init = func() any { return register{1, first} }
	var operations []porcupine.Operation
	for _, a := range history {
		end := a.End
		if a.Outcome == Unknown {
			end = math.MaxInt64
		}
		operations = append(operations, porcupine.Operation{ClientId: a.Client, Input: a, Call: a.Begin, Return: end})
	}
	result, info := porcupine.CheckOperationsVerbose(model, operations, limit)
	switch result {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return fmt.Errorf("%w: %d operations in %v", ErrUndecided, len(history), limit)
	}
	var text strings.Builder
	for _, partial := range info.PartialLinearizationsOperations() {
		for _, longest := range partial[:min(1, len(partial))] {
			fmt.Fprintf(&text, "\n  %d of %d operations can be ordered, the last of them", len(longest), len(history))
			for _, o := range longest[max(0, len(longest)-5):] {
				fmt.Fprintf(&text, "\n    %v", o.Input)
			}
		}
	}
	return fmt.Errorf("the history is not linearizable:%s", text.String())
}
