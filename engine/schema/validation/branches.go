package validation

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"marquee/engine/document"
	"marquee/engine/message"
)

// branches explains why a value matches no branch of an anyOf or a oneOf. If its type or a
// discriminator selects a branch, the faults are those of that branch. Otherwise they name
// what the branches accept, followed by the faults of the nearest branch if one is nearer
// than the others and the value has what it requires.
func (e *explanation) branches(err *jsonschema.ValidationError, keyword string) {
	at := place(err)
	if len(err.Causes) == 0 { // several branches of a oneOf accept it
		e.faults = append(e.faults, message.ValueAmbiguous.With(message.Params{"field": at, "keyword": keyword}))
		return
	}
	value := document.Lookup(e.instance, at)
	var all, rivals []branch // rivals accept the type of the value
	for i, cause := range err.Causes {
		b := e.branch(err.AbsoluteKeywordLocation + "/" + strconv.Itoa(i))
		b.faults = e.apart(cause, e.under)
		all = append(all, b)
		if !refusesType(cause, err.InstanceLocation) && (b.listed == nil || slices.ContainsFunc(b.listed, func(listed any) bool {
			return document.KindOf(listed) == document.KindOf(value)
		})) {
			rivals = append(rivals, b)
		}
	}
	selected := discriminated(rivals, value, at)
	if len(selected) == 1 && selected[0].listed == nil {
		e.faults = append(e.faults, selected[0].faults...)
		return
	}
	if len(selected) < len(rivals) {
		all = selected
	}
	var names []string
	for _, b := range all {
		names = append(names, e.names(b)...)
	}
	e.faults = append(e.faults, message.ValueNotAllowed.With(message.Params{"field": at, "keyword": keyword, "expected": e.shared(strings.Join(distinct(names), " or "))}))
	e.faults = append(e.faults, nearest(selected, at)...)
}

// discriminated returns the branches that accept the values of the properties for which
// every branch lists values. If none does, it returns one whose fault names all of them.
func discriminated(branches []branch, value any, at string) []branch {
	object, _ := value.(map[string]any)
	if len(branches) == 0 {
		return nil
	}
	for _, name := range discriminators(branches) {
		if _, set := object[name]; !set || len(branches) == 1 {
			continue
		}
		field := at + "/" + document.EscapeToken(name)
		var accepting []branch
		var allowed []any
		for _, b := range branches {
			allowed = append(allowed, b.members[name]...)
			if !slices.ContainsFunc(b.faults, func(m message.Message) bool { return m.Param("field") == field }) {
				accepting = append(accepting, b)
			}
		}
		if accepting == nil {
			fault := message.ValueEnum.With(message.Params{"field": field, "allowed": joined(distinct(allowed), ", ")})
			return []branch{{faults: []message.Message{fault}}}
		}
		branches = accepting
	}
	return branches
}

// discriminators returns the properties for which every branch lists values, those first of
// which the fewest values are listed by several branches.
func discriminators(branches []branch) []string {
	repeated := map[string]int{}
	for name := range branches[0].members {
		var values []any
		for _, b := range branches {
			values = append(values, b.members[name]...)
		}
		if !slices.ContainsFunc(branches, func(b branch) bool { return b.members[name] == nil }) {
			repeated[name] = len(values) - len(distinct(values))
		}
	}
	return slices.SortedFunc(maps.Keys(repeated), func(a, b string) int {
		return cmp.Or(repeated[a]-repeated[b], strings.Compare(a, b))
	})
}

// nearest returns the faults of the branch that is nearer to the value than all others. It
// returns none if there is no such branch, or if its name says what is wrong: the value
// itself, or what it lacks.
func nearest(branches []branch, at string) (faults []message.Message) {
	least := message.MaxFaults
	for _, b := range branches {
		n := 0
		for _, fault := range b.faults {
			n++
			switch fault.Definition() {
			case message.ValueConst, message.ValueEnum, message.PropertyRequired:
				n += message.MaxFaults
			}
		}
		switch {
		case n == least:
			faults = nil
		case n < least:
			faults, least = b.faults, n
		}
	}
	if slices.ContainsFunc(faults, func(m message.Message) bool { return m.Param("field") == at }) {
		return nil
	}
	return faults
}

// refusesType reports whether a schema does not accept the type of the value at a location.
func refusesType(err *jsonschema.ValidationError, at string) bool {
	refuses := func(cause *jsonschema.ValidationError) bool { return refusesType(cause, at) }
	switch keyword := keywordOf(err); {
	case len(err.Causes) == 0:
		return err.InstanceLocation == at && keyword == "type"
	case keyword == "anyOf" || keyword == "oneOf":
		return !slices.ContainsFunc(err.Causes, func(cause *jsonschema.ValidationError) bool { return !refuses(cause) })
	}
	return slices.ContainsFunc(err.Causes, refuses)
}
