package schema

import (
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"marquee/engine/schema/validation"
)

// checkCosts rejects schemas and patterns that would take too long.
func (l *loader) checkCosts(roots []*jsonschema.Schema) {
	costs := validation.CostsOf(roots)
	for _, s := range costs.Schemas() {
		at, known := l.locate(s)
		if !known || l.reported(at.f, at.pointer) {
			continue
		}
		// Reports the schema that is too costly, not those that apply it.
		if costs.Excessive(s) {
			l.problem(at.f, at.pointer, "more than "+strconv.Itoa(validation.MaxApplications)+" schemas would be applied to one value",
				"use fewer references to schemas that refer to others: each $ref counts with all schemas that it leads to")
		}
		if s.Pattern != nil && validation.PatternSize(s.Pattern) > validation.MaxPatternSize {
			l.problem(at.f, at.pointer+"/pattern", "the pattern takes more than "+strconv.Itoa(validation.MaxPatternSize)+" steps per character", "use smaller repetition counts")
		}
		for pattern := range s.PatternProperties {
			if validation.PatternSize(pattern) > validation.MaxPatternSize {
				l.problem(at.f, at.pointer+"/patternProperties", "a pattern takes more than "+strconv.Itoa(validation.MaxPatternSize)+" steps per character", "use smaller repetition counts")
			}
		}
	}
}

// locate returns the file and the pointer of a compiled schema.
func (l *loader) locate(s *jsonschema.Schema) (location, bool) {
	base, fragment, _ := strings.Cut(s.Location, "#")
	f := l.files[strings.TrimPrefix(base, baseURL)]
	return location{f, validation.Unescaped(fragment)}, f != nil
}
