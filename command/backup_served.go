package command

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"marquee/command/backup"
	"marquee/command/exit"
	"marquee/engine/rest"
	"marquee/engine/store/sqlite"
)

// maxBackupRequest is the maximum size of a backupRequest.
const maxBackupRequest = 64 << 10

// backupRequest is what marquee backup asks a server for.
type backupRequest struct {
	Target string `json:"target"`
	Keep   int    `json:"keep,omitempty"`
}

// backupLine is a line of the answer. The last one has the result, or the reason of the failure,
// or both if the backup is good and something after it failed.
type backupLine struct {
	Step   string         `json:"step,omitempty"`
	Done   int64          `json:"done,omitempty"`
	Total  int64          `json:"total,omitempty"`
	Result *backup.Result `json:"result,omitempty"`
	Failed string         `json:"failed,omitempty"`
}

// backups are the backups of the store that is served.
type backups struct {
	// last is when the last good one began, in Unix nanoseconds; 0 is none.
	last atomic.Int64
	// age is the age from which /readyz says that the last one is too old; 0 is none.
	age time.Duration
}

// lastBackup returns when the last good backup of the store began; the zero time is none. It is
// known of SQLite stores.
func (s *service) lastBackup() time.Time {
	if at := s.backups.last.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

// loadLastBackup reads when the last good backup was made.
func (s *service) loadLastBackup(ctx context.Context) error {
	at, err := backup.Last(ctx, s.Store())
	if err == nil && !at.IsZero() {
		s.backups.last.Store(at.UnixNano())
	}
	return err
}

// noteBackup says for /readyz that the last good backup is too old, "" if it is not.
func (s *service) noteBackup(now time.Time) string {
	if s.backups.age == 0 {
		return ""
	}
	switch last := s.lastBackup(); {
	case last.IsZero():
		return "no backup was made yet"
	case last.After(now):
		return fmt.Sprintf("the last good backup was made at %s, which is in the future: check the clock, and make a backup", last.UTC().Format(time.RFC3339))
	case now.Sub(last) > s.backups.age:
		return fmt.Sprintf("the last good backup was made at %s, which is longer ago than %s", last.UTC().Format(time.RFC3339), s.backups.age)
	}
	return ""
}

// backupRoute makes a backup of the store that is served, beside other calls. The answer is a
// backupLine on each line. The backup ends when the client goes away.
func backupRoute(s *service, file, version string) rest.Route {
	return rest.Route{Path: "/operator/backup", Methods: []string{http.MethodPost}, Operator: true, Deadline: checkTime, Serve: func(r *rest.Call) error {
		body, err := r.ReadBody(maxBackupRequest)
		if err != nil {
			return err
		}
		var asked backupRequest
		if err := json.Unmarshal(body, &asked); err != nil {
			return err
		}
		lines, err := r.Lines()
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(s.checks.ended, cancel)()
		var last backupLine
		job := &backup.Job{Store: s.Store().(*sqlite.Store), File: file, Target: asked.Target, Keep: asked.Keep, Sealer: s.sealer, Version: version}
		var p pace
		job.Say = func(step string, done, total int64) {
			if p.due(step, progressEvery) && lines.Write(backupLine{Step: step, Done: done, Total: total}) != nil {
				cancel()
			}
		}
		last.Result, err = job.Run(ctx)
		if last.Result != nil {
			s.backups.last.Store(last.Result.Time.UnixNano())
			r.Log().Info("a backup was made", slog.String("file", last.Result.Path), slog.Int64("bytes", last.Result.Size))
		}
		if err != nil {
			last.Failed = exit.Text(exit.Cause(err))
			if s.checks.ended.Err() != nil {
				last.Failed = "the server is shutting down"
			}
			r.Log().Error(unfinished(last.Result), slog.String("target", asked.Target), slog.String("cause", last.Failed))
		}
		_ = lines.Write(last) // the client may be gone
		return nil
	}}
}
