// Package inventory has the rules of sites and ad units that their schemas
// cannot say: which rulesets and floor prices apply to them.
package inventory

import (
	"context"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/store"
)

// Hooks add what applies to a site or an ad unit where it is read by itself.
//
// What is not ACTIVE is not usable: a ruleset, a site or an earnings account
// that is not adds nothing, and neither does what is reached through it alone.
// The object that is read counts in any state, so that it shows what applies
// once it is ACTIVE. Sites see their earnings account as everybody in the
// network does, and ad units are seen by those who see their site, so that
// nothing here tells of what the caller does not see.
func Hooks() map[string]engine.Hooks {
	return map[string]engine.Hooks{
		"sites":   {Derived: single(applyToSite)},
		"adunits": {Derived: single(applyToAdUnit)},
	}
}

// reading is one record that is read by itself.
type reading struct {
	*engine.Reading
	ctx     context.Context
	network string
}

// single derives properties of a record that was not read in a list, unless
// the caller has asked for others only.
func single(apply func(*reading, map[string]any) (map[string]any, error)) func(context.Context, *engine.Reading, []*store.Record) error {
	return func(ctx context.Context, r *engine.Reading, records []*store.Record) error {
		if !r.Single || !r.Shows("effectiveRulesets") && !r.Shows("effectiveFloorPrice") {
			return nil
		}
		for _, record := range records {
			object, err := document.DecodeObject(record.Document, document.Limits{Depth: 1000})
			if err != nil {
				return err
			}
			derived, err := apply(&reading{r, ctx, record.Network}, object)
			if err != nil {
				return err
			}
			if err := engine.Set(record, derived); err != nil {
				return err
			}
		}
		return nil
	}
}

func applyToSite(r *reading, site map[string]any) (map[string]any, error) {
	account, err := r.usable("earningsaccounts", site["earningsAccount"])
	if err != nil {
		return nil, err
	}
	e, err := r.combine(account, site)
	if err != nil {
		return nil, err
	}
	return map[string]any{"effectiveRulesets": e.rulesets()}, nil
}

func applyToAdUnit(r *reading, unit map[string]any) (map[string]any, error) {
	site, err := r.usable("sites", unit["site"])
	if err != nil {
		return nil, err
	}
	account, err := r.usable("earningsaccounts", site["earningsAccount"])
	if err != nil {
		return nil, err
	}
	e, err := r.combine(account, site, unit)
	if err != nil {
		return nil, err
	}
	return map[string]any{"effectiveRulesets": e.rulesets(), "effectiveFloorPrice": e.floorPrice(unit["floorPrice"])}, nil
}

// usable reads an object that is referred to, nil when there is none or it is
// not ACTIVE.
func (r *reading) usable(collection string, id any) (map[string]any, error) {
	key, refers := id.(string)
	if !refers {
		return nil, nil
	}
	seen, err := r.See(r.ctx, collection, r.network, []string{key})
	if s := seen[key]; s.State == "ACTIVE" {
		return s.Object, err
	}
	return nil, err
}
