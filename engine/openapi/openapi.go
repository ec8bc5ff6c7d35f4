// Package openapi describes what a server serves as an OpenAPI 3.1 document, made
// from the schemas of its types and from fragments that document its other routes, and
// serves that, the schemas, and pages that show them. It imports engine, document, message,
// query, rest and schema. Begin with Build, and for schemas with renderSchema.
package openapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"marquee/engine/message"
	"marquee/engine/rest"
	"marquee/engine/schema"
)

// object is a JSON object of the document.
type object = map[string]any

// Fragment documents routes: an OpenAPI document with members of paths, components
// and tags. A response that refuses a request need not be written: x-refusals names
// the class of an operation, and x-codes the codes that it adds to those of the class.
// An operation of a type, to which a fragment adds, has a class already.
//
//	public   an operation without a token
//	plain    an operation with a token
//	read     the read of an object
//	list     a list
//	write    a write
//
// An operation with x-type is a write of that type, for which the same permission is
// needed.
//
// The member x-supplied of the document lists, by type, the properties that the
// application may set on objects which do not have them: the plain form of the type's
// schema requires none of them.
type Fragment []byte

// suppliedBy returns the properties of types that fragments list in x-supplied.
func suppliedBy(fragments []Fragment) (map[string][]string, error) {
	all := map[string][]string{}
	for i, fragment := range fragments {
		var part struct {
			Supplied map[string][]string `json:"x-supplied"`
		}
		if err := json.Unmarshal(fragment, &part); err != nil {
			return nil, fmt.Errorf("fragment %d: %w", i, err)
		}
		for name, properties := range part.Supplied {
			all[name] = append(all[name], properties...)
		}
	}
	return all, nil
}

// takenBy returns the names of the components of fragments, and those of their
// operations after a verb that operations of types have. Types must not have them.
func takenBy(fragments []Fragment) (map[string]bool, error) {
	all := map[string]bool{"Batch": true}
	for i, fragment := range fragments {
		var part struct {
			Components struct{ Schemas, Parameters map[string]any }
			Paths      map[string]map[string]json.RawMessage
		}
		if err := json.Unmarshal(fragment, &part); err != nil {
			return nil, fmt.Errorf("fragment %d: %w", i, err)
		}
		for name := range part.Components.Schemas {
			all[name] = true
		}
		for name := range part.Components.Parameters { // generators make types of them, too
			all[camel(name)] = true
		}
		for _, item := range part.Paths {
			for _, operation := range item {
				var named struct{ OperationID string }
				if json.Unmarshal(operation, &named) != nil {
					continue // parameters are no operation
				}
				for _, verb := range []string{"get", "list", "head", "save", "put"} {
					if name, has := strings.CutPrefix(named.OperationID, verb); has {
						all[operationOf(name)] = true
					}
				}
			}
		}
	}
	return all, nil
}

// own documents the routes of every server, and has what the operations of types
// refer to.
//
//go:embed own.json
var own Fragment

// builder makes a document.
type builder struct {
	types *schema.Registry
	// may reports whether the document has the writes of a type.
	may        func(*schema.Type) bool
	components *components
	// supplied has the properties that the application may set, by type.
	supplied map[string][]string
	// values are the messages with which a write can be refused for its values.
	values  []*message.Definition
	paths   object
	tags    map[string]object
	answers object
}

func (b *builder) path(path string) object {
	item, ok := b.paths[path].(object)
	if !ok {
		item = object{}
		b.paths[path] = item
	}
	return item
}

// Build returns the document of some types and of the routes that fragments document,
// as JSON. It is the same, byte for byte, for the same arguments. An error is about a
// fragment.
func Build(types *schema.Registry, version string, fragments ...Fragment) ([]byte, error) {
	return build(types, version, func(*schema.Type) bool { return true }, fragments)
}

// build leaves out the writes of the types that may not be written.
func build(types *schema.Registry, version string, may func(*schema.Type) bool, fragments []Fragment) ([]byte, error) {
	parts := append([]Fragment{own}, fragments...)
	taken, err := takenBy(parts)
	if err != nil {
		return nil, err
	}
	properties, err := suppliedBy(parts)
	if err != nil {
		return nil, err
	}
	b := &builder{types: types, may: may, components: newComponents(types, taken), supplied: properties, values: ofValues(types),
		paths: object{}, tags: map[string]object{}, answers: object{}}
	for _, t := range types.Types() {
		b.addType(t)
	}
	b.components.join()
	whole := object{
		"openapi":    "3.1.0",
		"paths":      b.paths,
		"components": object{"schemas": b.schemas(), "responses": b.answers},
	}
	var tags []any
	for i, fragment := range parts {
		var part object
		if err := json.Unmarshal(fragment, &part); err != nil {
			return nil, fmt.Errorf("fragment %d: %w", i, err)
		}
		more, _ := part["tags"].([]any)
		tags = append(tags, more...)
		delete(part, "tags")
		delete(part, "x-supplied")
		if err := b.refuse(part); err != nil {
			return nil, fmt.Errorf("fragment %d: %w", i, err)
		}
		merge(whole, part)
	}
	for _, title := range slices.Sorted(maps.Keys(b.tags)) {
		tags = append(tags, b.tags[title])
	}
	whole["tags"] = tags
	whole["info"].(object)["version"] = version
	b.prune(whole)
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err = encoder.Encode(whole)
	return out.Bytes(), err
}

