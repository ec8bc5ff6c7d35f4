package service

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"
)

// Patience is the time limit of what must happen.
const Patience = 3 * time.Minute

// Output keeps what a process prints, and signals when there is more.
type Output struct {
	mu    sync.Mutex
	text  []byte
	ended bool
	more  chan struct{} // closed at the next change
}

// NewOutput returns an empty output.
func NewOutput() *Output { return &Output{more: make(chan struct{})} }

// Write implements io.Writer.
func (o *Output) Write(text []byte) (int, error) {
	o.change(func() { o.text = append(o.text, text...) })
	return len(text), nil
}

// End says that nothing more will come.
func (o *Output) End() { o.change(func() { o.ended = true }) }

func (o *Output) change(do func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	do()
	close(o.more)
	o.more = make(chan struct{})
}

// String returns all that has been written.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}

// Mark is a place to await lines from: the end of what there is.
func (o *Output) Mark() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.text)
}

// Await waits for a whole line behind a place for which match holds, and
// returns it; "" when the output ends without one.
func (o *Output) Await(tb testing.TB, from int, match func(line string) bool) string {
	tb.Helper()
	timeout := time.After(Patience)
	for {
		o.mu.Lock()
		text, ended, more := string(o.text), o.ended, o.more
		o.mu.Unlock()
		for {
			line, _, whole := strings.Cut(text[from:], "\n")
			if !whole {
				break
			}
			from += len(line) + 1
			if match(line) {
				return line
			}
		}
		if ended {
			return ""
		}
		select {
		case <-more:
		case <-timeout:
			tb.Fatalf("the line that is awaited does not come; there is:\n%s", text)
		}
	}
}

// Entry is a line of the log in JSON, nil when it is none.
func Entry(line string) map[string]any {
	var entry map[string]any
	if json.Unmarshal([]byte(line), &entry) != nil {
		return nil
	}
	return entry
}

// Says matches the log lines with a message.
func Says(message string) func(line string) bool {
	return func(line string) bool { return Entry(line)["msg"] == message }
}
