package copying

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"marquee/engine/document"
	"marquee/engine/store"
)

// Sum is the number of items in a part of a store, and the sum of their digests, which does not
// depend on their order.
type Sum struct {
	Items   int64
	Digests [4]uint64
}

// Sums returns the sums of the parts that have something, but not of some collections. Equal
// sums mean that two stores keep the same, and have the same order of changes.
func Sums(ctx context.Context, s store.Portable, without []string) (map[string]Sum, error) {
	sums := map[string]Sum{}
	var d digester
	err := s.Dump(ctx, "", func(p *store.Portion) error {
		if slices.Contains(without, p.Part) {
			return nil
		}
		d.Sum = sums[p.Part]
		for i := range p.Records {
			d.record(&p.Records[i])
		}
		for i := range p.Claims {
			c := &p.Claims[i]
			d.texts(c.Collection, c.Network, c.Property, c.Value, c.Owner)
			d.end()
		}
		for i := range p.Changes {
			d.change(&p.Changes[i])
		}
		for i := range p.Pieces {
			piece := &p.Pieces[i]
			d.texts(piece.Network, piece.ID)
			d.numbers(piece.Size, piece.Time.UnixMilli(), piece.N)
			d.bytes(piece.Data)
			d.end()
		}
		sums[p.Part] = d.Sum
		return ctx.Err()
	})
	return sums, err
}

// digest returns a digest of sums.
func digest(sums map[string]Sum) string {
	var d digester
	for _, part := range slices.Sorted(maps.Keys(sums)) {
		d.texts(part, fmt.Sprint(sums[part]))
	}
	return fmt.Sprintf("%x", sha256.Sum256(d.item))
}

// digester adds the digests of items, each of which is a sequence of values.
type digester struct {
	Sum
	item []byte
}

func (d *digester) numbers(numbers ...int64) {
	for _, n := range numbers {
		d.item = binary.AppendVarint(d.item, n)
	}
}

func (d *digester) texts(texts ...string) {
	for _, text := range texts {
		d.item = append(binary.AppendUvarint(d.item, uint64(len(text))), text...)
	}
}

func (d *digester) bytes(all ...[]byte) {
	for _, b := range all {
		d.item = append(binary.AppendUvarint(d.item, uint64(len(b))), b...)
	}
}

// end ends an item.
func (d *digester) end() {
	digest := sha256.Sum256(d.item)
	for i := range d.Digests {
		d.Digests[i] += binary.LittleEndian.Uint64(digest[8*i:])
	}
	d.Items++
	d.item = d.item[:0]
}

func (d *digester) record(w *store.Write) {
	d.texts(w.Network, w.ID, w.State, w.CreateUser, w.UpdateUser)
	d.numbers(w.Revision, w.Version, w.CreateTime.UnixMilli(), w.UpdateTime.UnixMilli())
	d.bytes(w.Warnings, canonical(w.Document))
	slices.SortFunc(w.AddTerms, func(a, b store.Term) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value)) })
	for _, term := range w.AddTerms {
		d.texts(term.Key, term.Value)
	}
	d.end()
}

// canonical returns the canonical form of a document, in which MongoDB stores those of the
// service, too.
func canonical(doc []byte) []byte {
	object, err := document.DecodeObject(doc, document.Limits{Depth: 1000})
	if err != nil {
		return doc
	}
	return document.Append(nil, object)
}

// change adds a change with its number instead of its position.
func (d *digester) change(c *store.Change) {
	feedOnly := int64(0)
	if c.FeedOnly {
		feedOnly = 1
	}
	d.numbers(d.Items, c.Time.UnixMilli(), c.Revision, c.Version, feedOnly)
	d.texts(c.Network, c.Collection, c.ID, c.User, c.Owner)
	d.bytes(c.Fields, c.Cause, c.Notices)
	d.end()
}
