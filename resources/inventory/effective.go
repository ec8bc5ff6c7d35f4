package inventory

import (
	"maps"
	"slices"
)

// combined are the properties whose rulesets add up.
var combined = []string{"targetingRulesets", "sizeRulesets", "layoutRulesets"}

// effective are the rulesets that apply.
type effective struct {
	// site is the one of type INVENTORY, or "".
	site string
	// lists are the others, by the property through which they are attached.
	lists map[string][]any
	// floors are the floor prices in their rules.
	floors []any
}

// seenAtOnce bounds the rulesets that are in memory at once.
const seenAtOnce = 100

// combine finds the rulesets that apply where they are attached to several
// places, of which the later are the narrower.
func (r *reading) combine(places ...map[string]any) (effective, error) {
	var attached []string
	for _, place := range places {
		if id, ok := place["siteRuleset"].(string); ok {
			attached = append(attached, id)
		}
		for _, property := range combined {
			attached = append(attached, ids(place[property])...)
		}
	}
	usable := map[string][]any{}
	for part := range slices.Chunk(attached, seenAtOnce) {
		seen, err := r.See(r.ctx, "rulesets", r.network, part)
		if err != nil {
			return effective{}, err
		}
		for id, s := range seen {
			if s.State == "ACTIVE" {
				usable[id] = floorsOf(s.Object)
			}
		}
	}
	return choose(places, usable), nil
}

// choose applies precedence and combination. Usable has the floor prices of
// the rulesets that count.
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
			for _, id := range ids(place[property]) {
				if count(id) {
					e.lists[property] = append(e.lists[property], id)
				}
			}
		}
	}
	return e
}

// rulesets is the property effectiveRulesets.
func (e *effective) rulesets() map[string]any {
	shown := map[string]any{}
	if e.site != "" {
		shown["siteRuleset"] = e.site
	}
	for property, list := range e.lists {
		shown[property] = list
	}
	return shown
}

// floorPrice is the property effectiveFloorPrice: for each currency the highest
// floor price of the rules and of the ad unit itself.
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

// floorsOf lists the floor prices in the rules of a ruleset.
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

func ids(list any) []string {
	items, _ := list.([]any)
	found := make([]string, 0, len(items))
	for _, item := range items {
		if id, ok := item.(string); ok {
			found = append(found, id)
		}
	}
	return found
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
