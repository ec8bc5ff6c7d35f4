package access

import (
	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Seen returns a type as it is for a caller in a network: without the properties whose
// permissions the caller lacks.
func Seen(a Access, caller *Caller, t *schema.Type, network string) *schema.Type {
	return t.Without(func(permission string) bool { return !a.MayReadProperty(caller, t, network, permission) })
}

// HideUnseen returns a function that runs first, which may be nil, and then removes from a
// record, in place, the properties that a type of Seen lacks. If it lacks none, it returns
// first.
func HideUnseen(seen *schema.Type, first func(*Caller, *store.Record) error) func(*Caller, *store.Record) error {
	if !seen.Narrowed() {
		return first
	}
	return func(caller *Caller, r *store.Record) error {
		if first != nil {
			if err := first(caller, r); err != nil {
				return err
			}
		}
		object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
		if err != nil {
			return err
		}
		seen.Shape.Strip(object)
		r.Document = document.Append(nil, object)
		return nil
	}
}
