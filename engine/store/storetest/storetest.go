// Package storetest proves that a store keeps the promise of package store: one
// suite, run on every adapter, and a decorator that checks the contract while
// other tests run. It imports store, document and query, and no adapter. Begin with Run;
// each part of the suite has a file of its own.
package storetest

import (
	"slices"
	"testing"

	"marquee/engine/query"
	"marquee/engine/store"
)

// Harness opens stores of an adapter.
type Harness struct {
	// Open returns an empty store, and closes it when the test ends.
	Open func(t testing.TB) store.Store
	// Reopen closes a store that Open returned and opens it again with its
	// contents. It is nil for a store that keeps nothing.
	Reopen func(t testing.TB, s store.Store) store.Store
	// Loading closes a store, unless it is nil, which stands for a new one, and opens it again,
	// for loading or not. The error is that of opening. It is nil for a store that cannot be
	// opened for loading, which is no target of copies.
	Loading func(t testing.TB, s store.Store, loading bool) (store.Portable, error)
	// Explain returns how a store answers a query, or counts it. It is nil when
	// the adapter cannot know.
	Explain func(t testing.TB, s store.Store, q query.Query, count bool) Plan
}

// Plan is how a store answers a query.
type Plan struct {
	Text string
	// Scans reports whether more records are read than match, or than a page in
	// the order of an index needs. Sorts reports whether the result is sorted
	// afterwards.
	Scans, Sorts bool
}

// sequential are long parts that make one call after another.
var sequential = []string{"Where", "Order", "Blobs", "BlobFaults"}

// Run runs the suite. Every test has a store of its own, watched by Checked.
func Run(t *testing.T, h Harness) {
	for _, part := range []struct {
		name string
		run  func(*testing.T, Harness)
	}{
		{"Records", testRecords},
		{"Revisions", testRevisions},
		{"Ahead", testAhead},
		{"Claims", testClaims},
		{"Atomicity", testAtomicity},
		{"Context", testContext},
		{"Concurrency", testConcurrency},
		{"Snapshots", testSnapshots},
		{"Where", testWhere},
		{"RandomQueries", testRandomQueries},
		{"Ordered", testOrdered},
		{"Order", testOrder},
		{"Count", testCount},
		{"Feed", testFeed},
		{"Notices", testNotices},
		{"Unchanged", testUnchanged},
		{"Recent", testRecent},
		{"Drop", testDrop},
		{"Remove", testRemove},
		{"Lock", testLock},
		{"Ensure", testEnsure},
		{"Refill", testRefill},
		{"IndexMeetsPut", testIndexMeetsPut},
		{"Rewrite", testRewrite},
		{"Retention", testRetention},
		{"Settle", testSettle},
		{"Now", testNow},
		{"Load", testLoad},
		{"Life", testLife},
		{"Blobs", testBlobs},
		{"BlobFaults", testBlobFaults},
		{"BlobConcurrency", testBlobConcurrency},
		{"Plans", testPlans},
	} {
		t.Run(part.name, func(t *testing.T) {
			if underRace && testing.Short() && slices.Contains(sequential, part.name) {
				t.Skip("one call after another is slow under the race detector: run without -short")
			}
			t.Parallel()
			part.run(t, h)
		})
	}
	// LargeBlob measures memory, so it runs before the parallel tests, which
	// wait until Run returns.
	t.Run("LargeBlob", func(t *testing.T) { testLargeBlob(t, h) })
}
