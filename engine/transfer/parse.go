package transfer

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// item is a line with an object.
type item struct {
	line
	t *schema.Type
	// network is "" for an object of a global type.
	network, id string
	object      map[string]any
	// companion reports whether the object is written only if its id is not taken.
	companion bool
}

// key identifies the object of an item.
func (it *item) key() string { return ObjectID{it.t.Name, it.network, it.id}.key() }

func (o ObjectID) key() string { return o.Type + "\x00" + o.Network + "\x00" + o.ID }

// parser converts lines to objects. The result is the same, including generated
// ids, each time that a line is read.
type parser struct {
	registry *schema.Registry
	t        *schema.Type // nil if each line is an envelope
	columns  columns      // of a CSV file
	context  string
	seed     string
}

// parse parses a line.
func (p *parser) parse(l line) (it item, faults []message.Message) {
	it.line = l
	if l.text == nil {
		return it, []message.Message{message.ObjectTooLarge.With(message.Params{"limit": MaxLine})}
	}
	if p.columns != nil {
		return p.record(it)
	}
	limits := document.Limits{Depth: document.DefaultLimits.Depth, Values: document.DefaultLimits.Values}
	if p.t == nil {
		limits.Depth++
	}
	members, err := document.DecodeObject(l.text, limits)
	if err != nil {
		return it, faultsOf(err, l.number)
	}
	if p.t != nil {
		it.t, it.object = p.t, members
		if !p.t.Global {
			it.network = p.context
		}
	} else if fault, ok := p.open(&it, members); !ok {
		return it, []message.Message{fault}
	}
	p.identify(&it)
	return it, nil
}

// record parses a record of a CSV file.
func (p *parser) record(it item) (item, []message.Message) {
	record, fault := fields(it.text, it.number)
	if fault == nil {
		it.object, fault = p.columns.object(record, it.number)
	}
	if fault != nil {
		return it, []message.Message{*fault}
	}
	if it.t = p.t; !p.t.Global {
		it.network = p.context
	}
	p.identify(&it)
	return it, nil
}

// open reads the members of an envelope.
func (p *parser) open(it *item, members map[string]any) (fault message.Message, ok bool) {
	name, named := members["type"].(string)
	object, given := members["object"].(map[string]any)
	context, placed := members["context"].(string)
	from, comes := members[companionMember].(string)
	count := 2
	for _, given := range []bool{placed, comes} {
		if given {
			count++
		}
	}
	if !named || !given || len(members) != count {
		return message.BatchMember.With(message.Params{"field": ""}), false
	}
	t, served := p.registry.Named(name)
	if !served {
		return message.BatchTypeUnknown.With(message.Params{"field": "/type", "type": name}), false
	}
	it.t, it.object = t, object
	switch {
	case comes && (!t.Global || placed):
		return message.BatchMember.With(message.Params{"field": "/" + companionMember}), false
	case comes:
		it.companion = true
		moveCompanion(t, object, from, cmp.Or(p.context, from))
		return fault, true
	case t.Global:
		return fault, true
	case !placed && p.context == "":
		return message.ParameterInvalid.With(message.Params{"parameter": "context", "field": "/context", "expected": "set, in the line or with --context"}), false
	case !placed:
		context = p.context
	case p.context != "" && context != p.context:
		expected := fmt.Sprintf("%q, the value of --context", p.context)
		return message.ParameterInvalid.With(message.Params{"parameter": "context", "field": "/context", "expected": expected}), false
	case !document.ValidID(context):
		return message.BadID.With(message.Params{"field": "/context"}), false
	}
	it.network = context
	return fault, true
}

// identify finds the id of an object, or generates one that cannot be guessed and
// that is the same if the import is continued.
func (p *parser) identify(it *item) {
	for _, name := range []string{"id", it.t.IDProperty} {
		switch value := it.object[name].(type) {
		case nil:
		case string:
			it.id = value
		default:
			return // invalid, which the engine reports
		}
	}
	if it.id != "" || it.t.IDRequired || it.object["id"] != nil {
		return
	}
	random := sha256.Sum256(fmt.Appendf(nil, "%s %d", p.seed, it.number))
	it.id = store.IDOf([16]byte(random[:]))
	it.object["id"] = it.id
}

// faultsOf returns the messages of an error. Line numbers in them become those of
// the file.
func faultsOf(err error, number int64) []message.Message {
	var known *message.Error
	if !errors.As(err, &known) {
		return nil
	}
	faults := make([]message.Message, len(known.Messages))
	for i, m := range known.Messages {
		params := maps.Clone(m.Params())
		delete(params, "index") // in the chunk, which users do not see
		if _, placed := params["line"]; placed {
			params["line"] = number
		}
		faults[i] = m.Definition().With(params)
	}
	return faults
}

// skipped reports whether a line is blank or a comment.
func skipped(text []byte) bool {
	trimmed := bytes.TrimSpace(text)
	return text != nil && (len(trimmed) == 0 || trimmed[0] == '#')
}
