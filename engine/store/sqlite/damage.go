package sqlite

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"marquee/engine/store"
)

// observe translates an error, and remembers the first sign of damage, also for the next
// start: a file beside the store exists from then on until one passes a check.
func (s *Store) observe(ctx context.Context, err error) error {
	err = translate(ctx, err)
	if code, _ := store.CodeOf(err); code == store.CodeDamaged && !s.options.immutable && s.damaged.CompareAndSwap(nil, &err) {
		if s.options.Log != nil {
			s.options.Log.Error("the store is damaged, and accepts no more writes: restore it from a backup, and restart the service", slog.String("store", s.options.Path), slog.String("cause", err.Error()))
		}
		if wrong := os.WriteFile(s.damageMark(), []byte(err.Error()+"\n"), 0o600); wrong != nil && s.options.Log != nil {
			s.options.Log.Warn("the damage of the store cannot be noted for the next start", slog.String("cause", wrong.Error()))
		}
	}
	return err
}

func (s *Store) damageMark() string { return s.options.Path + ".damaged" }

// checkDamaged refuses a store that was found damaged and has not been replaced by a
// sound one.
func (s *Store) checkDamaged(c *conn) error {
	if _, err := os.Stat(s.damageMark()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var fault string
	if err := c.rows("PRAGMA quick_check(1)", nil, func(row *stmt) error {
		for line := range strings.Lines(row.ColumnText(0)) {
			fault = cmp.Or(fault, faultOf(line))
		}
		return nil
	}); err != nil {
		return err
	}
	if fault != "" {
		return notUsable(s.options.Path, "it was found damaged; restore it from a backup", errors.New(fault))
	}
	return os.Remove(s.damageMark())
}
