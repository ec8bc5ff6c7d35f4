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
func (w *Writing) checkForms(diffs map[*Change]claimDiff) error {
	var changes []formChange
	var all []store.Claim
	for _, c := range w.round {
		for _, f := range catalog.FormsOf(c.index.Claimed()) {
			before, after := catalog.TextAt(c.Before, f.Property), catalog.TextAt(c.After, f.Property)
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
	dropped := map[store.Claim]bool{}
	for _, change := range changes {
		for _, claim := range change.drop {
			if owners[claim] == change.c.ID && !slices.Contains(change.take, claim) {
				dropped[claim] = true
			}
		}
	}
	taken := map[store.Claim]bool{}
	for _, change := range changes {
		w.takeForm(change, owners, dropped, taken, diffs)
	}
	return nil
}

// takeForm adds what one change drops and takes to its claims.
func (w *Writing) takeForm(change formChange, owners map[store.Claim]string, dropped, taken map[store.Claim]bool, diffs map[*Change]claimDiff) {
	c, kept := change.c, false
	diff := diffs[c]
	for _, claim := range change.take {
		owner, owned := owners[claim]
		switch {
		case owned && owner == c.ID: // it is another spelling of the same form
			kept = true
		case owned && !dropped[claim]:
			w.notUnique(c, change.form.Property)
			return
		}
	}
	for _, claim := range change.drop {
		if owners[claim] == c.ID && dropped[claim] {
			diff.drop = append(diff.drop, claim)
		}
	}
	if len(change.take) > 0 {
		first := change.take[0]
		if taken[first] {
			w.notUnique(c, change.form.Property)
			return
		}
		taken[first] = true
		if !kept {
			diff.add = append(diff.add, first)
		}
	}
	diffs[c] = diff
}

// notUnique adds a fault unless there is one for the value as it is written.
func (w *Writing) notUnique(c *Change, property string) {
	if fault := c.Fault(message.ValueNotUnique, pointerOf(property), nil); !w.faults.Holds(fault) {
		w.faults.Add(fault)
	}
}
