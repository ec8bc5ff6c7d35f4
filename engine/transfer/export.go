package transfer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Export says what is exported, and how.
type Export struct {
	Engine *engine.Engine
	// Types are exported in this order (Order).
	Types []*schema.Type
	// Context is the network whose objects are exported; "" is all networks,
	// and then the lines name theirs. Global types are exported whole.
	Context string
	// Envelopes says that each line names its type.
	Envelopes bool
	// AllFields adds the times and users of each object.
	AllFields bool
	// Secrets are written in the clear, or left out.
	Secrets bool
	// Files are those of types, by their names, and Folder is where they are
	// written; nil leaves them out.
	Files  map[string]Files
	Folder *os.Root
}

// Exported counts what was exported.
type Exported struct {
	Objects int64
	// Files were written, or were there; WithoutFiles are the objects whose
	// files were left out.
	Files, WithoutFiles int64
}

const (
	// page is how many records are asked for at once.
	page = 1000
	// snapshots is how often an export begins anew when the store could read
	// the state no longer that it began with, and snapshotTime how long it may
	// have read when it does: a longer one would lose the next state, too.
	snapshots    = 3
	snapshotTime = time.Minute
)

// Write writes the objects as they are at one point in time, whatever is
// written meanwhile. It may begin anew, and then overwrites the file, but not
// files in the folder, whose names say what they hold; after an error the file
// holds a part.
func (x Export) Write(ctx context.Context, file *os.File) (exported Exported, err error) {
	var before error
	var begun time.Time
	runs := 0
	err = x.Engine.Store.Read(ctx, func(s store.Snapshot) (err error) {
		now := x.Engine.Now()
		if took := now.Sub(begun); runs > 0 && before != nil && (took > snapshotTime || runs == snapshots) {
			return lostSnapshot(took, before)
		}
		runs, begun = runs+1, now
		defer func() { before = err }()
		if err := rewind(file); err != nil {
			return err
		}
		w := &writer{Export: x, snapshot: s, out: bufio.NewWriterSize(file, 256<<10)}
		if err := w.all(ctx); err != nil {
			return err
		}
		exported = w.exported
		return w.flush()
	})
	return exported, err
}

// lostSnapshot tells what to do when the state of the store that an export
// reads was given up before its end.
func lostSnapshot(took time.Duration, cause error) error {
	return fmt.Errorf("the store gave up the state that was being exported, after %s (%w): on MongoDB, raise minSnapshotHistoryWindowInSeconds (300 by default) above the time that the export takes, or export fewer types or one network at once",
		took.Round(time.Second), cause)
}

func rewind(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.Seek(0, io.SeekStart)
	return err
}

// writer is one run of an export.
type writer struct {
	Export
	snapshot store.Snapshot
	out      *bufio.Writer
	exported Exported
}

// errBehind ends a scan behind the last record that is wanted.
var errBehind = errors.New("behind the network")

func (w *writer) all(ctx context.Context) error {
	for _, t := range w.Types {
		last := store.Key{}
		if !t.Global {
			last.Network = w.Context
		}
		for {
			found := 0
			var attached []*store.Record
			err := w.snapshot.Scan(ctx, t.Name, last, page, func(r *store.Record) error {
				if !t.Global && w.Context != "" && r.Network != w.Context {
					return errBehind
				}
				found, last = found+1, r.Key
				if w.Files[t.Name] == nil {
					return w.object(t, r, nil)
				}
				kept := *r
				kept.Document, kept.Warnings = slices.Clone(r.Document), slices.Clone(r.Warnings)
				attached = append(attached, &kept)
				return nil
			})
			end := errors.Is(err, errBehind)
			if err != nil && !end {
				return err
			}
			if err := w.attached(ctx, t, attached); err != nil {
				return err
			}
			if end || found < page {
				break
			}
		}
	}
	return nil
}

