//go:build race

package storetest

// underRace makes tests smaller that the race detector makes slow.
const underRace = true
