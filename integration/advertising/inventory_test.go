package advertising

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"marquee/engine"
	"marquee/integration/service"
)

// TestRulesetsByField attaches a ruleset of each type through each field of
// each object that takes rulesets: one type fits.
func TestRulesetsByField(t *testing.T) { service.EachStore(t, testRulesetsByField) }

func testRulesetsByField(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	types := []string{"INVENTORY", "TARGETING", "SIZE", "LAYOUT"}
	for _, kind := range types {
		c.Send("POST", "/api/v1/rulesets/"+kind+"?context=main", `{"name": "R", "type": "`+kind+`"}`, 201, "")
	}
	fields := map[string]string{"siteRuleset": "INVENTORY", "targetingRulesets": "TARGETING", "sizeRulesets": "SIZE", "layoutRulesets": "LAYOUT"}
	for _, collection := range []string{"sites", "earningsaccounts", "adunits"} {
		path := "/api/v1/" + collection + "/x?context=main"
		c.Send("POST", path, `{"name": "X"}`, 201, "")
		for field, fits := range fields {
			if collection == "adunits" && field == "siteRuleset" {
				c.Send("POST", path+"&fieldValidation=Strict", `{"siteRuleset": "INVENTORY"}`, 422, `{"messages": [{"code": "error.property.unknown", "params": {"field": "/siteRuleset"}}]}`)
				continue
			}
			for _, kind := range types {
				object, place := `{"`+field+`": ["`+kind+`"]}`, "/"+field+"/0"
				if field == "siteRuleset" {
					object, place = `{"siteRuleset": {"id": "`+kind+`"}}`, "/siteRuleset"
				}
				if kind == fits {
					c.Send("POST", path, object, 200, strings.ReplaceAll(object, `["`+kind+`"]`, `[{"id": "`+kind+`", "name": "R"}]`))
				} else {
					refused(c, path, object, "error.reference.mismatch "+place)
				}
			}
		}
	}
}

// TestSSPConfigurations fills ad units by a connection, which no client can
// make.
func TestSSPConfigurations(t *testing.T) { service.EachStore(t, testSSPConfigurations) }

func testSSPConfigurations(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	connections, err := c.Service.Engine.Type("sspconnections")
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Service.Engine.Write(context.Background(), &engine.Caller{System: true}, engine.Batch{Network: service.Network, Operations: []engine.Operation{
		{Type: connections, Object: map[string]any{"id": "ssp", "name": "SSP", "ssp": "EXAMPLE", "publisherId": "1", "apiKey": "secret of the connection"}}}})
	if err != nil {
		t.Fatal(err)
	}
	const path = "/api/v1/adunits/u?context=main"
	const configuration = `{"sspConnection": {"id": "ssp"}, "enabled": false, "sspAdUnitId": "unit", "sspSiteId": "site", "sspAdType": "HTML", "width": 300, "height": 250}`
	const shown = `{"<only>": true, "sspConnection": {"<only>": true, "id": "ssp", "name": "SSP", "url": "/api/v1/sspconnections/ssp?context=main"}, "enabled": false, "sspAdUnitId": "unit", "sspSiteId": "site", "sspAdType": "HTML", "width": 300, "height": 250}`
	c.Send("POST", path, `{"name": "U", "sspConfigurations": [`+configuration+`]}`, 201, `{"sspConfigurations": [`+shown+`]}`)
	c.Send("GET", "/api/v1/adunits?context=main&where=sspConfigurations.sspConnection=ssp", "", 200, `{"results": [{"id": "u", "sspConfigurations": [`+shown+`]}]}`)
	changed := func(name, value string) string {
		object := members(t, configuration)
		if object[name] = json.RawMessage(value); value == "" {
			delete(object, name)
		}
		text, err := json.Marshal(map[string]any{"sspConfigurations": []any{object}})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, adType := range []string{"TEXT", "VIDEO", "FLASH", "IMAGE", "MIXED", "HTML"} {
		c.Send("POST", path, changed("sspAdType", `"`+adType+`"`), 200, `{"sspConfigurations": [{"sspAdType": "`+adType+`"}]}`)
	}
	for name := range members(t, configuration) {
		refused(c, path, changed(name, ""), "error.property.required /sspConfigurations/0/"+name)
	}
	for _, wrong := range []struct{ name, value, code string }{
		{"enabled", `"yes"`, "error.value.type"},
		{"sspAdUnitId", `""`, "error.value.too.short"},
		{"sspSiteId", `5`, "error.value.type"},
		{"sspAdType", `"AUDIO"`, "error.value.enum"},
		{"width", `-1`, "error.value.too.small"},
		{"height", `"250"`, "error.value.type"},
		{"sspConnection", `"other"`, "error.referenced.object.not.found"},
		{"sspConnection", `5`, "error.reference.malformed"},
	} {
		refused(c, path, changed(wrong.name, wrong.value), wrong.code+" /sspConfigurations/0/"+wrong.name)
	}
	c.Send("POST", path, `{"sspConfigurations": []}`, 200, `{"sspConfigurations": []}`)
}

// TestManyRulesets reads an ad unit to which more rulesets apply than are in
// memory at once: each is placed where it is first attached, and every floor price
// counts.
func TestManyRulesets(t *testing.T) { service.EachStore(t, testManyRulesets) }

func testManyRulesets(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	const n = 450
	rulesets, all := make([]string, n), make([]string, n)
	for i := range n {
		all[i] = fmt.Sprintf("r%03d", i)
		state := "ACTIVE"
		if i%9 == 0 {
			state = "INACTIVE"
		}
		// The highest is that of the ruleset 137, which is neither first nor last.
		rulesets[i] = fmt.Sprintf(`{"id": "r%03d", "name": "R%d", "type": "SIZE", "objectState": "%s", "rules": [{"floorPrice": {"currency": "EUR", "amount": %d}}]}`, i, i, state, 1+(i+312)%n)
	}
	list := func(ids []string) string { return `["` + strings.Join(ids, `", "`) + `"]` }
	c.Send("POST", "/api/v1/rulesets?context=main", "["+strings.Join(rulesets, ",")+"]", 200, "")
	c.Send("POST", "/api/v1/earningsaccounts/a?context=main", `{"name": "A", "sizeRulesets": `+list(all[100:300])+`}`, 201, "")
	c.Send("POST", "/api/v1/sites/s?context=main", `{"name": "S", "earningsAccount": "a", "sizeRulesets": `+list(all[200:])+`}`, 201, "")
	c.Send("POST", "/api/v1/adunits/u?context=main", `{"name": "U", "site": "s", "sizeRulesets": `+list(all)+`}`, 201, "")
	var applied []string
	for _, id := range slices.Concat(all[100:], all[:100]) {
		var i int
		fmt.Sscanf(id, "r%d", &i)
		if i%9 != 0 {
			applied = append(applied, fmt.Sprintf(`{"<only>": true, "id": "%s", "name": "R%d", "url": "<text>"}`, id, i))
		}
	}
	c.Send("GET", "/api/v1/adunits/u?context=main", "", 200,
		`{"effectiveRulesets": {"sizeRulesets": [`+strings.Join(applied, ",")+`]}, "effectiveFloorPrice": [{"<only>": true, "currency": "EUR", "amount": 450}]}`)
}
