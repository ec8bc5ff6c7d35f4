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
	// bulkItems and bulkBytes limit one command. The server accepts 16 MiB, and
	// a record of 1 MiB as JSON may take half of that as BSON.
	bulkItems = 250
	bulkBytes = 4 << 20
	// firstItems limits the first command, for which the server waits.
	firstItems = 50
)

// bulk writes to one collection in few commands. It encodes them itself: the
// driver encodes its models twice and searches them for _id.
type bulk struct {
	t *transaction
	// verb is insert, update or delete, and list the command's name for its
	// items.
	verb, list, collection string

	buffer      *[]byte
	command     []byte
	whole, open int32
	n           int
	// total is the number of items, matched the number of those for which the
	// server found a document.
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

// add adds an item that members encodes, and sends full commands.
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

// buffers reuses the memory of large commands.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

func (b *bulk) begin() {
	b.buffer = buffers.Get().(*[]byte)
	b.whole, b.command = bsoncore.AppendDocumentStart((*b.buffer)[:0])
	b.command = bsoncore.AppendStringElement(b.command, b.verb, b.collection)
	b.open, b.command = bsoncore.AppendArrayElementStart(b.command, b.list)
}

// send sends the rest and waits for all answers.
func (b *bulk) send(ctx context.Context) error {
	if err := b.start(ctx); err != nil {
		return err
	}
	return b.t.await(ctx)
}

// start sends the rest once the previous command was answered. Meanwhile the
// next command is encoded.
func (b *bulk) start(ctx context.Context) error {
	if err := b.t.await(ctx); err != nil || b.n == 0 {
		return err
	}
	b.command, _ = bsoncore.AppendArrayEnd(b.command, b.open)
	b.command, _ = bsoncore.AppendDocumentEnd(b.command, b.whole)
	b.t.items += int64(b.n)
	b.t.bytes += int64(len(b.command))
	b.t.place.sent(b.t.items, b.t.bytes)
	b.n = 0
	*b.buffer = b.command
	inFlight := make(chan error, 1)
	b.t.inFlight = inFlight
	go func(buffer *[]byte) {
		answer, err := b.t.s.db.RunCommand(b.t.in(ctx), bson.Raw(*buffer)).Raw()
		buffers.Put(buffer)
		if err == nil {
			matched, _ := answer.Lookup("n").AsInt64OK()
			b.matched += matched
		}
		inFlight <- err
	}(b.buffer)
	return nil
}

// await waits for the answer to the command in flight.
func (t *transaction) await(ctx context.Context) error {
	if t.inFlight != nil {
		err := <-t.inFlight
		t.inFlight = nil
		if err != nil {
			return t.ended(ctx, err)
		}
	}
	return t.guard(ctx)
}

// all sends the rest, and refuses the transaction when an item matched nothing:
// a record is not at its expected revision. MongoDB itself reports no error for
// that.
func (b *bulk) all(ctx context.Context) error {
	if err := b.send(ctx); err != nil {
		return err
	}
	if b.matched != b.total {
		return b.t.refuse(errVersion)
	}
	return nil
}

// addD adds a small item.
func (b *bulk) addD(ctx context.Context, item bson.D) error {
	return b.add(ctx, func(dst []byte) ([]byte, error) {
		raw, err := bson.Marshal(item)
		if err != nil {
			return dst, err
		}
		return append(dst, raw[4:len(raw)-1]...), nil
	})
}

// update adds an update of the documents of a filter.
func (b *bulk) update(ctx context.Context, filter, update bson.D) error {
	return b.addD(ctx, bson.D{{Key: "q", Value: filter}, {Key: "u", Value: update}})
}

// delete adds a deletion of one document of a filter, or of all with limit 0.
func (b *bulk) delete(ctx context.Context, filter bson.D, limit int32) error {
	return b.addD(ctx, bson.D{{Key: "q", Value: filter}, {Key: "limit", Value: limit}})
}
