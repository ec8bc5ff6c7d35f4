// Package storetest proves that a store keeps the promise of the port: one
// suite, run on every adapter, and a decorator that watches the contract while
// any other test runs.
package storetest

import (
	"testing"

	"marquee/engine/query"
	"marquee/engine/store"
)

// Harness says how to come by stores of an adapter, and what it can do.
type Harness struct {
	// Open makes an empty store; the harness closes it when the test ends.
	Open func(t testing.TB) store.Store
	// Reopen closes a store of Open and opens again what it has kept. It is
	// nil for a store that keeps nothing.
	Reopen func(t testing.TB, s store.Store) store.Store
	// Explain tells how a store answers a query, or counts it. It is nil when
	// the adapter cannot tell.
	Explain func(t testing.TB, s store.Store, q query.Query, count bool) Plan
}

// Plan is how a store answers a query.
type Plan struct {
	Text string
	// Scans says that more records are walked than match, or than a page of
	// an order that has an index needs. Sorts says that what was found is
	// brought into its order afterwards.
	Scans, Sorts bool
}

// Run proves each promise. Every test has a store of its own, watched by
// Checked.
func Run(t *testing.T, h Harness) {
	for _, part := range []struct {
		name string
		run  func(*testing.T, Harness)
	}{
		{"Records", testRecords},
		{"Versions", testVersions},
		{"Claims", testClaims},
		{"Atomicity", testAtomicity},
		{"Context", testContext},
		{"Concurrency", testConcurrency},
		{"Snapshots", testSnapshots},
		{"Where", testWhere},
		{"RandomQueries", testRandomQueries},
		{"Order", testOrder},
		{"Count", testCount},
		{"Feed", testFeed},
		{"Notices", testNotices},
		{"Revision", testRevision},
		{"Ensure", testEnsure},
		{"Refill", testRefill},
		{"Settle", testSettle},
		{"Life", testLife},
		{"Blobs", testBlobs},
		{"BlobFaults", testBlobFaults},
		{"BlobConcurrency", testBlobConcurrency},
		{"Plans", testPlans},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			part.run(t, h)
		})
	}
	// Before the others, which wait until Run returns: it watches the memory.
	t.Run("LargeBlob", func(t *testing.T) { testLargeBlob(t, h) })
}
