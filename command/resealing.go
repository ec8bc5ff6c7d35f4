package command

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"marquee/auth/seal"
	"marquee/engine"
	"marquee/engine/event"
)

// resealing is the state of encrypting all secrets with a new key, as marquee secrets
// rotate reads it from the file beside the key file while the store is being served.
type resealing struct {
	// Key is the id of the new key.
	Key      string    `json:"key"`
	Records  int64     `json:"records"`
	Total    int64     `json:"total"`
	Resealed int64     `json:"resealed"`
	Complete bool      `json:"complete"`
	Error    string    `json:"error,omitempty"`
	Time     time.Time `json:"time"`
}

// resealingFile is the file with the state, beside a key file.
func resealingFile(keyFile string) string { return keyFile + ".progress" }

// readResealing returns the state, the zero value if there is none.
func readResealing(keyFile string) (state resealing) {
	text, err := os.ReadFile(resealingFile(keyFile))
	if err != nil || json.Unmarshal(text, &state) != nil {
		return resealing{}
	}
	return state
}

func (r resealing) write(keyFile string) error {
	r.Time = time.Now().UTC()
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return seal.WriteFile(resealingFile(keyFile), text, os.Rename)
}

// resealer encrypts all secrets with the key that encrypts.
type resealer struct {
	mu    sync.Mutex
	state resealing
}

// note says for /readyz what is being done, "" if nothing is.
func (r *resealer) note() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state.Key == "" || r.state.Complete {
		return ""
	}
	return fmt.Sprintf("secrets are being encrypted with a new key: %d of %d records have been looked at", r.state.Records, r.state.Total)
}

func (r *resealer) set(state resealing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = state
}

// resealingInterval is the interval at which progress is shown and the key file is read.
const resealingInterval = time.Second

// reseal encrypts all secrets with the key that encrypts, and shows the progress.
func (s *service) reseal(ctx context.Context, show func(resealing)) error {
	state := resealing{Key: s.sealer.KeyID()}
	report := func() {
		s.resealing.set(state)
		show(state)
	}
	report()
	shown := time.Now()
	err := s.Engine().Reseal(ctx, func(p engine.Resealing) {
		state.Records, state.Total, state.Resealed = p.Records, p.Total, p.Resealed
		if time.Since(shown) >= resealingInterval {
			shown = time.Now()
			report()
		}
	})
	if state.Complete = err == nil; err != nil {
		state.Error = "the log of the server has the reason"
	}
	report()
	return err
}

// followKey reads the key file again when it changes, and encrypts all secrets with the
// new key, until end is called. Values encrypted with keys that only decrypt from the
// start, such as those after the first of --secret-key, are encrypted again, too.
func (c *serveCommand) followKey(ctx context.Context, s *service, log *slog.Logger) (end func()) {
	return background(ctx, func(ctx context.Context) {
		ticks := time.NewTicker(resealingInterval)
		defer ticks.Stop()
		due, reported := s.sealer.Rotates(), ""
		for {
			if due && s.resealLogged(ctx, &c.storeFlags, log) == nil {
				due = false
			}
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
			}
			if c.SecretKey != "" {
				continue
			}
			keys, err := seal.ReadKeyFiles(c.keyFile())
			before := s.sealer.KeyID()
			if err == nil {
				err = s.sealer.Use(keys...)
			}
			switch {
			case err != nil && err.Error() != reported:
				reported = err.Error()
				log.Error("the key file cannot be used; the previous keys remain in use", slog.String("file", c.keyFile()), slog.String("cause", reported))
			case err == nil:
				reported, due = "", due || s.sealer.KeyID() != before
			}
		}
	})
}

// resealLogged is reseal for a server: it logs the beginning and the end, and writes
// the progress beside the key file.
func (s *service) resealLogged(ctx context.Context, f *storeFlags, log *slog.Logger) error {
	log.Info("secrets are being encrypted with a new key", event.SecretKeyRotated.Attr(), slog.String("key", s.sealer.KeyID()))
	var last resealing
	err := s.reseal(ctx, func(state resealing) {
		last = state
		if f.SecretKey == "" {
			if err := state.write(f.keyFile()); err != nil {
				log.Warn("the progress cannot be written", slog.String("cause", err.Error()))
			}
		}
	})
	switch {
	case err == nil:
		log.Info("all secrets are encrypted with the new key", slog.String("key", last.Key), slog.Int64("records", last.Resealed))
	case ctx.Err() == nil:
		log.Error("encrypting secrets with the new key failed; retrying", slog.String("cause", err.Error()))
	}
	return err
}
