// Package progress says what a call is doing that may take minutes: in words for
// operators, with the number of objects that are done. It imports nothing of the project.
// Begin with Steps, which is a store.Progress, and While.
package progress

import (
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"
)

// Steps are what a call does, one step after the other. It implements store.Progress. The
// zero value logs nothing.
type Steps struct {
	mu      sync.Mutex
	log     *slog.Logger
	step    string
	began   time.Time // when the step began
	objects int       // for which the step is done
}

// Log logs when a step with objects begins and ends, from now on.
func (s *Steps) Log(log *slog.Logger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = log
}

// Step implements store.Progress.
func (s *Steps) Step(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log != nil && s.objects > 0 {
		s.log.Info("done: "+s.step, slog.Int("objects", s.objects))
	}
	s.step, s.objects, s.began = text, 0, time.Now()
}

// Advance implements store.Progress.
func (s *Steps) Advance(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log != nil && s.objects == 0 && n > 0 {
		s.log.Info(s.step)
	}
	s.objects += n
}

// Took returns the time since the step began.
func (s *Steps) Took() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.began).Round(100 * time.Millisecond)
}

// String returns the step and its progress.
func (s *Steps) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == 0 {
		return s.step
	}
	return fmt.Sprintf("%s, %s so far", s.step, Counted(int64(s.objects), "object"))
}

// While calls say after a time, and then at each interval, with the time since While was
// called, until the function that it returns is called.
func While(first, every time.Duration, say func(took time.Duration)) (end func()) {
	begun, done, ended := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for next := first; ; next = every {
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

// Counted returns a number with a noun, in the plural if need be.
func Counted(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return Grouped(n) + " " + noun
}

// Grouped writes a number with its thousands apart.
func Grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
