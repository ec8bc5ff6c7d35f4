package store

import (
	"errors"
	"math/rand/v2"
	"testing"
)

// TestTallies compares sums in snapshots with a model that remembers every commit.
func TestTallies(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	places, labels := []Place{{"a", "n"}, {"b", "n"}, {"a", "m"}}, []string{"x", "y", "z"}
	type state map[Place]map[string]int64
	history := []state{{}}
	var tallies Tallies
	counted := 0
	sum := func(commit uint64, place Place, label string, fail error) {
		want := history[commit][place][label]
		got, err := tallies.Sum(place, commit, func(l string) bool { return l == label }, func() (map[string]int64, error) {
			counted++
			return history[commit][place], fail
		})
		if err == nil && got != want {
			t.Fatalf("%v in %v as of commit %d of %d: got %d, want %d", label, place, commit, len(history)-1, got, want)
		}
	}
	for commit := uint64(1); commit < 5000; commit++ {
		before, after, changes := history[commit-1], state{}, TallyChanges{}
		for place, numbers := range before {
			after[place] = map[string]int64{}
			for label, n := range numbers {
				after[place][label] = n
			}
		}
		for range random.IntN(4) {
			place, label, n := places[random.IntN(3)], labels[random.IntN(3)], random.Int64N(5)-2
			if after[place] == nil {
				after[place] = map[string]int64{}
			}
			after[place][label] += n
			changes.Add(place, label, n)
		}
		history = append(history, after)
		unknown := random.IntN(500) == 0
		if unknown {
			changes = nil
			for _, place := range places {
				changes.Forget(place)
				changes.Forget(place)
			}
		}
		early := random.IntN(50) == 0 // a snapshot may see a commit that has not been noted
		if early {
			sum(commit, places[random.IntN(3)], "x", nil)
		}
		tallies.Commit(commit, changes)
		tallies.Commit(commit, changes)
		old := commit - min(commit, random.Uint64N(100))
		for _, at := range []uint64{commit, old} {
			sum(at, places[random.IntN(3)], labels[random.IntN(3)], nil)
		}
		switch {
		case unknown:
			sum(commit, places[0], "x", errors.New("a failed count"))
		case random.IntN(500) == 0:
			tallies.Clear(commit)
		}
	}
	if counted > 1000 {
		t.Errorf("%d counts", counted)
	}
}

// TestTalliesWhileCounting commits while a tally is counted.
func TestTalliesWhileCounting(t *testing.T) {
	var tallies Tallies
	place := Place{"a", "n"}
	tallies.Commit(5, nil)
	_, err := tallies.Sum(place, 6, func(string) bool { return true }, func() (map[string]int64, error) {
		for commit := uint64(6); commit < 500; commit++ { // the snapshot sees the first
			tallies.Commit(commit, TallyChanges{{Place: place, Label: "x", N: 1}})
		}
		return map[string]int64{"x": 10}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, commit := range []uint64{499, 480} {
		n, err := tallies.Sum(place, commit, func(string) bool { return true }, func() (map[string]int64, error) {
			return nil, errors.New("counted again")
		})
		if want := int64(10 + commit - 6); err != nil || n != want {
			t.Errorf("as of commit %d: got %d, %v, want %d", commit, n, err, want)
		}
	}
}