// attached writes objects of a type with files, and their files.
func (w *writer) attached(ctx context.Context, t *schema.Type, records []*store.Record) error {
	if len(records) == 0 {
		return nil
	}
	if w.Folder == nil {
		w.exported.WithoutFiles += int64(len(records))
	}
	all := make([]Attached, len(records))
	if w.Folder != nil {
		var err error
		if all, err = w.Files[t.Name].Export(ctx, w.snapshot, records); err != nil {
			return fmt.Errorf("the files of %s cannot be exported: %w", t.Name, err)
		}
	}
	for i, r := range records {
		for _, name := range all[i].Blobs {
			if err := putFile(ctx, w.snapshot, w.Folder, r.Network, name); err != nil {
				return err
			}
			w.exported.Files++
		}
		if err := w.object(t, r, all[i].Says); err != nil {
			return err
		}
	}
	return nil
}

// object writes a line; files is what it says of them, nil where it says
// nothing.
func (w *writer) object(t *schema.Type, r *store.Record, files map[string]any) error {
	object, err := w.open(t, r)
	if err != nil {
		return fmt.Errorf("%s %q of the network %q cannot be exported: %w", t.Name, r.ID, r.Network, err)
	}
	if files != nil {
		object[fileMember] = files
	}
	text := make([]byte, 0, len(r.Document)+256)
	if w.Envelopes {
		text = document.AppendString(append(text, `{"type":`...), t.Name)
		if !t.Global && w.Context == "" {
			text = document.AppendString(append(text, `,"context":`...), r.Network)
		}
		text = append(text, `,"object":`...)
	}
	text = document.AppendString(append(text, `{"id":`...), r.ID)
	text = document.AppendString(append(text, `,"objectState":`...), r.State)
	if w.AllFields {
		text = w.common(text, t, r)
	}
	if members := document.Append(nil, object); len(object) > 0 {
		text = append(append(text, ','), members[1:]...)
	} else {
		text = append(text, '}')
	}
	if w.Envelopes {
		text = append(text, '}')
	}
	w.exported.Objects++
	if _, err := w.out.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("the export cannot be written: %w", err)
	}
	return nil
}

func (w *writer) flush() error {
	if err := w.out.Flush(); err != nil {
		return fmt.Errorf("the export cannot be written: %w", err)
	}
	return nil
}

// common writes what the service itself knows of an object, but what the type
// has a property of the same name for.
func (w *writer) common(text []byte, t *schema.Type, r *store.Record) []byte {
	add := func(name string, value []byte) {
		if t.Shape.Properties[name] == nil && len(value) > 0 {
			text = append(append(document.AppendString(append(text, ','), name), ':'), value...)
		}
	}
	user := func(id string) []byte {
		if id == "" {
			return nil
		}
		return document.AppendString(nil, id)
	}
	add("createTime", document.AppendString(nil, document.FormatTime(r.CreateTime)))
	add("createUser", user(r.CreateUser))
	add("updateTime", document.AppendString(nil, document.FormatTime(r.UpdateTime)))
	add("updateUser", user(r.UpdateUser))
	if json.Valid(r.Warnings) {
		add("validationWarnings", r.Warnings)
	}
	return text
}

// open is the object as import takes it.
func (w *writer) open(t *schema.Type, r *store.Record) (map[string]any, error) {
	object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
	if err != nil {
		return nil, errors.New("its document cannot be read")
	}
	if w.Secrets {
		err := t.Shape.Secrets(object, func(at document.Pointer, sealed string) (string, error) {
			return w.Engine.Sealer.Open(sealed, engine.SecretPlace(t.Name, r.Network, r.ID, at))
		})
		if err != nil {
			return nil, err
		}
	}
	for name := range object {
		// A property that holds a secret besides others is left out whole: what
		// is imported replaces a property, and would remove the secret.
		if member := t.Shape.Member(name); member != nil && member.HasSecrets && !w.Secrets {
			delete(object, name)
		}
	}
	writable(t.Shape, object)
	return object, nil
}

// writable drops what only the service sets.
func writable(shape *document.Shape, value any) {
	switch v := value.(type) {
	case []any:
		if shape.Items != nil {
			for _, item := range v {
				writable(shape.Items, item)
			}
		}
	case map[string]any:
		for name, inner := range v {
			member := shape.Member(name)
			switch {
			case member == nil:
			case member.ReadOnly || member.WriteOnly:
				delete(v, name)
			default:
				writable(member, inner)
			}
		}
	}
}
