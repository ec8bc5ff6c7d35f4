//go:build race

package storetest

// underRace reduces tests that the race detector makes slow.
const underRace = true
