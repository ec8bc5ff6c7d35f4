package diff

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"marquee/engine/document"
	"marquee/engine/schema"
)

// types compares two types of the same name.
func (c *comparison) types(old, new *schema.Type) {
	c.renamed(old, new)
	if old.Title != new.Title && old.Served().Name == new.Served().Name {
		c.report("title-changed", []Class{Source}, c.new.root(new).in("title"), "the operations of the type have another tag in the OpenAPI document, after which clients can be named", "keep the title")
	}
	if digest := c.old.digest(c.old.root(old)); digest != "" && digest == c.new.digest(c.new.root(new)) {
		return
	}
	c.resources(old, new)
	before, after := c.old.value(old.Shape, c.old.root(old)), c.new.value(new.Shape, c.new.root(new))
	before.of, after.of = old, new
	c.values(before, after)
	if c.old.left <= 0 || c.new.left <= 0 {
		c.undecided("too-complex", c.new.root(new), "the schemas combine in too many ways to be compared")
	}
}

// resources compares what x-resource says of two types.
func (c *comparison) resources(old, new *schema.Type) {
	at := c.new.root(new).in("x-resource")
	report := func(key, rule string, classes []Class, differs bool, text, cure string) {
		if differs {
			where := at
			if at.in(key).content() != nil {
				where = at.in(key)
			}
			c.report(rule, classes, where, text, cure)
		}
	}
	report("scope", "scope-changed", Classes, old.Global != new.Global, "objects belong to a network on one side and to the whole service on the other: those that are stored can no longer be read, until the former scope is served again", "use a new type")
	for _, method := range lost(old.Methods, new.Methods) {
		if method == http.MethodPut {
			method += ", and PATCH with it,"
		}
		report("methods", "method-removed", []Class{Request, Source}, true, "the method "+method+" is no longer supported", "keep the method")
	}
	report("methods", "removal-added", loosened, slices.Contains(lost(new.Methods, old.Methods), http.MethodDelete), "objects can be removed, and the set is refused while a stored value refers to one that does not exist", "")
	report("", "erasure-removed", []Class{Request, Source}, old.Shape.HasPersonal && !new.Shape.HasPersonal, "objects of the type can no longer be erased", "keep x-personal at a property")
	report("id", "id-required", []Class{Request}, new.IDRequired && !old.IDRequired, "clients must choose the id of a new object", "")
	report("idProperty", "id-property-changed", []Class{Request, Response, Source}, old.IDProperty != new.IDProperty, "the id has another second name", "keep the name")
	writing, text := []Class{Request}, "another permission is required to write objects"
	if old.Permission != new.Permission && new.Shape.HasSecrets {
		writing, text = []Class{Request, Response}, text+", and to see their secrets"
	}
	report("permissions", "permission-changed", writing, old.Permission != new.Permission || old.Create != new.Create, text, "grant the new permission first")
	report("permissions", "read-permission-changed", secluding(old, new), new.Read != "" && old.Read != new.Read, "a permission is required to see objects: "+new.Read, "grant the permission first")
	report("permissions", "visibility-changed", loosened, new.Read == "" && old.Read != "", "no permission is required to see objects any more: "+old.Read, "")
	report("label", "label-changed", []Class{Response}, old.Label != new.Label, "references show another property as the name", "")
	below, keep := "objects have other paths", "keep the parent"
	if new.Parent != "" {
		below += ", there is no list of those of all parents, and who does not see the parent of objects can neither list nor write them"
	}
	if old.Parent == "" {
		keep = ""
	}
	report("parent", "parent-changed", []Class{Request, Response, Source}, old.Parent != new.Parent, below, keep)
	report("page", "pages-removed", widened, old.Paged && !new.Paged, "lists no longer contain page and pageSize", "")
	for _, path := range lost(new.Paths, old.Paths) {
		report("paths", "path-reserved", tightened, true, "an object can no longer have the id "+path, "")
	}
	for _, name := range lost(old.Sort, new.Sort) {
		report("sort", "sort-removed", []Class{Request, Source}, true, "lists can no longer be ordered by "+document.RenamedPath(name, old.ServedName), "keep it")
	}
	report("search", "search-removed", []Class{Request, Source}, len(old.Search) > 0 && len(new.Search) == 0, "q is no longer supported", "keep a property")
	report("search", "search-changed", []Class{Response}, len(new.Search) > 0 && len(lost(old.Search, new.Search)) > 0, "q finds less", "")
	c.resourceLists(old, new, report)
}

