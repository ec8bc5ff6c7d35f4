package schema

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"marquee/engine/document"
	"marquee/engine/schema/keyword"
	"marquee/engine/schema/validation"
)

const inConditions = "only the conditions of x-frozen and x-warnings see it"

// implied checks that no subschema of the type declares a common field, which is
// not validated.
func (c *typeLint) implied() {
	for _, p := range c.l.shapes.places[c.t.Shape] {
		properties, _ := p.schema()["properties"].(map[string]any)
		for name := range properties {
			at := p.pointer + "/properties/" + document.EscapeToken(name)
			if !c.isImplied(name) || p.f == c.f && c.l.reported(p.f, at) {
				continue
			}
			cure := "leave it out"
			if name == "objectState" && p.pointer != "" {
				cure = inConditions
			}
			c.l.problem(p.f, at, name+" is implied and is not validated", cure)
		}
	}
}

func (c *typeLint) isImplied(name string) bool {
	return CommonField(name) && name != "url" || name == c.t.IDProperty && name != ""
}

// named checks the names of members that the subschemas of a value mention outside
// of properties: undeclared members are removed, and never present.
func (c *typeLint) named(shape *document.Shape) {
	for _, p := range c.l.shapes.places[shape] {
		schema := p.schema()
		for i, name := range keyword.Strings(schema["required"]) {
			c.askedFor(shape, p, "/required/"+strconv.Itoa(i), name)
		}
		for _, dependent := range []string{"dependentRequired", "dependentSchemas"} {
			dependents, _ := schema[dependent].(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(dependents)) {
				at := "/" + dependent + "/" + document.EscapeToken(name)
				c.askedFor(shape, p, at, name)
				for i, other := range keyword.Strings(dependents[name]) {
					c.askedFor(shape, p, at+"/"+strconv.Itoa(i), other)
				}
			}
		}
	}
}

func (c *typeLint) askedFor(shape *document.Shape, p subschema, at, name string) {
	if c.l.reported(p.f, p.pointer+at) {
		return
	}
	if shape == c.t.Shape && shape.Member(name) == nil && c.l.omitted.covers(c.f, "/x-resource/idProperty") {
		return // may be declared there
	}
	if shape == c.t.Shape && c.isImplied(name) {
		cure := "leave it out"
		switch {
		case name == "objectState" && p.pointer != "":
			cure = inConditions
		case name == "id" || name == c.t.IDProperty:
			cure = `write "id": "required" in x-resource`
		}
		c.l.problem(p.f, p.pointer+at, name+" is implied and is not validated", cure)
	} else if shape.Member(name) == nil && !c.l.shapes.uncertain(shape) {
		c.l.problem(p.f, p.pointer+at, "there is no property "+name+" here", "declare it in properties, or leave it out")
	}
}

// given checks that a value which a keyword gives, at a place below it, is valid. What is what
// to call the value.
func (c *typeLint) given(shape *document.Shape, keyword, below, what string, value any) {
	for _, p := range c.l.shapes.places[shape] {
		schema := c.l.compiled(p.location)
		if !p.always || schema == nil || !c.l.omitted.certain(p.location) || validation.Within(context.Background(), schema, value) != nil {
			continue
		}
		var invalid *jsonschema.ValidationError
		if errors.As(schema.Validate(value), &invalid) {
			texts := []string{}
			for _, fault := range c.t.rules.Schemas.Explain(invalid, value) {
				texts = append(texts, strings.TrimSuffix(strings.TrimSpace(fault.String()), "."))
			}
			problem := c.l.shapes.at(shape, keyword, below, fmt.Sprintf("%s %s is not valid: %s", what, document.Append(nil, value), strings.Join(texts, "; ")),
				"correct it, or the schema")
			if !slices.ContainsFunc(c.l.problems, func(p Problem) bool { return p.File == problem.File && p.Pointer == problem.Pointer }) {
				c.l.problems = append(c.l.problems, problem)
			}
			return
		}
	}
}
