package schema

import (
	"slices"
	"strings"

	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/schema/keyword"
)

const publicAt = "/x-resource/public"

// publicWhen returns the condition of x-resource.public in the content of a file, nil for
// none.
func publicWhen(content map[string]any) any { return document.Lookup(content, publicAt+"/when") }

// compilePublic sets which objects of a type anybody may read.
func (c *typeCompiler) compilePublic(t *Type, f *File) {
	if _, public := document.Lookup(f.Content, publicAt).(map[string]any); !public {
		return
	}
	var meets keyword.Condition
	when := publicWhen(f.Content)
	if when != nil {
		meets = condition(c.schema(f, publicAt+"/when"))
	}
	t.Public = keyword.NewClaimRule(nil, when, meets)
}

// PublicKey returns the key of the term of the objects that anybody may read, "" for a
// type without a condition for that. It depends on the condition, so that objects are not
// shown by another one than that of the schema.
func (t *Type) PublicKey() string {
	if t.Public == nil || len(t.Public.When) == 0 {
		return ""
	}
	return query.OrderedKey + "public." + strings.TrimPrefix(t.Public.Key(), "?")
}

// PublicValue is the value of the term under a PublicKey.
const PublicValue = "1"

// PublicObjects returns the condition that objects must meet for anybody to see them.
func (t *Type) PublicObjects() query.Expr {
	switch key := t.PublicKey(); {
	case t.Public == nil:
		return query.None
	case key == "":
		return query.Compare{Field: commonFields["objectState"], Op: query.NotEqual, Value: "HIDDEN"}
	default:
		return query.In{Field: query.Field{Kind: query.String, Term: key, Path: []query.Step{{Name: "id", Array: true}}}, Values: []any{PublicValue}}
	}
}

// Secluded reports whether the type exists only for callers with a permission.
func (t *Type) Secluded() bool { return t.Read != "" && t.Public == nil }

// withheld are the common fields that are not for everybody: who wrote an object, and what
// the service remarks on it.
var withheld = []string{"createUser", "updateUser", "validationWarnings"}

// Withholds reports whether a dotted path leads to a common field that is not for everybody.
func (t *Type) Withholds(name string) bool {
	head, _, _ := strings.Cut(name, ".")
	return slices.Contains(withheld, head) && t.Shape.Properties[head] == nil
}

// public checks x-resource.public.
func (c *typeLint) public() {
	if c.t.Public == nil {
		return
	}
	switch {
	case slices.Contains(KeptTypes, c.t.Name):
		c.problem(publicAt, "objects of "+c.t.Name+" are not for everybody", "leave it out")
	case c.t.Global:
		c.problem(publicAt, "anybody reads the objects of one network, and those of a global type belong to none", "leave it out, or the scope")
	case c.t.Parent != "":
		c.problem(publicAt, "the path of an object with a parent names the parent, which may not be for everybody", "leave out public, or parent")
	}
	if publicWhen(c.t.Source) == false {
		c.problem(publicAt+"/when", "the condition never holds", "leave out public")
	}
	c.seen.LintStored(publicWhen(c.t.Source), c.unreported(publicAt+"/when"))
}
