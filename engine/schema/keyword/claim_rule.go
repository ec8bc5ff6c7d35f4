package keyword

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"marquee/engine/document"
)

// ClaimRule is a rule about the objects of a type in a network: of those that have all of
// the properties and meet the condition, no two have the same values, or no two with the
// same values have intervals that overlap. The store keeps it beside the keys of a type, so
// that servers with other schemas obey it.
type ClaimRule struct {
	// Properties are dotted paths in alphabetical order.
	Properties []string `json:"properties"`
	// From and To are the top-level properties with the ends of an interval, if those of
	// two objects with the same values must not overlap, and "" otherwise.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// When is the condition in canonical form, empty for none, and Meets evaluates it.
	When  json.RawMessage `json:"when,omitempty"`
	Meets Condition       `json:"-"`
}

// NewClaimRule returns the rule of an entry of x-resource.unique.
func NewClaimRule(properties []string, when any, meets Condition) *ClaimRule {
	r := &ClaimRule{Properties: slices.Compact(slices.Sorted(slices.Values(properties)))}
	if when != nil {
		r.When, r.Meets = document.Append(nil, when), meets
	}
	return r
}

// Key identifies what the rule says: rules with different properties or conditions have
// different keys. It is no dotted path, unless the rule is that one property is unique.
func (r *ClaimRule) Key() string {
	key := strings.Join(r.Properties, ",")
	if r.Exclusive() {
		key += "[" + r.From + "," + r.To + ")"
	}
	if len(r.When) > 0 {
		digest := sha256.Sum256(r.When)
		key += "?" + hex.EncodeToString(digest[:8])
	}
	return key
}

// Describe describes the rule, with other names of its properties, in messages to the author of
// a schema.
func (r *ClaimRule) Describe(name func(path string) string) string {
	names := make([]string, len(r.Properties))
	for i, path := range r.Properties {
		names[i] = name(path)
	}
	last := len(names) - 1
	text := names[last]
	if last > 0 {
		text = strings.Join(names[:last], ", ") + " and " + text
	}
	if r.Exclusive() {
		text += " from " + name(r.From) + " to " + name(r.To)
	}
	return text
}

// Condition returns the condition as it can be read.
func (r *ClaimRule) Condition() string {
	var b bytes.Buffer
	if err := json.Indent(&b, r.When, "", "  "); err != nil {
		return ""
	}
	return b.String()
}

// maxClaimed is the length of a claim's value, in bytes, beyond which its digest takes
// its place.
const maxClaimed = 200

// Value returns what an object in a state claims: equal texts for equal values, and no
// others. It reports false if the object claims nothing. The error is that of the context.
func (r *ClaimRule) Value(ctx context.Context, object map[string]any, state string) (value string, claims bool, err error) {
	var from, to string
	if r.Exclusive() {
		var ok bool
		if from, to, ok = r.interval(object); !ok {
			return "", false, nil
		}
	}
	text, claims, err := r.values(ctx, object, state)
	switch {
	case err != nil || !claims:
		return "", false, err
	case r.Exclusive():
		return intervalValue(text, from, to), true, nil
	case len(text) > maxClaimed:
		digest := sha256.Sum256(text)
		return hex.EncodeToString(digest[:]), true, nil
	}
	return string(text), true, nil
}

// values returns the values of an object in canonical form. It reports false if the rule
// does not concern the object.
func (r *ClaimRule) values(ctx context.Context, object map[string]any, state string) (text []byte, concerned bool, err error) {
	values := make([]any, len(r.Properties))
	for i, path := range r.Properties {
		if values[i] = document.ValueAt(object, path); values[i] == nil {
			return nil, false, nil
		}
	}
	if r.Meets != nil {
		if is, err := r.Meets(ctx, object, state); !is {
			return nil, false, err
		}
	}
	return document.Append(nil, values), true, nil
}

// Reads returns the dotted paths of the values that decide what an object claims.
func (r *ClaimRule) Reads() []string {
	reads := slices.Clone(r.Properties)
	if r.Exclusive() {
		reads = append(reads, r.From, r.To)
	}
	if len(r.When) > 0 {
		if when, err := document.Decode(r.When, document.Limits{}); err == nil {
			eachRead(when, "", func(_, name string) { reads = append(reads, name) }, func(string, string) {})
		}
	}
	return reads
}

// eachRead calls read for each property that a condition reads, with a pointer below the
// condition, and other for each keyword that reads properties without their names.
func eachRead(when any, at string, read, other func(at, name string)) {
	members, _ := when.(map[string]any)
	for name, value := range members {
		below := at + "/" + document.EscapeToken(name)
		named, _ := value.(map[string]any)
		list, _ := value.([]any)
		switch name {
		case "type", "title", "description", "$comment", "$ref":
		case "required":
			for i, name := range Strings(value) {
				read(below+"/"+strconv.Itoa(i), name)
			}
		case "properties":
			for name := range named {
				read(below+"/"+document.EscapeToken(name), name)
			}
		case "dependentRequired", "dependentSchemas":
			for name, dependent := range named {
				at := below + "/" + document.EscapeToken(name)
				read(at, name)
				for i, other := range Strings(dependent) {
					read(at+"/"+strconv.Itoa(i), other)
				}
				eachRead(dependent, at, read, other)
			}
		case "not", "if", "then", "else":
			eachRead(value, below, read, other)
		case "allOf", "anyOf", "oneOf":
			for i, branch := range list {
				eachRead(branch, below+"/"+strconv.Itoa(i), read, other)
			}
		default:
			other(below, name)
		}
	}
}

// LintClaim checks a condition that decides what objects claim, as LintStored does.
func (t *Type) LintClaim(when any, problem func(below, text, cure string)) {
	t.LintStored(when, problem)
	eachRead(when, "", func(at, name string) {
		if member := t.Shape.Properties[name]; member != nil && member.HasPersonal && !t.Uncertain(name) {
			problem(at, name+" is x-personal, and an erasure would change what the object claims", "leave it out")
		}
	}, func(string, string) {})
}

// LintStored checks a condition that is kept in the store: it stands alone, and names the
// properties that it reads, which are stored in plain text.
func (t *Type) LintStored(when any, problem func(below, text, cure string)) {
	read := func(at, name string) {
		member := t.Shape.Properties[name]
		switch {
		case name == "objectState" || t.Uncertain(name):
		case member == nil && t.Common(name):
			problem(at, name+" is a common field, and this condition reads only objectState and the properties of the schema", "leave it out")
		case member == nil:
			problem(at, "there is no property "+name, "name a property of the schema")
		case member.HoldsHidden():
			problem(at, name+" is not stored in plain text", "leave it out")
		}
	}
	eachRead(when, "", read, func(at, name string) {
		problem(at, fmt.Sprintf("%s does not name the properties that it reads", name), "use properties, required and what combines schemas, such as anyOf and not")
	})
	eachReference(when, "", func(at string) {
		problem(at, "this condition is kept in the store, without the schemas that it refers to", "write the schema out")
	})
}

// eachReference calls visit for each $ref in a schema.
func eachReference(value any, at string, visit func(at string)) {
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			eachReference(item, at+"/"+strconv.Itoa(i), visit)
		}
	case map[string]any:
		for name, inner := range v {
			below := at + "/" + document.EscapeToken(name)
			if _, text := inner.(string); name == "$ref" && text {
				visit(below)
			}
			if name != "const" && name != "enum" {
				eachReference(inner, below, visit)
			}
		}
	}
}
