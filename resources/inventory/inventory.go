// Package inventory derives which rulesets and floor prices apply to a site or an
// ad unit. It may import the engine only; begin with Hooks, then read choose in
// effective.go.
package inventory

import (
	"context"
	"slices"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/store"
)

// Hooks returns the hooks that add effectiveRulesets and effectiveFloorPrice to a
// single site or ad unit, and to lists that request them.
//
// A ruleset, site or earnings account that is not ACTIVE contributes nothing, and
// neither does anything that is reached through it alone. The object itself counts
// in any state, so that it shows what will apply once it is ACTIVE.
//
// The properties reveal nothing hidden: whoever can see an ad unit can see its
// site, and earnings accounts are visible to everyone in the network.
func Hooks() map[string]engine.Hooks {
	return map[string]engine.Hooks{
		"sites":   {Derive: apply(false)},
		"adunits": {Derive: apply(true)},
	}
}

const (
	rulesetsProperty   = "effectiveRulesets"
	floorPriceProperty = "effectiveFloorPrice"
)

// readAtOnce is the number of objects in memory at once besides the records.
const readAtOnce = 50

// apply returns the hook for ad units, or for sites.
func apply(units bool) func(context.Context, *engine.Reading, []*store.Record) error {
	return func(ctx context.Context, r *engine.Reading, records []*store.Record) error {
		wanted := func(property string) bool { return r.Requested(property) || r.Single && r.Shows(property) }
		if !wanted(rulesetsProperty) && !wanted(floorPriceProperty) {
			return nil
		}
		for part := range slices.Chunk(records, readAtOnce) {
			if err := applyTo(&reading{r, ctx}, part, units); err != nil {
				return err
			}
		}
		return nil
	}
}

// reading reads the objects that apply to records.
type reading struct {
	*engine.Reading
	ctx context.Context
}

// key identifies an object across networks.
type key struct{ network, id string }

// applyTo sets the derived properties of records, with one query for each type and
// network that they refer to.
func applyTo(r *reading, records []*store.Record, units bool) error {
	// places are the objects whose rulesets apply to a record, outermost first.
	places := make([][]map[string]any, len(records))
	for i, record := range records {
		object, err := document.DecodeObject(record.Document, document.Limits{Depth: 1000})
		if err != nil {
			return err
		}
		places[i] = []map[string]any{object}
	}
	enclosing := []struct{ collection, property string }{{"sites", "site"}, {"earningsaccounts", "earningsAccount"}}
	if !units {
		enclosing = enclosing[1:]
	}
	for _, e := range enclosing {
		if err := r.enclose(records, places, e.collection, e.property); err != nil {
			return err
		}
	}
	usable, err := r.rulesets(records, places)
	if err != nil {
		return err
	}
	for i, record := range records {
		effective := choose(places[i], usable[record.Network])
		derived := map[string]any{rulesetsProperty: effective.rulesets()}
		if units {
			derived[floorPriceProperty] = effective.floorPrice(places[i][len(places[i])-1]["floorPrice"])
		}
		if err := r.Set(record, derived); err != nil {
			return err
		}
	}
	return nil
}

// enclose prepends to the places of each record the object that the first place
// refers to, or an empty one if there is none or it is not ACTIVE.
func (r *reading) enclose(records []*store.Record, places [][]map[string]any, collection, property string) error {
	wanted := map[string][]string{}
	for i, record := range records {
		if id, refers := places[i][0][property].(string); refers {
			wanted[record.Network] = append(wanted[record.Network], id)
		}
	}
	found := map[key]map[string]any{}
	for network, ids := range wanted {
		objects, err := r.Lookup(r.ctx, collection, network, ids)
		if err != nil {
			return err
		}
		for id, object := range objects {
			if object.State == "ACTIVE" {
				found[key{network, id}] = object.Object
			}
		}
	}
	for i, record := range records {
		id, _ := places[i][0][property].(string)
		places[i] = slices.Insert(places[i], 0, found[key{record.Network, id}])
	}
	return nil
}
