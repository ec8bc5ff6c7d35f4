package write

import (
	"slices"

	"marquee/engine/catalog"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// formChange is a value that a change drops or takes in its form.
type formChange struct {
	c          *Change
	form       schema.UniqueForm
	drop, take []store.Claim
}

// checkForms compares changed values with the forms of other objects' values, and adds
// the claims. Unchanged values need not conform.
func (u *uniqueness) checkForms() error {
	w := u.w
	var changes []formChange
	var all []store.Claim
	for _, c := range w.round {
		for _, f := range catalog.FormsOf(c.index.Claimed()) {
			before, after := catalog.TextAt(c.asStored, f.Property), catalog.TextAt(c.After, f.Property)
			if before == after || c.ID == "" {
				continue
			}
			change := formChange{c, f, catalog.FormClaims(c.Type.Name, c.Network, f, before), catalog.FormClaims(c.Type.Name, c.Network, f, after)}
			if after != "" && change.take == nil && slices.Contains(c.Type.UniqueForms, f) {
				w.faults.Add(c.Fault(message.ValueForm, pointerOf(f.Property), message.Params{"form": f.Form}))
			}
			changes = append(changes, change)
			all = append(append(all, change.drop...), change.take...)
		}
	}
	if len(all) == 0 {
		return nil
	}
	owners, err := w.tx.Claims(w.ctx, all)
	if err != nil {
		return err
	}
	forms := claimedForms{owners: owners, dropped: map[store.Claim]bool{}, taken: map[store.Claim]bool{}}
	for _, change := range changes {
		for _, claim := range change.drop {
			if owners[claim] == change.c.ID && !slices.Contains(change.take, claim) {
				forms.dropped[claim] = true
			}
		}
	}
	for _, change := range changes {
		if forms.take(change) {
			continue
		}
		if fault := change.c.Fault(message.ValueNotUnique, pointerOf(change.form.Property), nil); !w.faults.Holds(fault) {
			w.faults.Add(fault) // unless there is one for the value as it is written
		}
	}
	return nil
}

// claimedForms are the claims of values in their forms: those that the store has, and those
// that the round drops and has taken.
type claimedForms struct {
	owners         map[store.Claim]string
	dropped, taken map[store.Claim]bool
}

// take adds what one change drops and takes to its claims. It reports false if another object
// has the form.
func (f *claimedForms) take(change formChange) bool {
	c, kept := change.c, false
	for _, claim := range change.take {
		owner, owned := f.owners[claim]
		switch {
		case owned && owner == c.ID: // it is another spelling of the same form
			kept = true
		case owned && !f.dropped[claim]:
			return false
		}
	}
	for _, claim := range change.drop {
		if f.owners[claim] == c.ID && f.dropped[claim] {
			c.dropClaims = append(c.dropClaims, claim)
		}
	}
	if len(change.take) > 0 {
		first := change.take[0]
		if f.taken[first] {
			return false
		}
		f.taken[first] = true
		if !kept {
			c.addClaims = append(c.addClaims, first)
		}
	}
	return true
}
