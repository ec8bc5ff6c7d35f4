package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"marquee/engine/message"
	"marquee/engine/schema"
)

const (
	// attempts is the number of attempts to write a chunk that conflicts with other
	// writes.
	attempts = 5
)

// chunk reads the lines of the next transaction. A chunk ends before a second line
// of the same object and before an object of another network, but not within a
// group.
func (r *Importer) chunk() (items []item, end bool, err error) {
	bytes, network, group := int64(0), "", int64(0)
	seen := map[string]bool{}
	for lines := 0; lines < r.Chunk || group > 0; lines++ {
		it, ok, err := r.item()
		if errors.Is(err, io.EOF) {
			return items, true, nil
		}
		if err != nil {
			return nil, false, err
		}
		if !ok {
			continue
		}
		key := it.key()
		bytes += it.length + r.fileBytes(it)
		full := len(items) >= r.Chunk || bytes > chunkBytes
		if group > 0 && it.group == group {
			if seen[key] {
				if err := r.wait(it); err != nil {
					return nil, false, err
				}
				continue
			}
			full = len(items) >= groupLines || bytes > groupBytes
		}
		if len(items) > 0 && (full || seen[key] || it.network != "" && network != "" && it.network != network) {
			r.carried = &it
			break
		}
		if group = it.group; it.network != "" {
			network = it.network
		}
		if it.id != "" {
			seen[key] = true
		}
		items = append(items, it)
	}
	return items, false, nil
}

// item reads one line; ok is false if there is nothing to write now.
func (r *Importer) item() (it item, ok bool, err error) {
	if r.carried != nil {
		it, r.carried = *r.carried, nil
		return r.unlessHeld(it)
	}
	l, err := r.in.next()
	if errors.Is(err, io.EOF) {
		return it, false, err
	}
	if err != nil {
		return it, false, fmt.Errorf("%s cannot be read after line %d: %w", r.name(), r.state.Line, err)
	}
	if !r.CSV && skipped(l.text) {
		return it, false, nil
	}
	it, faults := r.parser.parse(l)
	if !r.looked {
		if err := checkFormat(r.parser.t, it, faults); err != nil {
			return it, false, err
		}
		r.looked = true
	}
	if len(faults) > 0 {
		return it, false, r.rejectLine(it, faults)
	}
	if r.filesOf(it) != nil && r.Folder == nil {
		return it, false, fmt.Errorf("line %d refers to files: name the folder to which they were exported with --files DIR", it.number)
	}
	return r.unlessHeld(it)
}

// unlessHeld makes a line wait if an earlier line of the same object is waiting.
func (r *Importer) unlessHeld(it item) (item, bool, error) {
	if r.state.Mode != last && r.held.has(it.key()) {
		return it, false, r.wait(it)
	}
	return it, true, nil
}

// NotEnvelopeError means that the first line of a file that is imported without a
// type is not an envelope.
type NotEnvelopeError struct {
	Line int64
	Text []byte
}

// Error implements error.
func (e *NotEnvelopeError) Error() string {
	return fmt.Sprintf(`line %d is not an envelope {"type": …, "object": {…}}`, e.Line)
}

// checkFormat checks that the first line is an envelope if and only if the import has
// no type. Otherwise all lines would be rejected, or imported as empty objects.
func checkFormat(t *schema.Type, it item, faults []message.Message) error {
	if t == nil {
		if len(faults) > 0 && faults[0].Definition() == message.BatchMember {
			return &NotEnvelopeError{Line: it.number, Text: it.text}
		}
		return nil
	}
	_, named := it.object["type"].(string)
	if _, wrapped := it.object["object"].(map[string]any); named && wrapped && t.Shape.Properties["object"] == nil {
		return fmt.Errorf("line %d is an envelope, which contains its type: omit the type before the file", it.number)
	}
	return nil
}

// write writes a chunk without its invalid lines.
func (r *Importer) write(ctx context.Context, items []item) error {
	for conflicts := 0; ; {
		items, err := r.withoutStored(ctx, items)
		if err != nil {
			return err
		}
		items, err = r.withNetwork(ctx, items)
		if err != nil || len(items) == 0 {
			return err
		}
		result, err := r.attempt(ctx, items)
		if err == nil {
			return r.accept(items, result)
		}
		var known *message.Error
		if !errors.As(err, &known) {
			return writeError(items, err)
		}
		switch known.Kind {
		case message.Conflict:
			if conflicts++; conflicts < attempts {
				continue
			}
			return writeError(items, err)
		case message.Unavailable, message.Internal:
			return writeError(items, err)
		}
		rest, wrong := r.reject(ctx, items, known)
		if wrong != nil {
			return wrong
		}
		if len(rest) < len(items) {
			return r.write(ctx, rest)
		}
		// The error does not identify the invalid lines.
		if r.Strict {
			return writeError(items, err)
		}
		half := len(items) / 2
		if err := r.write(ctx, items[:half]); err != nil {
			return err
		}
		return r.write(ctx, items[half:])
	}
}

func (r *Importer) attempt(ctx context.Context, items []item) (Written, error) {
	chunk := Chunk{FieldValidation: r.FieldValidation, Objects: make([]Object, len(items))}
	for i := range items {
		it := &items[i]
		if it.object == nil { // it belongs to the target after an attempt
			*it, _ = r.parser.parse(it.line)
		}
		if it.network != "" {
			chunk.Network = it.network
		}
		chunk.Objects[i] = Object{it.t.Name, it.object}
		it.object = nil
	}
	return r.Target.Write(ctx, chunk)
}

// withNetwork removes objects of a network that does not exist and is not created with
// them.
func (r *Importer) withNetwork(ctx context.Context, items []item) ([]item, error) {
	i := slices.IndexFunc(items, func(it item) bool { return it.network != "" })
	if i < 0 || r.networks[items[i].network] {
		return items, nil
	}
	network := items[i].network
	made := slices.ContainsFunc(items, func(it item) bool { return it.t.Name == networks && it.id == network })
	if !made {
		there, err := r.Target.Stored(ctx, []ObjectID{{Type: networks, ID: network}})
		if err != nil {
			return nil, writeError(items, err)
		}
		made = len(there) > 0
		r.networks[network] = made
	}
	if made {
		return items, nil
	}
	var rest []item
	for _, it := range items {
		if it.network == "" {
			rest = append(rest, it)
			continue
		}
		fault := message.ReferencedObjectNotFound.With(message.Params{"field": "/context", "type": networks, "id": network})
		if err := r.rejectLine(it, []message.Message{fault}); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// networks is the name of the type of networks.
const networks = "networks"

// accept counts the objects of a written chunk.
func (r *Importer) accept(items []item, w Written) error {
	r.state.Objects += int64(len(items))
	r.state.Accepted += int64(len(items))
	r.state.Created += w.Created
	r.state.Changed += w.Changed
	for _, unknown := range w.Unknown {
		text := fmt.Sprintf("%s is not a property of %s and was dropped", unknown.Path, unknown.Type)
		if len(r.dropped) < maxListed && !slices.Contains(r.dropped, text) {
			r.dropped = append(r.dropped, text)
		}
	}
	for _, it := range items {
		if it.network != "" {
			r.networks[it.network] = true
		}
	}
	return nil
}
