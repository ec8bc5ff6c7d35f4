package inventory_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"marquee/resources/resourcetest"
)

type object = resourcetest.Object

// newInventory returns a service with an earnings account, a site and an ad unit,
// each within the one before, and a ruleset of every type for each of them.
func newInventory(t *testing.T) *resourcetest.Service {
	s := resourcetest.New(t)
	for _, owner := range []string{"account", "site", "unit"} {
		for _, kind := range []string{"INVENTORY", "TARGETING", "SIZE", "LAYOUT"} {
			s.Write("rulesets", object{"id": owner + "-" + kind, "name": kind, "type": kind})
		}
	}
	s.Write("earningsaccounts", object{"id": "account", "name": "Account"})
	s.Write("sites", object{"id": "site", "name": "Site", "earningsAccount": "account"})
	s.Write("adunits", object{"id": "unit", "name": "Unit", "site": "site"})
	return s
}

// effective returns the effective rulesets of an object as "property: ids".
func effective(s *resourcetest.Service, typeName, id string) []string {
	rulesets, _ := s.Read(typeName, id)["effectiveRulesets"].(object)
	all := []string{}
	for property, value := range rulesets {
		if property == "siteRuleset" {
			all = append(all, property+": "+resourcetest.ID(value))
		} else if ids := resourcetest.IDs(value); len(ids) > 0 {
			all = append(all, fmt.Sprint(property, ": ", ids))
		}
	}
	slices.Sort(all)
	return all
}

func check(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Of the rulesets of type INVENTORY, the nearest applies: the site's, or else the
// account's.
func TestNearestSiteRulesetApplies(t *testing.T) {
	s := newInventory(t)
	check(t, effective(s, "adunits", "unit"), []string{})

	s.Write("earningsaccounts", object{"id": "account", "siteRuleset": "account-INVENTORY"})
	check(t, effective(s, "sites", "site"), []string{"siteRuleset: account-INVENTORY"})

	s.Write("sites", object{"id": "site", "siteRuleset": "site-INVENTORY"})
	check(t, effective(s, "sites", "site"), []string{"siteRuleset: site-INVENTORY"})
	check(t, effective(s, "adunits", "unit"), []string{"siteRuleset: site-INVENTORY"})
}

// The other rulesets of all levels apply together, outermost first, each once.
func TestOtherRulesetsAddUp(t *testing.T) {
	s := newInventory(t)
	s.Write("earningsaccounts", object{"id": "account", "targetingRulesets": []any{"account-TARGETING"}})
	s.Write("sites", object{"id": "site", "targetingRulesets": []any{"site-TARGETING"}, "sizeRulesets": []any{"site-SIZE"}})
	s.Write("adunits", object{"id": "unit", "targetingRulesets": []any{"unit-TARGETING", "account-TARGETING"}, "layoutRulesets": []any{"unit-LAYOUT"}})

	check(t, effective(s, "sites", "site"), []string{"sizeRulesets: [site-SIZE]", "targetingRulesets: [account-TARGETING site-TARGETING]"})
	check(t, effective(s, "adunits", "unit"), []string{"layoutRulesets: [unit-LAYOUT]", "sizeRulesets: [site-SIZE]",
		"targetingRulesets: [account-TARGETING site-TARGETING unit-TARGETING]"})
}

// A ruleset that is not ACTIVE does not apply, nor does any ruleset of a site or an
// account that is not ACTIVE.
func TestInactiveObjectsContributeNothing(t *testing.T) {
	s := newInventory(t)
	s.Write("earningsaccounts", object{"id": "account", "siteRuleset": "account-INVENTORY", "sizeRulesets": []any{"account-SIZE"}})
	s.Write("sites", object{"id": "site", "siteRuleset": "site-INVENTORY", "sizeRulesets": []any{"site-SIZE"}})

	s.Write("rulesets", object{"id": "site-INVENTORY", "objectState": "INACTIVE"})
	check(t, effective(s, "adunits", "unit"), []string{"siteRuleset: account-INVENTORY", "sizeRulesets: [account-SIZE site-SIZE]"})

	s.Write("earningsaccounts", object{"id": "account", "objectState": "INACTIVE"})
	check(t, effective(s, "adunits", "unit"), []string{"sizeRulesets: [site-SIZE]"})

	// The account is reached through the site only.
	s.Write("earningsaccounts", object{"id": "account", "objectState": "ACTIVE"})
	s.Write("sites", object{"id": "site", "objectState": "INACTIVE"})
	check(t, effective(s, "adunits", "unit"), []string{})

	// The object itself counts in any state.
	check(t, effective(s, "sites", "site"), []string{"siteRuleset: account-INVENTORY", "sizeRulesets: [account-SIZE site-SIZE]"})
}

// For each currency, the highest floor price of the effective rulesets and of the ad
// unit itself applies.
func TestHighestFloorPriceOfEachCurrencyApplies(t *testing.T) {
	price := func(currency string, amount float64) object { return object{"currency": currency, "amount": amount} }
	s := newInventory(t)
	s.Write("rulesets", object{"id": "site-SIZE", "rules": []any{
		object{"floorPrice": price("EUR", 2)}, object{"floorPrice": price("NOK", 30)}, object{"sizes": []any{}}}})
	s.Write("rulesets", object{"id": "account-TARGETING", "rules": []any{object{"floorPrice": price("NOK", 12)}}})
	s.Write("sites", object{"id": "site", "sizeRulesets": []any{"site-SIZE"}})
	s.Write("earningsaccounts", object{"id": "account", "targetingRulesets": []any{"account-TARGETING"}})

	s.Write("adunits", object{"id": "unit", "floorPrice": price("EUR", 1)})
	check(t, s.Read("adunits", "unit")["effectiveFloorPrice"], []any{price("EUR", 2), price("NOK", 30)})

	s.Write("adunits", object{"id": "unit", "floorPrice": price("EUR", 2.5)})
	check(t, s.Read("adunits", "unit")["effectiveFloorPrice"], []any{price("EUR", 2.5), price("NOK", 30)})
}
