package catalog

import "marquee/engine/store"

// Erasures is the collection of erasures that are not complete: the personal values of
// their objects are gone, and those in the history may not be. A record is written in the
// transaction that erases the object, and dropped when nothing is left. It has no
// personal value.
var Erasures = store.Collection{Name: "engine_erasures"}

// Erasure is a record of Erasures.
type Erasure struct {
	Type    string `json:"type"`
	Network string `json:"network,omitempty"`
	ID      string `json:"id"`
	// Revision is that of the erased object. Later changes have values that were filled
	// in again.
	Revision int64 `json:"revision"`
	// Creator is the user who gets the notices about the object.
	Creator string `json:"creator,omitempty"`
	// Rewritten reports whether the history and the notices have been rewritten.
	Rewritten bool `json:"rewritten,omitempty"`
	// Wipe reports whether values were removed, so that the store has to overwrite them.
	Wipe bool `json:"wipe,omitempty"`
}

// Key is that of the record.
func (e *Erasure) Key() store.Key { return FollowUpKey(e.Type, e.Network, e.ID) }
