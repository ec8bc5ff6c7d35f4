package transfer

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Target is what an import writes to: Local, or one that sends what it gets to a server,
// which passes it on to Local.
type Target interface {
	// Registry returns the types.
	Registry() *schema.Registry
	// Write writes objects in one transaction, all or none of them. An error that they
	// cause is a *message.Error, whose messages have the index of the object. Write goes
	// on when the context is cancelled, until WriteTime has passed.
	Write(ctx context.Context, chunk Chunk) (Written, error)
	// Stored returns those of some objects that are stored.
	Stored(ctx context.Context, objects []ObjectID) ([]ObjectID, error)
}

// WriteTime is the deadline of Target.Write.
const WriteTime = 5 * time.Minute

// Chunk are objects that are written in one transaction.
type Chunk struct {
	// Network is that of the objects of types that are not global.
	Network         string
	FieldValidation engine.FieldValidation
	Objects         []Object
}

// Object is an object of a chunk.
type Object struct {
	Type    string
	Members map[string]any
}

// ObjectID identifies an object. Network is "" for a global type.
type ObjectID struct{ Type, Network, ID string }

// Written is what became of a chunk.
type Written struct {
	Created, Changed int64
	// Unknown are some of the properties that were dropped.
	Unknown []engine.Unknown
}

// Local is an engine in this process.
type Local struct {
	Engine *engine.Engine
	// Files handles the files of each type with files, by type name. Folder contains the
	// files; nil for none.
	Files  map[string]Files
	Folder *os.Root
}

// Registry implements Target.
func (l Local) Registry() *schema.Registry { return l.Engine.Registry() }

// faultsPerObject determines the number of faults that are reported for a chunk: enough
// for all objects, as each attempt costs as much as the first.
const faultsPerObject = 4

// Write implements Target.
func (l Local) Write(ctx context.Context, chunk Chunk) (w Written, err error) {
	registry := l.Registry()
	batch := engine.Batch{Network: chunk.Network, Listed: true, FieldValidation: chunk.FieldValidation, MaxFaults: faultsPerObject * len(chunk.Objects),
		Operations: make([]engine.Operation, len(chunk.Objects))}
	for i, object := range chunk.Objects {
		t, served := registry.Named(object.Type)
		if !served {
			return w, message.BatchTypeUnknown.Error(message.Params{"field": "/type", "type": object.Type, "index": i})
		}
		batch.Operations[i] = engine.Operation{Type: t, Object: object.Members}
		if err := l.attach(&batch.Operations[i], i); err != nil {
			return w, err
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), WriteTime)
	defer cancel()
	result, err := l.Engine.Write(ctx, &engine.Caller{System: true}, batch)
	if err != nil {
		return w, err
	}
	for _, c := range result.Changes {
		switch {
		case c.Created():
			w.Created++
		case c.Changed():
			w.Changed++
		}
	}
	w.Unknown = result.Unknown
	return w, nil
}

// attach adds the files to an operation. Index is its index in the batch.
func (l Local) attach(op *engine.Operation, index int) error {
	member, there := op.Object[fileMember]
	files := l.Files[op.Type.Name]
	if !there || files == nil {
		return nil
	}
	delete(op.Object, fileMember)
	err := files.Import(op, member, func(name string) (file *os.File, err error) {
		err = fs.ErrNotExist
		if l.Folder != nil {
			file, err = l.Folder.Open(name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = message.FileNotInFolder.Error(message.Params{"file": name})
		}
		return file, err
	})
	var known *message.Error
	if errors.As(err, &known) {
		for i, m := range known.Messages {
			known.Messages[i] = m.Adding(message.Params{"index": index, "field": "/" + fileMember})
		}
	}
	return err
}

// Stored implements Target.
func (l Local) Stored(ctx context.Context, objects []ObjectID) (found []ObjectID, err error) {
	keys := map[string][]store.Key{}
	for _, o := range objects {
		if _, served := l.Registry().Type(o.Type); served {
			keys[o.Type] = append(keys[o.Type], store.Key{Network: o.Network, ID: o.ID})
		}
	}
	err = l.Engine.Store.Read(ctx, func(s store.Snapshot) error {
		found = nil
		for name, keys := range keys {
			err := s.Get(ctx, name, keys, func(r *store.Record) error {
				found = append(found, ObjectID{name, r.Network, r.ID})
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return found, store.Translate(err)
}

// Encode returns the text of a chunk, without its FieldValidation, for DecodeChunk.
func (c Chunk) Encode() []byte {
	dst := document.AppendString([]byte(`{"network":`), c.Network)
	dst = append(dst, `,"objects":[`...)
	for i, object := range c.Objects {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = document.AppendString(append(dst, `{"type":`...), object.Type)
		dst = document.Append(append(dst, `,"object":`...), object.Members)
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}

// DecodeChunk returns a chunk that was encoded.
func DecodeChunk(text []byte) (c Chunk, err error) {
	members, err := document.DecodeObject(text, document.Limits{Depth: document.DefaultLimits.Depth + 3})
	if err != nil {
		return c, err
	}
	c.Network, _ = members["network"].(string)
	objects, _ := members["objects"].([]any)
	for i, one := range objects {
		envelope, _ := one.(map[string]any)
		name, named := envelope["type"].(string)
		object, given := envelope["object"].(map[string]any)
		if !named || !given {
			return c, message.BatchMember.Error(message.Params{"index": i})
		}
		c.Objects = append(c.Objects, Object{name, object})
	}
	return c, nil
}
