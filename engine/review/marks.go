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

// marksCollection has the times up to which objects have been reviewed, so that passes
// continue there after a restart.
const marksCollection = "review_marks"

// keepEvery is the interval between writes of a mark. After a restart, objects that have
// become due since the last write are examined again.
const keepEvery = 10 * time.Minute

// marks are the times up to which objects have been reviewed, by type and network.
type marks struct {
	sync.Mutex
	// reached has the times of this process, and kept the stored ones. Both are nil
	// until those have been read.
	reached, kept map[place]time.Time
	// reviewed has the revisions of objects that the last pass reviewed and the next
	// will find again.
	reviewed map[place]map[string]int64
}

// mark is a stored mark.
type mark struct {
	Network string    `json:"network"`
	Through time.Time `json:"through"`
	Type    string    `json:"type"`
}

func (m mark) place() place { return place{m.Type, m.Network} }

// from returns the time from which a pass starts, or "" for all objects. It ignores how
// far a mark is in the future, as a wrong clock may have written it.
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
		return store.Translate(err)
	}
	m.kept, m.reached, m.reviewed = kept, map[place]time.Time{}, map[place]map[string]int64{}
	for at, through := range kept {
		m.reached[at] = through
	}
	return nil
}

// keep stores the marks that are at least keepEvery ahead of the stored ones.
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
			stored[r.Key] = store.Record{Revision: r.Revision, CreateTime: r.CreateTime}
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
			was := stored[keys[i]]
			was.Key = keys[i]
			writes[i] = store.InternalWrite(was, "ACTIVE", content, now)
		}
		return tx.Put(ctx, marksCollection, writes)
	})
	if err != nil {
		return store.Translate(err)
	}
	for _, reached := range ahead {
		m.kept[reached.place()] = reached.Through
	}
	return nil
}

func (m *marks) key(at place) store.Key { return store.Key{ID: at.collection + ":" + at.network} }
