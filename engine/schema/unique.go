package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"golang.org/x/text/secure/precis"

	"marquee/engine/document"
	"marquee/engine/schema/keyword"
	"marquee/engine/schema/validation"
)

// uniqueEntry is an entry of x-resource.unique: one or several properties, and an
// optional condition.
type uniqueEntry struct {
	// at is its pointer in the file, and list that of its properties; list is "" for a
	// single name.
	at, list string
	names    []string
	when     any
}

// uniqueEntries returns the entries in the content of a file.
func uniqueEntries(content map[string]any) (entries []uniqueEntry) {
	declared, _ := document.Lookup(content, "/x-resource/unique").([]any)
	for i, entry := range declared {
		e := uniqueEntry{at: fmt.Sprintf("/x-resource/unique/%d", i), names: keyword.Strings(entry)}
		switch v := entry.(type) {
		case []any:
			e.list = e.at
		case map[string]any:
			e.list, e.names, e.when = e.at+"/properties", keyword.Strings(v["properties"]), v["when"]
		}
		if len(e.names) > 0 {
			entries = append(entries, e)
		}
	}
	return entries
}

// compileUnique sets what is unique among the objects of a type: what x-resource lists, and
// the numbers of sequences.
func (c *typeCompiler) compileUnique(t *Type, f *File) {
	for _, e := range uniqueEntries(f.Content) {
		if len(e.names) == 1 && e.when == nil {
			if !slices.Contains(t.Unique, e.names[0]) {
				t.Unique = append(t.Unique, e.names[0])
			}
			continue
		}
		var when *jsonschema.Schema
		if e.when != nil {
			when = c.schema(f, e.at+"/when")
		}
		rule := keyword.NewClaimRule(e.names, e.when, condition(when))
		if !slices.ContainsFunc(t.ClaimRules, func(other *keyword.ClaimRule) bool { return other.Key() == rule.Key() }) {
			t.ClaimRules = append(t.ClaimRules, rule)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.sequences)) {
		if !slices.Contains(t.Unique, name) {
			t.Unique = append(t.Unique, name)
		}
	}
}

// UniqueKeys returns the keys of what is unique: properties, forms and rules.
func (t *Type) UniqueKeys() []string {
	keys := slices.Clone(t.Unique)
	for _, f := range t.UniqueForms {
		keys = append(keys, f.Key())
	}
	for _, rule := range t.Claims() {
		keys = append(keys, rule.Key())
	}
	return keys
}

// Claims returns the rules about what objects of the type claim, besides unique
// properties and forms: those of x-resource.unique and of x-exclusive.
func (t *Type) Claims() []*keyword.ClaimRule {
	rules := slices.Clone(t.ClaimRules)
	for _, rule := range t.Rules {
		if rule.Claim != nil {
			rules = append(rules, rule.Claim)
		}
	}
	return rules
}

// CompileCondition compiles a condition of a ClaimRule that a server has stored.
func CompileCondition(text []byte) (keyword.Condition, error) {
	when, err := document.Decode(text, document.Limits{})
	if err != nil {
		return nil, err
	}
	const url = baseURL + "condition"
	compiled, err := validation.NewCompiler(validation.Schemas{url: {"allOf": []any{validation.Stored(when)}}}).Compile(url)
	if err != nil {
		return nil, err
	}
	return condition(compiled), nil
}

// unique checks the entries of x-resource.unique.
func (c *typeLint) unique() {
	for _, e := range uniqueEntries(c.t.Source) {
		c.claim(e)
	}
}

// claim checks the properties and the condition of a rule about what objects claim.
func (c *typeLint) claim(e uniqueEntry) {
	for i, name := range e.names {
		at := e.at
		if e.list != "" {
			at = fmt.Sprintf("%s/%d", e.list, i)
		}
		if !c.l.omitted.covers(c.f, at) {
			c.scalar(at, name, false)
		}
	}
	c.seen.LintClaim(e.when, c.unreported(e.at+"/when"))
}

// unreported reports problems below a pointer, unless there is one at the same place.
func (c *typeLint) unreported(at string) func(below, text, cure string) {
	return func(below, text, cure string) {
		if !c.l.reported(c.f, at+below) {
			c.problem(at+below, text, cure)
		}
	}
}

// exclusive checks the properties and the conditions of x-exclusive.
func (c *typeLint) exclusive() {
	for _, rule := range c.t.Rules {
		if rule.Claim != nil {
			members, _ := document.Lookup(c.t.Source, rule.At).(map[string]any)
			c.claim(uniqueEntry{at: rule.At, list: rule.At + "/properties", names: keyword.Strings(members["properties"]), when: members["when"]})
		}
	}
}

// UsernameForm is the UsernameCaseMapped profile of RFC 8265, the form of user
// names.
const UsernameForm = "UsernameCaseMapped"

// UniqueForm requires the values of a unique property to be unique in a form, too.
type UniqueForm struct{ Property, Form string }

// Key is the name under which the forms of the property's values are unique.
func (f UniqueForm) Key() string { return f.Property + ":" + f.Form }

// maxEnforced is the maximum number of times that a profile is applied until its
// output is stable (RFC 8264, section 7).
const maxEnforced = 4

// Of returns the form of a value; ok is false if the value does not conform.
func (f UniqueForm) Of(value string) (form string, ok bool) {
	if f.Form != UsernameForm || value == "" {
		return "", false
	}
	form = value
	for range maxEnforced {
		next, err := precis.UsernameCaseMapped.String(form)
		if err != nil {
			return "", false
		}
		if next == form {
			return form, true
		}
		form = next
	}
	return "", false
}

func uniqueForms(declared any) []UniqueForm {
	members, _ := declared.(map[string]any)
	var forms []UniqueForm
	for property, form := range members {
		name, _ := form.(string)
		forms = append(forms, UniqueForm{property, name})
	}
	slices.SortFunc(forms, func(a, b UniqueForm) int { return strings.Compare(a.Property, b.Property) })
	return forms
}
