package review

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/store"
)

// marksCollection remembers how far what is due has been reviewed, so that a
// restart misses nothing and does not begin from the beginning.
const marksCollection = "review_marks"

// keepEvery is how old a mark may become before it is stored anew: what has
// become due since is looked at again after a restart.
const keepEvery = 10 * time.Minute

// marks are how far passes have come, by type and network.
type marks struct {
	sync.Mutex
	// reached is where this process is, kept what is stored; nil until that has
	// been read.
	reached, kept map[place]time.Time
}

// mark is a stored mark.
type mark struct {
	Network string    `json:"network"`
	Through time.Time `json:"through"`
	Type    string    `json:"type"`
}

func (m mark) place() place { return place{m.Type, m.Network} }

// from is where a pass begins, "" at the beginning of time. A mark of a clock
// that was wrong is not ahead of the time.
func (m *marks) from(at place, now time.Time) string {
	reached, known := m.reached[at]
	if !known {
		return ""
	}
	if reached.After(now) {
		reached = now
	}
	return document.FormatTime(reached.Add(-overlap))
}

// load reads the stored marks, once.
func (m *marks) load(ctx context.Context, e *engine.Engine) error {
	if m.kept != nil {
		return nil
	}
	kept := map[place]time.Time{}
	err := e.Store.Read(ctx, func(s store.Snapshot) error {
		clear(kept)
		return s.Scan(ctx, marksCollection, store.Key{}, 1<<20, func(r *store.Record) error {
			var stored mark
			err := json.Unmarshal(r.Document, &stored)
			kept[stored.place()] = stored.Through
			return err
		})
	})
	if err != nil {
		return engine.Translate(err)
	}
	m.kept, m.reached = kept, map[place]time.Time{}
	for at, through := range kept {
		m.reached[at] = through
	}
	return nil
}

// keep stores the marks that are far ahead of the stored ones.
func (m *marks) keep(ctx context.Context, e *engine.Engine, now time.Time) error {
	var ahead []mark
	var keys []store.Key
	for at, through := range m.reached {
		if kept, known := m.kept[at]; !known || through.Sub(kept) >= keepEvery {
			ahead = append(ahead, mark{Network: at.network, Through: through, Type: at.collection})
			keys = append(keys, m.key(at))
		}
	}
	if len(ahead) == 0 {
		return nil
	}
	err := e.Store.Write(ctx, func(tx store.Tx) error {
		stored := map[store.Key]store.Record{}
		err := tx.Get(ctx, marksCollection, keys, func(r *store.Record) error {
			stored[r.Key] = store.Record{Version: r.Version, CreateTime: r.CreateTime}
			return nil
		})
		if err != nil {
			return err
		}
		writes := make([]store.Write, len(ahead))
		for i, reached := range ahead {
			content, err := json.Marshal(reached)
			if err != nil {
				return err
			}
			writes[i] = internal(keys[i], stored[keys[i]], "ACTIVE", content, now)
		}
		return tx.Put(ctx, marksCollection, writes)
	})
	if err != nil {
		return engine.Translate(err)
	}
	for _, reached := range ahead {
		m.kept[reached.place()] = reached.Through
	}
	return nil
}

func (m *marks) key(at place) store.Key { return store.Key{ID: at.collection + ":" + at.network} }

// internal is the next version of a record of the service's own.
func internal(key store.Key, stored store.Record, state string, content []byte, now time.Time) store.Write {
	now = now.UTC().Truncate(time.Millisecond)
	record := store.Record{Key: key, Version: stored.Version + 1, State: state, CreateTime: stored.CreateTime, UpdateTime: now, Document: content}
	if stored.Version == 0 {
		record.CreateTime = now
	}
	return store.Write{Record: record, Expected: stored.Version}
}