// resourceLists compares the rules in x-resource.
func (c *comparison) resourceLists(old, new *schema.Type, report func(key, rule string, classes []Class, differs bool, text, cure string)) {
	for _, key := range []string{"unique", "uniqueForm"} {
		added, removed := c.changedRules(c.old.entriesOf(old, key), c.new.entriesOf(new, key))
		for _, text := range added {
			more, cure := "", ""
			if key == "unique" {
				more, cure = ", and the set is refused while stored objects share them", "change the objects that marquee check --proposed lists first"
			}
			report(key, "unique-added", tightened, true, "one more rule of unique values"+more+": "+writtenRule(new, key, text), cure)
		}
		for _, text := range removed {
			report(key, "unique-removed", loosened, true, "one rule of unique values fewer, or for fewer objects: "+writtenRule(old, key, text), "")
		}
	}
	c.visibility(old, new, report)
}

// sights are the keys of x-resource that decide who sees objects, with what callers gain where one
// is added, and lose where it is removed; for team, the reverse.
var sights = []struct{ key, gained, lost, changed string }{
	{"team", "roles of scope TEAM show all objects", "roles of scope TEAM show only the objects of their teams, and those of no team", "roles of scope TEAM show other objects, those of other teams"},
	{"owner", "roles of scope OWN show what belongs to their holders", "roles of scope OWN show no object any more", "roles of scope OWN show other objects, those that belong to their holders in another way"},
	{"public", "anybody sees objects that only roles showed", "only roles show objects that anybody saw", "other objects are public"},
}

// visibility compares who sees objects by the keys of x-resource.
func (c *comparison) visibility(old, new *schema.Type, report func(key, rule string, classes []Class, differs bool, text, cure string)) {
	for _, s := range sights {
		before, after := c.old.root(old).in("x-resource", s.key), c.new.root(new).in("x-resource", s.key)
		if slices.Equal(itemTexts(before.content()), itemTexts(after.content())) {
			continue
		}
		fewer, more := before.content() != nil, after.content() != nil
		switch {
		case fewer && more && s.key == "public":
			fewer, more = c.conditions(before.in("when"), after.in("when"))
		case s.key == "team":
			fewer, more = more, fewer
		}
		text, classes := s.changed, secluding(old, new)
		switch {
		case !fewer && !more:
			continue
		case !fewer:
			text = s.gained
			if s.key == "team" || !new.Shape.HasReadable {
				classes = loosened
			} else if s.key == "public" {
				text += ", and owners no longer see properties with x-readable"
			}
		case !more:
			text = s.lost
		}
		report(s.key, "visibility-changed", classes, true, s.key+": "+text+"; this concerns names in references to them, too, and lists and writes of objects below them", "")
	}
}

// secluding is what breaks if fewer callers see objects: SOURCE, too, if the public document no
// longer has the type.
func secluding(old, new *schema.Type) []Class {
	classes := []Class{Request, Response}
	if new.Secluded() && !old.Secluded() {
		classes = append(classes, Source)
	}
	return classes
}

// entriesOf returns the places of the entries of a list in x-resource.
func (s *side) entriesOf(t *schema.Type, key string) []place {
	at := s.root(t).in("x-resource", key)
	if at.content() == nil {
		return nil
	}
	return entries([]stated{{value: at.content(), at: at}})
}

// itemTexts returns the JSON of the items of a list, or of another value; none for nil.
func itemTexts(value any) (texts []string) {
	list, is := value.([]any)
	if !is && value != nil {
		list = []any{value}
	}
	for _, item := range list {
		texts = append(texts, string(document.Append(nil, item)))
	}
	return texts
}

// lost returns the items of a list that another one lacks.
func lost(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(item string) bool { return slices.Contains(other, item) })
}

// accept notes which differences the new files accept, and reports what no longer matches
// any. A type that is removed has no file: that of any other type accepts it, at its name.
func (c *comparison) accept() {
	ofType := map[string][]int{}
	for i, d := range c.found {
		ofType[d.Type] = append(ofType[d.Type], i)
	}
	for _, t := range c.new.registry.Types() {
		resource, _ := t.Source["x-resource"].(map[string]any)
		list, _ := resource["accepts"].([]any)
		for i, item := range list {
			accepted, _ := item.(map[string]any)
			rule, _ := accepted["rule"].(string)
			at, _ := accepted["at"].(string)
			reason, _ := accepted["reason"].(string)
			matched, typeName, within := false, t.Served().Name, at
			if rule == typeRemoved {
				typeName, within = strings.TrimPrefix(at, "/"), ""
			}
			for _, j := range ofType[typeName] {
				if d := c.found[j]; d.Rule == rule && (d.Pointer == within || strings.HasPrefix(d.Pointer, within+"/")) {
					c.found[j].Accepted, matched = reason, true
				}
			}
			if !matched {
				c.typeName = t.Served().Name
				c.report("accepts-nothing", nil, c.new.root(t).in("x-resource", "accepts", fmt.Sprint(i)), "no difference of the rule "+rule+" is at "+at, "remove it")
			}
		}
	}
}
