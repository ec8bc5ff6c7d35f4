package command

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// When a command reports that it is waiting for a database: first, and then again.
const (
	firstWaiting = 1500 * time.Millisecond
	everyWaiting = 5 * time.Second
	// everyStarting is for a store that is being opened.
	everyStarting = 10 * time.Second
)

// whileWaiting calls say at first soon, and then at each interval, with the time since
// it was called, until the function that it returns is called.
func whileWaiting(every time.Duration, say func(waited time.Duration)) (answered func()) {
	begun, done, ended := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for next := firstWaiting; ; next = every {
			select {
			case <-done:
				return
			case <-time.After(next):
				say(time.Since(begun).Round(100 * time.Millisecond))
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(done)
		<-ended
	})
}

// sayWaiting says on standard error what is waited for.
func sayWaiting(name string) func(waited time.Duration) {
	return func(waited time.Duration) {
		fmt.Fprintf(os.Stderr, "marquee: %s does not answer; waiting for it (%s)\n", name, waited)
	}
}
