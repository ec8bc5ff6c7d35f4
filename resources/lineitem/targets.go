package lineitem

import (
	"strconv"
	"strings"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/resources/catalogue"
)

// target is a property of targeting that refers to objects of a type. The path
// leads from targeting to an array of references, through other arrays.
type target struct {
	collection string
	path       []string
}

// targets has every such property of the schema.
var targets = []target{
	{"earningsaccounts", []string{"publisherTarget", "earningsAccounts"}},
	{"sites", []string{"siteTarget", "sites"}},
	{"adunits", []string{"adUnitTarget", "adUnits"}},
	{"sitegroups", []string{"siteGroupTarget", "siteGroups"}},
	{"segments", []string{"userSegmentTargets", "userSegments"}},
	{"segments", []string{"userSegmentTargets", "notUserSegments"}},
}

// property returns the dotted path of a target in a line item.
func (t target) property() string { return "targeting." + strings.Join(t.path, ".") }

// targeted are the ids of one array of references.
type targeted struct {
	collection, pointer string
	ids                 []string
}

// targetedBy returns the references in the targeting of a line item.
func targetedBy(c *engine.Change) []targeted {
	if c.After["targeting"] == nil {
		return nil
	}
	var all []targeted
	for _, t := range targets {
		all = t.walk(all, c.After["targeting"], t.path, "/targeting")
	}
	return all
}

func (t target) walk(all []targeted, value any, path []string, at string) []targeted {
	switch v := value.(type) {
	case map[string]any:
		if len(path) > 0 {
			return t.walk(all, v[path[0]], path[1:], at+"/"+path[0])
		}
	case []any:
		if len(path) == 0 {
			return append(all, targeted{t.collection, at, texts(v)})
		}
		for i, item := range v {
			all = t.walk(all, item, path, at+"/"+strconv.Itoa(i))
		}
	}
	return all
}

func texts(items []any) []string {
	var list []string
	seen := make(map[string]bool, len(items))
	for _, id := range document.Strings(items) {
		if id != "" && !seen[id] {
			list, seen[id] = append(list, id), true
		}
	}
	return list
}

// named is the number of hidden objects that a warning names.
const named = 5

// warnOfHidden warns of hidden objects among the references of an array.
func (s *surroundings) warnOfHidden(c *engine.Change, t targeted) {
	var ids []string
	for _, id := range t.ids {
		if s.states[t.collection][id] == hidden {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return
	}
	c.Warn(catalogue.WarnTargetHidden, t.pointer, message.Params{"type": t.collection, "count": len(ids), "ids": ids[:min(named, len(ids))]})
}
