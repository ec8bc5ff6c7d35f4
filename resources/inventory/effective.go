package inventory

import (
	"maps"
	"slices"

	"marquee/engine/document"
	"marquee/engine/store"
)

// combined are the properties whose rulesets apply at every level.
var combined = []string{"targetingRulesets", "sizeRulesets", "layoutRulesets"}

// effective are the rulesets that apply to an object.
type effective struct {
	// site is the ruleset of type INVENTORY, or "".
	site string
	// lists are the other rulesets, by the property that attaches them.
	lists map[string][]any
	// floors are the floor prices in the rules of all of them.
	floors []any
}

// rulesets reads the ACTIVE rulesets attached to records and to what encloses
// them. It returns their floor prices by network and id.
func (r *reading) rulesets(records []*store.Record, places [][]map[string]any) (map[string]map[string][]any, error) {
	attached := map[string][]string{}
	for i, record := range records {
		for _, place := range places[i] {
			if id, ok := place["siteRuleset"].(string); ok {
				attached[record.Network] = append(attached[record.Network], id)
			}
			for _, property := range combined {
				attached[record.Network] = append(attached[record.Network], document.Strings(place[property])...)
			}
		}
	}
	usable := map[string]map[string][]any{}
	for network, all := range attached {
		usable[network] = map[string][]any{}
		for part := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(all))), readAtOnce) {
			found, err := r.Lookup(r.ctx, "rulesets", network, part)
			if err != nil {
				return nil, err
			}
			for id, ruleset := range found {
				if ruleset.State == "ACTIVE" {
					usable[network][id] = floorsOf(ruleset.Object)
				}
			}
		}
	}
	return usable, nil
}

// choose returns the rulesets that apply to the last place: of siteRuleset, the
// nearest usable one; of the combined properties, all usable ones, outermost first.
// Usable has the floor prices of the usable rulesets by id.
func choose(places []map[string]any, usable map[string][]any) effective {
	e := effective{lists: map[string][]any{}}
	counted := map[string]bool{}
	count := func(id string) bool {
		floors, counts := usable[id]
		if counts && !counted[id] {
			counted[id] = true
			e.floors = append(e.floors, floors...)
			return true
		}
		return false
	}
	for _, place := range slices.Backward(places) {
		if id, ok := place["siteRuleset"].(string); ok && count(id) {
			e.site = id
			break
		}
	}
	for _, property := range combined {
		e.lists[property] = []any{}
		for _, place := range places {
			for _, id := range document.Strings(place[property]) {
				if count(id) {
					e.lists[property] = append(e.lists[property], id)
				}
			}
		}
	}
	return e
}

// rulesets returns the property effectiveRulesets.
func (e *effective) rulesets() map[string]any {
	property := map[string]any{}
	if e.site != "" {
		property["siteRuleset"] = e.site
	}
	for name, list := range e.lists {
		property[name] = list
	}
	return property
}

// floorPrice returns the property effectiveFloorPrice: for each currency, the
// highest floor price of the rules and of the ad unit itself.
func (e *effective) floorPrice(own any) []any {
	highest := map[string]any{}
	for _, floor := range append([]any{own}, e.floors...) {
		price, _ := floor.(map[string]any)
		currency, priced := price["currency"].(string)
		if priced && (highest[currency] == nil || amount(price["amount"]) > amount(highest[currency])) {
			highest[currency] = price["amount"]
		}
	}
	prices := []any{}
	for _, currency := range slices.Sorted(maps.Keys(highest)) {
		prices = append(prices, map[string]any{"currency": currency, "amount": highest[currency]})
	}
	return prices
}

// floorsOf returns the floor prices in the rules of a ruleset.
func floorsOf(ruleset map[string]any) []any {
	floors := []any{}
	rules, _ := ruleset["rules"].([]any)
	for _, rule := range rules {
		members, _ := rule.(map[string]any)
		if floor, set := members["floorPrice"]; set {
			floors = append(floors, floor)
		}
	}
	return floors
}

func amount(value any) float64 {
	switch n := value.(type) {
	case int64:
		return float64(n)
	case float64:
		return n
	}
	return 0
}
