//go:build !race

package integration

// procRace builds the program as the tests are built.
const procRace = false
