package mongo

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

const (
	// bulkItems and bulkBytes are how much one command holds. The server takes 16
	// MiB, and a record of 1 MiB as JSON may be half of that as BSON.
	bulkItems = 250
	bulkBytes = 4 << 20
	// firstItems is how much the first command holds: the server waits for it.
	firstItems = 50
)

// bulk writes to one collection in few commands, which it encodes itself: the
// driver's models are encoded twice, and searched for their _id.
type bulk struct {
	t *transaction
	// verb is insert, update or delete, and list what the command calls its items.
	verb, list, collection string

	buffer      *[]byte
	command     []byte
	whole, open int32
	n           int
	// total is how many items there were, matched how many of them the server
	// found something for.
	total, matched int64
}

func (t *transaction) inserts(collection string) *bulk {
	return &bulk{t: t, verb: "insert", list: "documents", collection: collection}
}

func (t *transaction) updates(collection string) *bulk {
	return &bulk{t: t, verb: "update", list: "updates", collection: collection}
}

func (t *transaction) deletes(collection string) *bulk {
	return &bulk{t: t, verb: "delete", list: "deletes", collection: collection}
}

// add adds an item, whose members members writes. Commands that are full are
// sent.
func (b *bulk) add(ctx context.Context, members func(dst []byte) ([]byte, error)) error {
	if b.n == 0 {
		b.begin()
	}
	before := len(b.command)
	at, dst := bsoncore.AppendDocumentElementStart(b.command, strconv.Itoa(b.n))
	dst, err := members(dst)
	if err == nil {
		dst, err = bsoncore.AppendDocumentEnd(dst, at)
	}
	if err != nil {
		return b.t.ended(ctx, err)
	}
	if b.n > 0 && len(dst) > bulkBytes {
		item := slices.Clone(dst[at:])
		b.command = dst[:before]
		if err := b.start(ctx); err != nil {
			return err
		}
		b.begin()
		dst = append(bsoncore.AppendHeader(b.command, bsoncore.TypeEmbeddedDocument, "0"), item...)
	}
	b.command = dst
	b.total++
	if b.n++; b.n == bulkItems || b.total == firstItems {
		return b.start(ctx)
	}
	return nil
}

// buffers keeps the memory of large commands, which is dear to come by.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

func (b *bulk) begin() {
	b.buffer = buffers.Get().(*[]byte)
	b.whole, b.command = bsoncore.AppendDocumentStart((*b.buffer)[:0])
	b.command = bsoncore.AppendStringElement(b.command, b.verb, b.collection)
	b.open, b.command = bsoncore.AppendArrayElementStart(b.command, b.list)
}

// send sends what is left, and waits for the answers to all that was sent.
func (b *bulk) send(ctx context.Context) error {
	if err := b.start(ctx); err != nil {
		return err
	}
	return b.t.land(ctx)
}

// start sends what is left once the answer to the command before is there.
// Meanwhile the next command is encoded.
func (b *bulk) start(ctx context.Context) error {
	if err := b.t.land(ctx); err != nil || b.n == 0 {
		return err
	}
	b.n = 0
	b.command, _ = bsoncore.AppendArrayEnd(b.command, b.open)
	b.command, _ = bsoncore.AppendDocumentEnd(b.command, b.whole)
	*b.buffer = b.command
	flying := make(chan error, 1)
	b.t.flying = flying
	go func(buffer *[]byte) {
		answer, err := b.t.s.db.RunCommand(b.t.in(ctx), bson.Raw(*buffer)).Raw()
		buffers.Put(buffer)
		if err == nil {
			matched, _ := answer.Lookup("n").AsInt64OK()
			b.matched += matched
		}
		flying <- err
	}(b.buffer)
	return nil
}

// land waits for the answer to a command that is under way.
func (t *transaction) land(ctx context.Context) error {
	if t.flying != nil {
		err := <-t.flying
		t.flying = nil
		if err != nil {
			return t.ended(ctx, err)
		}
	}
	return t.guard(ctx)
}

// all sends what is left, and refuses the transaction where an item has found
// nothing, which MongoDB itself takes no notice of: a record is not as expected.
func (b *bulk) all(ctx context.Context) error {
	if err := b.send(ctx); err != nil {
		return err
	}
	if b.matched != b.total {
		return b.t.refuse(errVersion)
	}
	return nil
}

// addD adds an item of few members.
func (b *bulk) addD(ctx context.Context, item bson.D) error {
	return b.add(ctx, func(dst []byte) ([]byte, error) {
		raw, err := bson.Marshal(item)
		if err != nil {
			return dst, err
		}
		return append(dst, raw[4:len(raw)-1]...), nil
	})
}

// update adds an update of what a filter finds.
func (b *bulk) update(ctx context.Context, filter, update bson.D) error {
	return b.addD(ctx, bson.D{{Key: "q", Value: filter}, {Key: "u", Value: update}})
}

// delete adds a deletion of what a filter finds: one document, or all with 0.
func (b *bulk) delete(ctx context.Context, filter bson.D, limit int32) error {
	return b.addD(ctx, bson.D{{Key: "q", Value: filter}, {Key: "limit", Value: limit}})
}
