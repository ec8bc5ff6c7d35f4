package schema

import (
	"path"
	"slices"
	"strings"
)

// notUnderstood are keywords that identify schemas other than by file and JSON
// Pointer, or that later drafts replaced, with a cure for each. The meta-schema does not judge
// the last two, and the library panics if their values are not what it expects.
var notUnderstood = map[string]string{
	"$anchor":          "refer to a schema by its place, #/$defs/…",
	"$dynamicAnchor":   "refer to a schema by its place, #/$defs/…",
	"$dynamicRef":      "use $ref",
	"$recursiveRef":    "use $ref",
	"$recursiveAnchor": "leave it out",
	"$vocabulary":      "leave it out",
	"dependencies":     "use dependentRequired or dependentSchemas",
	"additionalItems":  "use items beside prefixItems",
	"regexProperties":  "leave it out",
}

// checkPlaces checks that each $ref leads to a schema of the load.
func (l *loader) checkPlaces() {
	for _, f := range l.inOrder() {
		walkFile(f, func(at string, schema map[string]any) {
			for keyword, cure := range notUnderstood {
				if _, ok := schema[keyword]; ok {
					l.problem(f, at+"/"+keyword, "this keyword is not supported", cure)
				}
			}
			if _, named := schema["$id"]; named && at != "" {
				l.problem(f, at+"/$id", "a schema is identified by its file and JSON Pointer only", "leave it out")
			}
			if ref, ok := schema["$ref"].(string); ok {
				if _, _, text := l.resolve(f, ref); text != "" && !l.leadsToUnread(f, ref) && !l.reported(f, at+"/$ref") {
					l.problem(f, at+"/$ref", text, refCure)
				}
			}
		})
	}
}

// leadsToUnread reports whether a $ref leads to a file that could not be read.
func (l *loader) leadsToUnread(f *File, ref string) bool {
	base, _, _ := strings.Cut(ref, "#")
	at := path.Join(path.Dir(f.Path), base)
	return slices.ContainsFunc(l.unread, func(other *File) bool { return other.Path == at })
}
