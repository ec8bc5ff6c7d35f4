package transfer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/schema/keyword"
	"marquee/engine/store"
)

// Export describes an export.
type Export struct {
	Engine *engine.Engine
	// Types are exported in this order; see Order.
	Types []*schema.Type
	// Context is the network whose objects are exported; "" exports all networks,
	// and each line contains its network. All objects of global types are exported,
	// except those of Companions: of these, only the objects that Context needs,
	// without references to other networks.
	Context    string
	Companions []*schema.Type
	// Envelopes writes each line as an envelope with its type.
	Envelopes bool
	// AllFields adds the times and users of each object.
	AllFields bool
	// Secrets includes secrets in plain text; otherwise they are omitted.
	Secrets bool
	// Files handles the files of each type with files, by type name. They are
	// written to Folder, or omitted if it is nil.
	Files  map[string]Files
	Folder *os.Root
}

// Exported are the results of an export.
type Exported struct {
	Objects int64
	// Files counts files that were written or existed; WithoutFiles counts objects
	// whose files were omitted.
	Files, WithoutFiles int64
	// Undeclared counts the objects with values that their types do not declare, which are
	// left out: an import would drop or refuse them.
	Undeclared int64
	// Lacking counts the objects that directly or indirectly refer to such an
	// object, by type name.
	Lacking map[string]int64
}

const (
	// page is the number of records that are read at once, and pageBytes the
	// maximum size of those in memory.
	page      = 1000
	pageBytes = 4 << 20
	// snapshots is the number of times that an export is started if the store
	// discards its snapshot. It is not restarted after snapshotTime, as the next
	// snapshot would be discarded, too.
	snapshots    = 3
	snapshotTime = time.Minute
)

// Write writes the objects as they are at one point in time. It may start over and
// overwrite the file, but not the files in the folder, which are named after their
// content. After an error, the file is incomplete.
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
		w.lacking, w.exported.Lacking = w.newLacking(), map[string]int64{}
		if w.companions, err = w.gather(ctx); err != nil {
			return err
		}
		if err := w.all(ctx); err != nil {
			return err
		}
		exported = w.exported
		return w.flush()
	})
	return exported, err
}

// lostSnapshot returns the error of an export whose snapshot the store discarded.
func lostSnapshot(took time.Duration, cause error) error {
	return fmt.Errorf("the store discarded the snapshot of the export after %s (%w): on MongoDB, set minSnapshotHistoryWindowInSeconds (300 by default) to more than the duration of the export, or export fewer types or one network at a time",
		took.Round(time.Second), cause)
}

func rewind(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.Seek(0, io.SeekStart)
	return err
}

// writer is one attempt of an export.
type writer struct {
	Export
	snapshot store.Snapshot
	out      *bufio.Writer
	exported Exported
	// companions are the ids of the exported objects of Companions, by type name.
	companions map[string]map[string]bool
	lacking    lacking
}

// errEnd ends a scan after the last record of the network, errFull a page after
// pageBytes.
var (
	errEnd  = errors.New("transfer: the network has no more records")
	errFull = errors.New("transfer: the page is full")
)

