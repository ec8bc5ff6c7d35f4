package command

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"marquee/engine/progress"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/verify"
)

// counting counts in the background which stored objects the set that is served concerns.
type counting struct {
	// end ends the count that is under way, and waits for that; it is nil if none was begun.
	end func()

	mu   sync.Mutex
	text string
}

// begin counts in place of the count before.
func (c *counting) begin(count func(context.Context) (note string)) {
	c.stop()
	c.end = background(context.Background(), func(ctx context.Context) { c.set(count(ctx)) })
}

// stop ends the count, and drops its result.
func (c *counting) stop() {
	if c.end != nil {
		c.end()
		c.end = nil
	}
	c.set("")
}

func (c *counting) set(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = text
}

// note is what /readyz says of the last count.
func (c *counting) note() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text
}

// maxConcerned is the maximum number of findings that the log has after a count.
const maxConcerned = 100

// countConcerned counts the stored objects that are invalid by the set that is served, or have
// values that it hides, where it differs from the set before it. The log has the number for
// each rule and place, and /readyz that for each type.
func (s *service) countConcerned(log *slog.Logger, before *schema.Registry) {
	served, since := s.Engine().Registry(), time.Now()
	s.counting.begin(func(ctx context.Context) string {
		var types []string
		var hidden, logged int64
		err := verify.CheckProposed(store.LongRunning(ctx), s.Engine().Catalog, verify.Proposal{
			Before: before, Proposed: served, Rest: pause,
			Progress: func(string, int64) error { return nil },
			Read: func(name string, concerned int64) {
				// Everybody can read the note, and not everybody may know a type that needs a
				// permission. A type that is gone has a note of its own, unless such types are
				// left out on purpose.
				switch t, there := served.Named(name); {
				case !there:
				case t.Read != "":
					hidden += concerned
				case concerned > 0:
					types = append(types, name+" "+progress.Grouped(concerned))
				}
			},
			Finding: func(f *verify.Finding) error {
				if logged++; logged <= maxConcerned {
					log.Warn("the schemas concern stored objects", slog.String("type", f.Type), slog.String("at", f.At), slog.String("rule", f.Rule), slog.String("text", f.Text), slog.Int64("objects", f.Objects))
				}
				return nil
			},
		})
		switch {
		case ctx.Err() != nil:
			return ""
		case err != nil:
			log.Warn("the stored objects that the schemas concern could not be counted", slog.String("cause", err.Error()))
			return ""
		case logged > maxConcerned:
			log.Warn("the schemas concern stored objects at more places; "+programName+" check lists them", slog.Int64("places", logged-maxConcerned))
		}
		if hidden > 0 {
			types = append(types, "others "+progress.Grouped(hidden))
		}
		if len(types) == 0 {
			return ""
		}
		return fmt.Sprintf("stored objects that the schemas served since %s would refuse, or hide values of: %s; %s", since.UTC().Format(time.RFC3339), strings.Join(types, ", "), seeLog)
	})
}