func (b *builder) schemas() object {
	all := object{}
	for name, s := range b.components.done {
		all[name] = s
	}
	all["Batch"] = b.batch(all)
	return all
}

// batch is the body of a write of several types. Each type has an operation of its own,
// whose member type distinguishes it from the others.
func (b *builder) batch(all object) object {
	var operations []any
	byType := object{}
	for _, t := range b.types.Types() {
		if !t.Writable() || !b.may(t) {
			continue
		}
		name := b.components.named[location{file: typeFile(t)}]
		operation := refTo("schemas", name+operationSuffix)
		all[name+operationSuffix] = object{"type": "object", "required": []any{"type", "object"}, "additionalProperties": false,
			"properties": object{"type": object{"type": "string", "enum": []any{t.Name}}, "object": refTo("schemas", name+request.suffix())}}
		operations = append(operations, operation)
		byType[t.Name] = operation["$ref"]
	}
	return object{"type": "object", "required": []any{"operations"}, "additionalProperties": false, "properties": object{
		"operations": object{"type": "array", "maxItems": maxObjects, "items": object{"oneOf": operations,
			"discriminator": object{"propertyName": "type", "mapping": byType}}}}}
}

// refuse adds the responses of refused requests to the operations of a fragment.
func (b *builder) refuse(fragment object) error {
	paths, is := fragment["paths"].(object)
	if !is && fragment["paths"] != nil {
		return errors.New("paths is not an object")
	}
	for path, item := range paths {
		methods, _ := item.(object)
		for method, value := range methods {
			operation, is := value.(object)
			if of, known := b.types.Type(fmt.Sprint(operation["x-type"])); known && !b.may(of) {
				delete(methods, method)
				continue
			}
			if !is || operation["x-refusals"] == nil && operation["x-codes"] == nil {
				continue
			}
			if err := b.refuseOperation(operation); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	return nil
}

// refuseOperation adds the responses of refused requests to an operation. Without
// x-refusals, it adds to an operation of a type, which is refused as any write.
func (b *builder) refuseOperation(operation object) error {
	name, named := operation["x-refusals"].(string)
	c := class(name)
	if !named {
		c = writing
	}
	if !slices.Contains([]class{public, plain, reading, listing, writing}, c) {
		return fmt.Errorf("x-refusals %q is not a class of operations", name)
	}
	found := c.messages()
	if c == writing {
		found = append(found, b.values...)
	}
	more := map[string]bool{}
	codes, _ := operation["x-codes"].([]any)
	for _, code := range codes {
		m, known := b.types.Catalogue().Lookup(fmt.Sprint(code))
		if !known {
			return fmt.Errorf("there is no message %v", code)
		}
		found = append(found, m)
		more[strconv.Itoa(rest.Status(m.Kind))] = true
	}
	delete(operation, "x-refusals")
	delete(operation, "x-codes")
	responses, given := operation["responses"].(object)
	if !given {
		responses = object{}
		operation["responses"] = responses
	}
	for status, codes := range byStatus(found) {
		if responses[status] == nil && (named || more[status]) {
			responses[status] = refusal(status, codes)
		}
	}
	return nil
}

// merge adds the members of an object to another one, in depth.
func merge(into, from object) {
	for name, value := range from {
		inner, is := value.(object)
		there, has := into[name].(object)
		if is && has && there["$ref"] == nil {
			merge(there, inner)
		} else {
			into[name] = value
		}
	}
}

// prune removes the components that nothing refers to.
func (b *builder) prune(whole object) {
	all := whole["components"].(object)
	used := map[string]bool{}
	var visit func(value any)
	visit = func(value any) {
		switch v := value.(type) {
		case []any:
			for _, item := range v {
				visit(item)
			}
		case object:
			if ref, ok := v["$ref"].(string); ok && !used[ref] {
				used[ref] = true
				visit(lookup(whole, ref[1:]))
			}
			for _, member := range v {
				visit(member)
			}
		}
	}
	visit(whole["paths"])
	for kind, members := range all {
		if kind != "securitySchemes" {
			maps.DeleteFunc(members.(object), func(name string, _ any) bool { return !used["#/components/"+kind+"/"+name] })
		}
	}
}
