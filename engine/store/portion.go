package store

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
)

// Portable is a Store that can be copied to another one, and another one to it.
type Portable interface {
	Store

	// Dump yields everything that the store keeps, apart from positions of changes, behind
	// the Next of a portion that it has yielded; "" is the beginning. What is written
	// meanwhile may be left out. Codes: CodeBadPosition.
	Dump(ctx context.Context, after string, yield func(*Portion) error) error

	// Load stores a portion from another store, in order, in a store that was opened for
	// loading and has the collection of the portion and LoadingCollection. From then,
	// or if it was made when it was opened, until the call with Last has returned, the store
	// can be opened for loading only. Codes: those of
	// Write, and CodeConflict if the progress is not at its expected revision.
	Load(ctx context.Context, p *Portion, l Loading) error
}

// The parts of a store besides its records, whose part is their collection. Their names
// come after those of all collections.
const (
	BlobsPart   = "~blobs"
	ChangesPart = "~changes"
	ClaimsPart  = "~claims"
)

// Portion is some of one part of a store, of which one of the slices has something.
type Portion struct {
	Part string
	// Records are new records with their terms. Write.Last gives them their revision.
	Records []Write
	Claims  []OwnedClaim
	// Changes are in commit order.
	Changes []Change
	// Pieces are in the order of their blobs and numbers.
	Pieces []Piece
	// Next is where Dump continues behind the portion.
	Next string
}

// OwnedClaim is a claim with the id of the record that has it.
type OwnedClaim struct {
	Claim
	Owner string
}

// PieceSize is the size of all pieces of a blob but the last.
const PieceSize = 256 << 10

// Piece is a piece of a blob with its number, from 0. A blob without bytes has one without
// bytes.
type Piece struct {
	Blob
	N    int64
	Data []byte
}

// LoadingVersion is added to the version of a store's format until Load has completed it, so
// that earlier versions of the program do not open it either.
const LoadingVersion = 1_000_000

// Incomplete is the reason why such a store is not opened.
const Incomplete = "it is an incomplete copy of another store; run the same copy again to complete it, or remove it"

// NotEmpty is the reason why a store is not opened for loading.
const NotEmpty = "it is not empty; copy to a store that does not exist yet, or remove this one"

// IsEmpty reports whether a store keeps nothing.
func IsEmpty(ctx context.Context, s Portable) (bool, error) {
	some := errors.New("something")
	err := s.Dump(ctx, "", func(*Portion) error { return some })
	if err == some {
		return false, nil
	}
	return err == nil, err
}

// LoadingCollection has the progress of what is loading the store. Dump leaves it out.
const LoadingCollection = "engine_loading"

// Loading is what Load stores beside a portion.
type Loading struct {
	// Progress is a record of LoadingCollection. Of two calls with the same Expected, one
	// fails.
	Progress Write
	// Last completes the store, and drops Progress.
	Last bool
}

// A portion has at most portionItems items and about PortionBytes bytes. Larger ones are loaded
// faster: the words of their records share pages of indexes.
const (
	portionItems = 4000
	PortionBytes = 4 << 20
)

// Portions cuts what an adapter reads into portions, for Dump.
type Portions struct {
	Yield func(*Portion) error
	// Collections are those that the store has.
	Collections []string

	portion Portion
	items   int
	bytes   int
	next    []string
}

// Each calls read with each part behind the place at which a Dump begins, in order, and with
// the position within the part, nil for its beginning.
func (p *Portions) Each(after string, read func(part string, after []string) error) error {
	var at []string
	if after != "" {
		if err := json.Unmarshal([]byte(after), &at); err != nil || len(at) < 2 {
			return &Error{Code: CodeBadPosition, Text: "the position does not come from this store"}
		}
	}
	parts := append(slices.DeleteFunc(slices.Clone(p.Collections), func(name string) bool { return name == LoadingCollection }),
		BlobsPart, ChangesPart, ClaimsPart)
	slices.Sort(parts)
	for _, part := range parts {
		var within []string
		if len(at) > 0 {
			if part < at[0] {
				continue
			}
			if part == at[0] {
				within = at[1:]
			}
		}
		p.portion = Portion{Part: part}
		if err := read(part, within); err != nil {
			return err
		}
		if err := p.flush(); err != nil {
			return err
		}
	}
	return nil
}

// Record adds a record, which is copied, with its terms. Position is where the part continues
// behind it, as with the methods below.
func (p *Portions) Record(r *Record, terms []Term, position ...string) error {
	w := Write{Record: *r.Clone(), Last: r.Revision - 1, AddTerms: terms}
	p.portion.Records = append(p.portion.Records, w)
	size := len(w.Document) + len(w.Warnings)
	for _, term := range terms {
		size += len(term.Key) + len(term.Value)
	}
	return p.added(size, position)
}

// Claim adds a claim.
func (p *Portions) Claim(c OwnedClaim, position ...string) error {
	p.portion.Claims = append(p.portion.Claims, c)
	return p.added(len(c.Value), position)
}

// Change adds a change, whose memory is kept.
func (p *Portions) Change(c Change, position ...string) error {
	p.portion.Changes = append(p.portion.Changes, c)
	return p.added(len(c.Fields)+len(c.Notices)+len(c.Cause), position)
}

// Piece adds a piece of a blob, which is copied.
func (p *Portions) Piece(piece Piece, position ...string) error {
	piece.Data = slices.Clone(piece.Data)
	p.portion.Pieces = append(p.portion.Pieces, piece)
	return p.added(len(piece.Data), position)
}

func (p *Portions) added(size int, position []string) error {
	p.items, p.bytes, p.next = p.items+1, p.bytes+size, position
	if p.items < portionItems && p.bytes < PortionBytes {
		return nil
	}
	return p.flush()
}

func (p *Portions) flush() error {
	if p.items == 0 {
		return nil
	}
	next, err := json.Marshal(append([]string{p.portion.Part}, p.next...))
	if err != nil {
		return err
	}
	full := p.portion
	full.Next = string(next)
	p.portion, p.items, p.bytes = Portion{Part: full.Part}, 0, 0
	return p.Yield(&full)
}
