package mongo

import "testing"

func TestAnswersOfLargeRecordsHaveFew(t *testing.T) {
	var a answers
	expect := func(what string, n int, want int32) {
		t.Helper()
		if got := a.batch("layouts", n); got != want {
			t.Errorf("%s: a batch of %d records of %d, want %d", what, got, n, want)
		}
	}
	expect("unknown", 5000, mostRecords)
	expect("few", 3, 4)
	a.learn("layouts", 10, 10<<20)
	expect("records of 1 MiB", 60, 2)
	a.learn("layouts", 1, 16<<20)
	expect("records larger than an answer", 60, 1)
	for range 100 {
		a.learn("layouts", 100, 100<<10)
	}
	expect("small ones for a while", 5000, mostRecords)
	a.learn("layouts", 0, 0)
	expect("none", 5000, mostRecords)
}
