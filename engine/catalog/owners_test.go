package catalog

import (
	"maps"
	"slices"
	"testing"

	"marquee/engine/schema"
	"marquee/engine/store"
)

// A bed belongs to its own team or else to that of its ward; what the path leads
// through is known, so that the bed is found when the ward changes its team.
func TestOwnerTerms(t *testing.T) {
	beds := bedsOfWards(t)
	keys := IndexingOf(beds).OwnerKeys()
	stored := map[string]Owned{
		"north":   owned("north", map[string]any{"team": reference("red")}),
		"south":   owned("south", map[string]any{}),
		"damaged": {Key: store.Key{Network: "house", ID: "damaged"}},
	}
	reads := 0
	read := func(name, network string, ids []string, yield func(Owned)) error {
		if reads++; name != "wards" || network != "house" {
			t.Errorf("%s of %s are read", name, network)
		}
		for _, id := range ids {
			if ward, exists := stored[id]; exists {
				yield(ward)
			}
		}
		return nil
	}
	north, south := schema.ViaValue("wards", "north"), schema.ViaValue("wards", "south")
	red, blue := schema.OwnerValue("teams", "red"), schema.OwnerValue("teams", "blue")
	wanted := map[string][]string{
		"own":      {blue},
		"own-ward": {blue},
		"ward":     {north, red},
		"unowned":  {south, schema.Unowned},
		"none":     {schema.Unowned},
		"missing":  {schema.ViaValue("wards", "gone"), schema.Unowned},
		"unclear":  {schema.ViaValue("wards", "damaged"), schema.Undecided},
	}
	found, err := OwnerTerms(keys, []Owned{
		owned("own", map[string]any{"team": reference("blue")}),
		owned("own-ward", map[string]any{"team": reference("blue"), "ward": reference("north")}),
		owned("ward", map[string]any{"ward": reference("north")}),
		owned("unowned", map[string]any{"ward": reference("south")}),
		owned("none", map[string]any{}),
		owned("missing", map[string]any{"ward": reference("gone")}),
		owned("unclear", map[string]any{"ward": reference("damaged")}),
	}, read)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range wanted {
		var got []string
		for _, term := range found[store.Key{Network: "house", ID: id}] {
			got = append(got, term.Value)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s has the owners %v, want %v", id, got, want)
		}
	}
	if reads != 1 {
		t.Errorf("the wards of all beds are read in %d queries", reads)
	}
}

// Only terms of owners are compared: a record has others, too.
func TestDiffOwners(t *testing.T) {
	keys := IndexingOf(bedsOfWards(t)).OwnerKeys()
	key := slices.Collect(maps.Keys(keys))[0]
	term := func(value string) store.Term { return store.Term{Key: key, Value: value} }
	tag := store.Term{Key: "tags", Value: "quiet"}
	add, drop := DiffOwners(keys, []store.Term{term("red"), term("blue"), tag}, []store.Term{term("blue"), term("green")})
	if !slices.Equal(add, []store.Term{term("green")}) || !slices.Equal(drop, []store.Term{term("red")}) {
		t.Errorf("adds %v, drops %v", add, drop)
	}
}

func owned(id string, object map[string]any) Owned {
	return OwnedObject(store.Key{Network: "house", ID: id}, object)
}

func reference(id string) map[string]any { return map[string]any{"id": id} }
