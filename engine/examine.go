package engine

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"sync/atomic"

	"marquee/engine/audit"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/store"
)

// examined is what is found out about a merged change by itself, without the
// store and the other changes.
type examined struct {
	faults []message.Message
	// failed is an internal fault.
	failed error
	// document is what is stored, warnings and fields go with it.
	document, warnings, fields []byte
	changed                    bool
	addTerms, dropTerms        []store.Term
	// references are those that the change adds.
	references []referenced
}

// examineAll examines the changes of the round: the transaction waits for
// nothing else meanwhile. Once there are as many faults as an answer lists,
// those of later objects are not looked for.
func (w *Writing) examineAll() error {
	var faults atomic.Int64
	limit := int64(cmp.Or(w.batch.MaxFaults, message.MaxFaults))
	return spread(len(w.round), func() func(int) error {
		return func(i int) error {
			if faults.Load() < limit {
				w.round[i].examine(w)
				faults.Add(int64(len(w.round[i].faults)))
			}
			return nil
		}
	})
}

// examine holds the merged document against its schema and rules, and finds
// out what there is to store.
func (c *Change) examine(w *Writing) {
	c.examined = examined{faults: slices.Clone(c.refused)}
	for _, fault := range c.Type.Validate(c.After) {
		params := maps.Clone(fault.Params())
		pointer, _ := params["field"].(string)
		delete(params, "field")
		c.faults = append(c.faults, c.Fault(fault.Definition(), pointer, params))
	}
	for name, member := range c.Type.Shape.Properties {
		if member.WriteOnly {
			delete(c.After, name)
		}
	}
	c.checkRules()
	c.references = w.newReferences(c)
	c.checkLookups(w.e.Lookups)
	if len(c.faults) > 0 {
		return
	}
	c.warnings = warningsOf(c)
	if c.document, c.failed = c.seal(w.e.Sealer); c.failed != nil {
		return
	}
	c.changed = c.stored == nil || len(c.touched) > 0 || c.State != c.StateBefore ||
		!bytes.Equal(c.document, c.stored.Document) || !bytes.Equal(c.warnings, c.stored.Warnings)
	if c.changed {
		c.addTerms, c.dropTerms = diffTerms(c.terms(c.After), c.terms(c.Before))
		c.fields = audit.Fields(c.Type.Shape, c.Before, c.After, c.StateBefore, c.State, c.touched...)
	}
}

// terms are those of the type, and those by which a registry that is about to
// be served finds its objects.
func (c *Change) terms(object map[string]any) map[store.Term]struct{} {
	terms := termsOf(c.Type, object)
	if c.pending.t != nil {
		maps.Copy(terms, c.pending.termsOf(object))
	}
	return terms
}

func warningsOf(c *Change) []byte {
	if len(c.Type.Warnings)+len(c.warned) == 0 {
		return nil
	}
	warnings := slices.Clone(c.warned)
	inState(c.After, c.State, func() {
		for i := range c.Type.Warnings {
			if rule := &c.Type.Warnings[i]; rule.Matches(c.After) {
				warnings = append(warnings, rule.Message)
			}
		}
	})
	if len(warnings) == 0 {
		return nil
	}
	text := []byte{'['}
	for i, m := range warnings {
		if i > 0 {
			text = append(text, ',')
		}
		one, err := m.MarshalJSON()
		if err != nil {
			panic(err)
		}
		text = append(text, canonical(one)...)
	}
	return append(text, ']')
}

// canonical is an object in the form that every store gives back: without the
// escapes that encoding/json makes and it does not need.
func canonical(text []byte) []byte {
	if bytes.IndexByte(text, '\\') < 0 {
		return text
	}
	object, err := document.DecodeObject(text, document.Limits{})
	if err != nil {
		panic(err)
	}
	return document.Append(nil, object)
}

// inState has conditions see a document as they do: with its objectState.
func inState(object map[string]any, state string, do func()) {
	object["objectState"] = state
	do()
	delete(object, "objectState")
}

// usualBytes is the room that a document is written into at first.
const usualBytes = 1 << 10

// seal is the document as it is stored: a secret that has not changed keeps
// its ciphertext, so that a write without effect is recognised.
func (c *Change) seal(sealer Sealer) ([]byte, error) {
	if !c.Type.Shape.HasSecrets {
		return document.Append(make([]byte, 0, usualBytes), c.After), nil
	}
	sealed, _ := document.Clone(c.After).(map[string]any)
	err := c.Type.Shape.Secrets(sealed, func(at document.Pointer, plain string) (string, error) {
		if kept, ok := c.sealed[at.String()+"\x00"+plain]; ok {
			return kept, nil
		}
		return sealer.Seal(plain, c.place(at))
	})
	return document.Append(nil, sealed), err
}
