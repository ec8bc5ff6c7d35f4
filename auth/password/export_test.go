package password

import "testing"

// Hashes returns the number of hashes that were computed.
func Hashes() int64 { return hashes.Load() }

// MaxLength is the maximum number of characters of a password.
const MaxLength = maxLength

// OneSeat replaces the line for computing hashes, until the test ends, by one with a single
// seat, which is occupied until release is called.
func OneSeat(t *testing.T, mostOfOrigin int) (waiting func() int, release func()) {
	t.Helper()
	before := hashing
	hashing = newLine(1, mostOfOrigin, 1000)
	t.Cleanup(func() { hashing = before })
	if err := hashing.enter(t.Context(), "the test"); err != nil {
		t.Fatal(err)
	}
	return hashing.Waiting, func() { hashing.leave("the test") }
}
