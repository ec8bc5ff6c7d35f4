package walk_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"marquee/engine/store"
	"marquee/engine/walk"
)

var errConflict = &store.Error{Code: store.CodeConflict}

// A walk meets a record that is written all the time, and others that are refused: the steps
// around them are halved until they are alone, whether the store runs a transaction again or
// gives it up, and grow again behind them. Everything else is changed.
func TestChangesHalveTheirSteps(t *testing.T) {
	const things, runsOfStore = 300, 3
	s := openThings(t)
	id := func(i int) string { return fmt.Sprintf("r%03d", i) }
	var writes []store.Write
	for i := range things {
		writes = append(writes, newThing(store.Key{Network: "n", ID: id(i)}))
	}
	put(t, s, writes...)
	hot, bad, left := id(70), []string{id(71), id(170)}, []string{}
	changed, runs, largest := map[string]bool{}, 0, 0
	run := func(some []store.Key) error {
		has := func(id string) bool { return slices.Contains(some, store.Key{Network: "n", ID: id}) }
		switch runs++; {
		case runs > 2*things:
			return &store.Error{Text: "the walk does not end"}
		case has(hot) && len(some) > 1:
			return errConflict
		case slices.ContainsFunc(bad, has):
			return errors.New("refused")
		}
		for _, key := range some {
			changed[key.ID] = true
		}
		if some[0].ID > bad[1] {
			largest = max(largest, len(some))
		}
		return nil
	}
	changes := &walk.Changes{Collection: "things", Needed: func(r *store.Record) (bool, error) { return !changed[r.ID], nil },
		Change: func(_ context.Context, _ string, keys func() []store.Key) (err error) {
			for n := 0; n < runsOfStore && (n == 0 || errors.Is(err, errConflict)); n++ {
				err = run(keys())
			}
			return err
		},
		Refused: func(key store.Key, _ error) error {
			left = append(left, key.ID)
			return nil
		}}
	end, err := changes.Run(t.Context(), s, time.Now().AddDate(1, 0, 0))
	if err != nil || !end || !slices.Equal(left, bad) || len(changed) != things-len(bad) || changes.Changed != int64(len(changed)) || changes.Met != things {
		t.Errorf("changed are %d of %d (%d counted), and left %v, want %v: %v", len(changed), changes.Met, changes.Changed, left, bad, err)
	}
	if runs > 60 || largest < 8 {
		t.Errorf("it took %d runs, and at most %d were changed at once at the end", runs, largest)
	}
}

// sideBySide is a store of which Changes is told that its transactions run beside each other.
type sideBySide struct{ store.Store }

func (sideBySide) Serial() bool { return false }

// A walk rests after each change for as long as that took, where others wait for it: not where
// transactions run beside each other, or somebody waits for the walk.
func TestChangesRest(t *testing.T) {
	const things, takes = 20, 10 * time.Millisecond
	for _, test := range []struct {
		name         string
		side, awaits bool
		want         time.Duration
	}{{"one writer", false, false, 2 * takes}, {"side by side", true, false, takes}, {"awaited", false, true, takes}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := openThings(t)
				var writes []store.Write
				for i := range things {
					writes = append(writes, newThing(store.Key{Network: "n", ID: fmt.Sprintf("r%03d", i)}))
				}
				put(t, s, writes...)
				if test.side {
					s = sideBySide{s}
				}
				changed := false
				changes := &walk.Changes{Collection: "things", Awaited: test.awaits, Needed: func(*store.Record) (bool, error) { return !changed, nil },
					Change: func(_ context.Context, _ string, keys func() []store.Key) error {
						changed = len(keys()) == things
						time.Sleep(takes) // by the clock of synctest, which does not wait
						return nil
					}}
				began := time.Now()
				if end, err := changes.Run(t.Context(), s, began.AddDate(1, 0, 0)); err != nil || !end || !changed {
					t.Error(end, changed, err)
				}
				if took := time.Since(began); took != test.want {
					t.Errorf("it took %v, want %v", took, test.want)
				}
			})
		})
	}
}
