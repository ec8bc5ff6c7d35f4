package command

import (
	"fmt"
	"os"
	"time"
)

// When a command reports that it is waiting for a database: first, and then again.
const (
	firstWaiting = 1500 * time.Millisecond
	everyWaiting = 5 * time.Second
	// everyStarting is for a store that is being opened.
	everyStarting = 10 * time.Second
)

// sayWaiting says on standard error what is waited for.
func sayWaiting(name string) func(waited time.Duration) {
	return func(waited time.Duration) {
		fmt.Fprintf(os.Stderr, "%s: %s does not answer; waiting for it (%s)\n", programName, name, waited)
	}
}
