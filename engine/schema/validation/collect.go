package validation

import (
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"marquee/engine/message"
)

// explanation collects the faults of a value.
type explanation struct {
	Schemas
	instance any
	// stored is what the value replaces; nil keeps nothing.
	stored *replacement
	// under is the location of the keyword to which all faults belong, "" if each belongs to
	// its own.
	under string
	// faults are those of the value, kept those of what the stored value has, too.
	faults []message.Message
	kept   []keptFault
	// known receives all faults in place of these, unless it is nil.
	known map[identity]bool
	// texts are long texts, which many faults share, by the keywords or by themselves.
	texts map[string]string
}

// keptFault is a fault, and the location of its keyword.
type keptFault struct {
	fault   message.Message
	keyword string
}

// identity distinguishes the faults of a value: two keywords can find the same fault.
type identity struct{ field, code, keyword string }

// add adds a fault that a keyword finds.
func (e *explanation) add(fault message.Message, keyword string, keeps bool) {
	switch {
	case e.known != nil:
		field, _ := fault.Param("field").(string)
		e.known[identity{field, fault.Code(), keyword}] = true
	case keeps:
		e.kept = append(e.kept, keptFault{fault, keyword})
	default:
		e.faults = append(e.faults, fault)
	}
}

// inOrder sorts faults by position and removes duplicates.
func inOrder(faults []message.Message) []message.Message {
	type keyed struct {
		key   string
		fault message.Message
	}
	sorted := make([]keyed, len(faults))
	for i, fault := range faults {
		field, _ := fault.Param("field").(string)
		sorted[i] = keyed{field + " " + fault.Code(), fault}
	}
	slices.SortStableFunc(sorted, func(a, b keyed) int { return strings.Compare(a.key, b.key) })
	sorted = slices.CompactFunc(sorted, func(a, b keyed) bool { return a.key == b.key })
	ordered := make([]message.Message, len(sorted))
	for i, one := range sorted {
		ordered[i] = one.fault
	}
	return ordered
}

// maxCollected is the maximum number of faults that are explained, of which a response lists
// message.MaxFaults: the text of each can be as long as a list of values in the schema.
const maxCollected = 10 * message.MaxFaults

// collect adds the faults of an error until there are maxCollected of them, in the order of
// their places, so that the same object always has the same ones.
func (e *explanation) collect(err *jsonschema.ValidationError) {
	if len(e.faults) >= maxCollected {
		return
	}
	keyword := keywordOf(err)
	if e.under == "" && judges[keyword] {
		faults := e.apart(err, err.KeywordLocation)
		keeps := e.stored.keepsJudged(e.Schemas, err, keyword)
		for _, fault := range faults {
			e.add(fault, err.KeywordLocation, keeps)
		}
		return
	}
	if speaksOfNames(err.KeywordLocation) {
		at := place(err)
		e.add(message.PropertyName.With(message.Params{"field": at}), err.KeywordLocation, e.stored.keeps(at))
		return
	}
	if keyword == "anyOf" || keyword == "oneOf" {
		e.branches(err, keyword)
		return
	}
	if len(err.Causes) > 0 && keyword != "contains" && keyword != "minContains" {
		slices.SortStableFunc(err.Causes, func(a, b *jsonschema.ValidationError) int {
			return strings.Compare(a.InstanceLocation, b.InstanceLocation)
		})
		for _, cause := range err.Causes {
			e.collect(cause)
		}
		return
	}
	for _, fault := range e.leaf(err, keyword) {
		field, _ := fault.Param("field").(string)
		e.add(fault, err.KeywordLocation, e.stored.keeps(field))
	}
}

// judges are the keywords that apply schemas under a condition.
var judges = map[string]bool{"anyOf": true, "oneOf": true, "not": true, "then": true, "else": true}

// apart returns the faults of an error, which belong to a keyword, whether they were there
// before or not.
func (e *explanation) apart(err *jsonschema.ValidationError, keyword string) []message.Message {
	alone := explanation{Schemas: e.Schemas, instance: e.instance, texts: e.texts, under: keyword}
	alone.collect(err)
	return alone.faults
}

// keywordOf returns the keyword that a value does not meet, "" if the error only has others
// of the same value as its causes.
func keywordOf(err *jsonschema.ValidationError) string {
	if err.Message == "" {
		return ""
	}
	return err.KeywordLocation[strings.LastIndexByte(err.KeywordLocation, '/')+1:]
}

// speaksOfNames reports whether a keyword is in propertyNames.
func speaksOfNames(location string) bool {
	tokens := strings.Split(location, "/")
	for i := 0; i < len(tokens); i++ {
		switch tokens[i] {
		case "propertyNames":
			return true
		case "properties", "patternProperties", "dependentSchemas", "$defs", "definitions":
			i++ // the next token is a name
		}
	}
	return false
}
