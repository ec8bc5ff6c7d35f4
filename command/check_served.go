package command

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"marquee/command/exit"
	"marquee/engine/folder"
	"marquee/engine/message"
	"marquee/engine/rest"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/verify"
	"marquee/engine/walk"
)

const (
	// checkTime is the longest time that a check by a server may take.
	checkTime = 24 * time.Hour
	// maxProposed is the maximum size of a packed set.
	maxProposed = 16 << 20
	// maxPause bounds the pause after a page.
	maxPause = 100 * time.Millisecond
	// progressEvery is how often a server reports the progress within a step, and sayEvery how
	// often a command shows it.
	progressEvery = time.Second
	sayEvery      = 5 * time.Second
)

// pace limits how often the progress within a step is reported.
type pace struct {
	step     string
	reported time.Time
}

// due reports whether the step is a new one, or was reported longer than a time ago, and is
// to be reported now.
func (p *pace) due(step string, every time.Duration) bool {
	if step == p.step && time.Since(p.reported) < every {
		return false
	}
	p.step, p.reported = step, time.Now()
	return true
}

// checks lets one check run at a time, until the server shuts down.
type checks struct {
	running sync.Mutex
	ended   context.Context
	end     context.CancelFunc
}

func newChecks() *checks {
	c := &checks{}
	c.ended, c.end = context.WithCancel(context.Background()) // #nosec G118 -- the shutdown calls it
	return c
}

// checkPath is the path of checkRoute.
const checkPath = "/operator/check"

// checkRoute is what marquee check asks a server: to check the store, or, with a packed set as
// the body, what that would do to the stored objects. The answer is a checkLine on each line.
// The check ends when the client goes away.
func checkRoute(s *service) rest.Route {
	return rest.Route{Path: checkPath, Methods: []string{http.MethodPost}, Operator: true, Deadline: checkTime, Serve: func(r *rest.Call) error {
		packed, err := r.ReadBody(maxProposed)
		if err != nil {
			return err
		}
		return s.stream(r, func(ctx context.Context, write func(checkLine) error) error {
			var p pace
			return s.check(ctx, r, packed, func(line checkLine) error {
				if line.Checking != "" && !p.due(line.Checking, progressEvery) {
					return nil
				}
				return write(line)
			})
		})
	}}
}

// stream answers with the lines that run writes, until it ends, the client goes away or the
// server shuts down.
func (s *service) stream(r *rest.Call, run func(ctx context.Context, write func(checkLine) error) error) error {
	lines, err := r.Lines()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.checks.ended, cancel)()
	last := checkLine{Complete: true}
	if err := run(ctx, func(line checkLine) error { return lines.Write(line) }); err != nil {
		last = checkLine{Failed: s.whyFailed(r, err), Usage: exit.IsUsage(err)}
	}
	_ = lines.Write(last) // the client may be gone
	return nil
}

var errChecking = errors.New("another check is running: wait until it has ended")

// check runs a check for a call, beside other calls: after each page, it pauses for half the
// time that the page took.
func (s *service) check(ctx context.Context, r *rest.Call, packed []byte, yield func(checkLine) error) error {
	if !s.checks.running.TryLock() {
		return errChecking
	}
	defer s.checks.running.Unlock()
	check := storeCheck{store: "the store", catalog: r.Engine().Catalog, yield: yield, pause: pause}
	if len(packed) == 0 {
		return check.stored(ctx, s.application.Verifiers)
	}
	files, err := folder.Unpack(packed)
	if err != nil {
		return err
	}
	proposed, err := s.application.Load(schema.Source{Name: "the proposed set", FS: files})
	if err != nil {
		return err
	}
	return check.proposed(ctx, r.Engine().Registry(), proposed, func() verify.Temporary { return r.Temporary() })
}

// pause leaves to others a third of the time.
func pause(ctx context.Context, took time.Duration) { walk.Sleep(ctx, min(took/2, maxPause)) }

// whyFailed returns why a check has failed, in words for the operator.
func (s *service) whyFailed(r *rest.Call, err error) string {
	var known *message.Error
	var problems schema.Problems
	var failed *store.Error
	switch {
	case s.checks.ended.Err() != nil:
		return "the server is shutting down"
	case exit.IsUsage(err), errors.Is(err, errChecking), errors.Is(err, errDeclaredAgain), errors.As(err, &known) && !errors.As(err, &failed), errors.As(err, &problems):
		return err.Error()
	case errors.Is(r.Context().Err(), context.Canceled):
		return "" // nobody reads it: the client is gone
	}
	r.Log().Error("a command of the operator failed", slog.String("cause", err.Error()))
	if errors.As(err, &failed) && failed.Text != "" {
		return failed.Text
	}
	return "the log of the server has the reason"
}

// follow sends a request that a server answers with lines (service.stream), and calls print
// with each but the last.
func (o *operator) follow(ctx context.Context, path string, body []byte, print func(checkLine) error) error {
	return followLines(ctx, o, path, body, "know this command", func(line checkLine) (last bool, err error) {
		switch {
		case line.Complete:
			return true, nil
		case line.Usage:
			return true, exit.Usagef("%s", line.Failed)
		case line.Failed != "":
			return true, errors.New(line.Failed)
		}
		return false, print(line)
	})
}
