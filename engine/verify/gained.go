package verify

import (
	"maps"
	"slices"
	"strings"

	"marquee/engine/catalog"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// otherOwners returns the paths to teams and users of two forms of a type, by their keys; none if
// they are the same, or one form is not known.
func otherOwners(before, after *schema.Type) map[string][]schema.OwnerPath {
	if before == nil || before.OwnerField().Term == after.OwnerField().Term {
		return nil
	}
	keys := map[string][]schema.OwnerPath{}
	for _, t := range []*schema.Type{before, after} {
		if paths := t.OwnerPaths(); paths != nil {
			keys[t.OwnerField().Term] = paths
		}
	}
	return keys
}

// gain notes why others would see the objects of a page.
func (v *proposed) gain(s store.Snapshot, page []*judged) error {
	if len(v.owners) == 0 {
		return nil
	}
	objects := make([]catalog.Owned, len(page))
	for i, r := range page {
		objects[i] = catalog.Owned{Key: r.Key}
		if r.object != nil {
			objects[i] = catalog.OwnedObject(r.Key, r.object)
		}
	}
	terms, err := catalog.OwnerTerms(v.owners, objects, catalog.ReadStored(v.ctx, s))
	for _, r := range page {
		r.gains = v.gainOf(terms[r.Key])
	}
	return err
}

// gain is why others would see an object, if any would, and the id of one of them.
type gain struct{ text, id string }

func (v *proposed) gainOf(terms []store.Term) gain {
	had, has := map[string]bool{}, map[string]bool{}
	for _, term := range terms {
		if term.Key == v.t.OwnerField().Term {
			has[term.Value] = true
		} else {
			had[term.Value] = true
		}
	}
	// Without a path to teams, or without a team, each role of scope TEAM shows the object.
	some := len(v.before.Team) > 0 && !had[schema.Unowned]
	if some && (len(v.t.Team) == 0 || has[schema.Unowned]) {
		return gain{text: "each role of the scope TEAM would show the object, which would belong to no team"}
	}
	for _, value := range slices.Sorted(maps.Keys(has)) {
		if user, own := strings.CutPrefix(value, schema.OwnValue("")); own && !had[value] {
			return gain{"the object would belong to another user", user}
		} else if _, id, team := strings.Cut(value, "/"); team && some && !own && !had[value] && !strings.HasPrefix(value, schema.Via) {
			return gain{"the object would belong to another team", id}
		}
	}
	return gain{}
}