func (w *writer) all(ctx context.Context) error {
	for _, t := range w.Types {
		var attached []*store.Record
		size := 0
		err := w.scan(ctx, t, func(r *store.Record) error {
			if ids := w.companions[t.Name]; ids != nil && !ids[r.ID] {
				return nil
			}
			if w.Files[t.Name] == nil {
				return w.object(t, r, nil)
			}
			attached = append(attached, r.Clone())
			if size += len(r.Document); size > pageBytes {
				return errFull
			}
			return nil
		}, func() error {
			defer func() { attached, size = nil, 0 }()
			return w.attached(ctx, t, attached)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// scan calls each for each record of a type, and then after every page. If each
// returns errFull, the page ends after that record.
func (w *writer) scan(ctx context.Context, t *schema.Type, each func(*store.Record) error, then func() error) error {
	last := store.Key{}
	if !t.Global {
		last.Network = w.Context
	}
	for {
		found := 0
		err := w.snapshot.Scan(ctx, t.Name, last, page, func(r *store.Record) error {
			if !t.Global && w.Context != "" && r.Network != w.Context {
				return errEnd
			}
			found, last = found+1, r.Key
			return each(r)
		})
		end, full := errors.Is(err, errEnd), errors.Is(err, errFull)
		if err != nil && !end && !full {
			return err
		}
		if then != nil {
			if err := then(); err != nil {
				return err
			}
		}
		if end || !full && found < page {
			return nil
		}
	}
}

// attached writes objects of a type with files, and the files.
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
			return fmt.Errorf("the files of %s cannot be exported: %w", t.Served().Name, err)
		}
	}
	for i, r := range records {
		for _, name := range all[i].Blobs {
			if err := putFile(ctx, w.snapshot, w.Folder, r.Network, name); err != nil {
				return err
			}
			w.exported.Files++
		}
		if err := w.object(t, r, all[i].Member); err != nil {
			return err
		}
	}
	return nil
}

// object writes a line. Files is its member "file", nil for none.
func (w *writer) object(t *schema.Type, r *store.Record, files map[string]any) error {
	object, err := w.open(t, r)
	if err != nil {
		return fmt.Errorf("%s %q of the network %q cannot be exported: %w", t.Served().Name, r.ID, r.Network, err)
	}
	if t.Shape.DropUndeclared(object) {
		w.exported.Undeclared++
	}
	if files != nil {
		object[fileMember] = files
	}
	companion := w.companions[t.Name] != nil
	if companion {
		w.withoutOtherNetworks(t, object)
	}
	if w.refers(t, r, object) {
		w.exported.Lacking[t.Served().Name]++
	}
	text := make([]byte, 0, len(r.Document)+256)
	if w.Envelopes {
		text = document.AppendString(append(text, `{"type":`...), t.Served().Name)
		switch {
		case companion:
			text = document.AppendString(append(text, `,"`+companionMember+`":`...), w.Context)
		case !t.Global && w.Context == "":
			text = document.AppendString(append(text, `,"context":`...), r.Network)
		}
		text = append(text, `,"object":`...)
	}
	text = document.AppendString(append(text, `{"id":`...), r.ID)
	text = document.AppendString(append(text, `,"objectState":`...), r.State)
	if w.AllFields {
		text = w.common(text, t, r)
	}
	if members := document.Append(nil, t.ServedObject(object)); len(object) > 0 {
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

// common appends the common fields of an object, except those for which the type
// has a property of the same name.
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

// open returns the object in the form that an import accepts.
func (w *writer) open(t *schema.Type, r *store.Record) (map[string]any, error) {
	object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
	if err != nil {
		return nil, errors.New("its document cannot be read")
	}
	if w.Secrets {
		err := t.Shape.Secrets(object, func(at document.Pointer, sealed string) (string, error) {
			return w.Engine.Reveal(t, sealed, r.Key, at)
		})
		if err != nil {
			return nil, err
		}
	}
	for name := range object {
		// A property that contains a secret is omitted as a whole: an import
		// replaces whole properties, and would remove the secret.
		if member := t.Shape.Member(name); member != nil && member.HasSecrets && !w.Secrets {
			delete(object, name)
		}
	}
	writable(t.Shape, object)
	return object, nil
}

// writable removes read-only and write-only members, but for numbers of sequences, which
// an import can set.
func writable(shape *document.Shape, value any) {
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			if inner := shape.Item(i); inner != nil {
				writable(inner, item)
			}
		}
	case map[string]any:
		for name, inner := range v {
			member := shape.Member(name)
			switch {
			case member == nil, keyword.IsNumbered(member):
			case member.ReadOnly || member.WriteOnly:
				delete(v, name)
			default:
				writable(member, inner)
			}
		}
	}
}
