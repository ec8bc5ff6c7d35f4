// Package openapi describes what a server serves as an OpenAPI 3.1 document, made
// from the schemas of its types and from fragments that document its other routes, and
// serves that, the schemas, and pages that show them. It imports engine, document, message,
// query, rest and schema. Begin with Build, and for schemas with renderSchema.
package openapi

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
)

// object is a JSON object of the document.
type object = map[string]any

// Fragment documents routes: an OpenAPI document with members of paths, components
// and tags. A response that refuses a request need not be written: x-refusals names
// the class of an operation, and x-codes the codes that it adds to those of the class.
//
//	public      an operation without a token
//	file        a read of content without a token, which may be asked for in parts
//	plain       an operation with a token, which is the class of operations without one
//	network     an operation in the network of the parameter context
//	read        the read of an object
//	list        a list
//	write       the write of an object, which is the class of operations with x-type
//	collection  the write of several objects
//	batch       the write of objects of several types
//
// An operation with x-type is a write of that type, for which the same permission is
// needed. Another write may be refused as the writes of all types are.
//
// The member x-write-codes of the document lists, by type, the codes with which only
// writes of that type are refused, besides those of schemas.
//
// The member x-supplied of the document lists, by type, the properties that the
// application may set on objects which do not have them: the plain form of the type's
// schema requires none of them.
type Fragment []byte

// part is a decoded Fragment.
type part struct {
	whole      object
	Supplied   map[string][]string `json:"x-supplied"`
	Codes      map[string][]string `json:"x-write-codes"`
	Components struct{ Schemas, Parameters map[string]any }
	Paths      map[string]map[string]json.RawMessage
}

func decode(fragments []Fragment) ([]part, error) {
	parts := make([]part, len(fragments))
	for i, fragment := range fragments {
		err := json.Unmarshal(fragment, &parts[i])
		if err == nil {
			err = json.Unmarshal(fragment, &parts[i].whole)
		}
		if err != nil {
			return nil, fmt.Errorf("fragment %d: %w", i, err)
		}
	}
	return parts, nil
}

// operation is what a document reads of an operation of a fragment before it adds that.
type operation struct {
	OperationID string
	Codes       []string `json:"x-codes"`
}

func (p *part) operations(yield func(operation) bool) {
	for _, item := range p.Paths {
		for _, text := range item {
			var o operation
			if json.Unmarshal(text, &o) == nil && !yield(o) { // parameters are no operation
				return
			}
		}
	}
}

// suppliedBy returns the properties of types that fragments list in x-supplied.
func suppliedBy(parts []part) map[string][]string {
	all := map[string][]string{}
	for _, part := range parts {
		for name, properties := range part.Supplied {
			all[name] = append(all[name], properties...)
		}
	}
	return all
}

// takenBy returns the names of the components of fragments, and those of their
// operations after a verb that operations of types have. Types must not have them.
func takenBy(parts []part) map[string]bool {
	all := map[string]bool{"Batch": true, "BatchResult": true}
	for _, part := range parts {
		for name := range part.Components.Schemas {
			all[name] = true
		}
		for name := range part.Components.Parameters { // generators make types of them, too
			all[camel(name)] = true
		}
		for operation := range part.operations {
			for _, verb := range []string{"get", "list", "save", "put", "patch", "erase"} {
				if name, has := strings.CutPrefix(operation.OperationID, verb); has {
					all[operationOf(name)] = true
				}
			}
		}
	}
	return all
}

// own documents the routes of every server, and has what the operations of types
// refer to.
//
//go:embed own.json
var own Fragment

// builder makes a document.
type builder struct {
	types *schema.Registry
	// server is that of Options.
	server     string
	who        audience
	components *components
	// supplied has the properties that the application may set, by type.
	supplied map[string][]string
	// codes are the messages of fragments by type, unlisted those of the application that
	// belong to none.
	codes    map[string][]*message.Definition
	unlisted []*message.Definition
	paths    object
	tags     map[string]object
	answers  object
	// examples are those of responses.
	examples object
	// refused has the names of those that refuse a request, by their codes.
	refused map[string]string
	// shown has the names of examples of messages.
	shown map[*message.Definition]string
}

func (b *builder) path(path string) object {
	item, ok := b.paths[path].(object)
	if !ok {
		item = object{}
		b.paths[path] = item
	}
	return item
}

// Options choose between forms of a document.
type Options struct {
	// Server is the URL of the server, without a slash at its end; "" leaves it to
	// clients, which know where the document is from.
	Server string
	// All includes the operations that do the same as another one of their path: HEAD,
	// and one of POST and PUT.
	All bool
}

// interfaceVersion is the version of the interface (specification, part 9).
const interfaceVersion = "1"

// Build returns the document of some types and of the routes that fragments document,
// as JSON. It is the same, byte for byte, for the same arguments. An error is about a
// fragment.
func Build(types *schema.Registry, o Options, fragments ...Fragment) ([]byte, error) {
	return build(types, o, anybody, fragments)
}

// build leaves out the operations that are not for an audience.
func build(types *schema.Registry, o Options, who audience, fragments []Fragment) ([]byte, error) {
	types = types.Served()
	parts, err := decode(append([]Fragment{own}, fragments...))
	if err != nil {
		return nil, err
	}
	codes, err := codesOfTypes(types, parts)
	if err != nil {
		return nil, err
	}
	b := &builder{types: types, server: o.Server, who: who, components: newComponents(types, takenBy(parts)), supplied: suppliedBy(parts), codes: codes,
		paths: object{}, tags: map[string]object{}, answers: object{}, examples: object{}, refused: map[string]string{}, shown: map[*message.Definition]string{}}
	b.unlisted = b.ofApplication()
	b.shareRefusals()
	b.addShared()
	for _, t := range types.Types() {
		b.addType(t)
	}
	b.components.join(b.paths)
	whole := object{
		"openapi":    "3.1.0",
		"paths":      b.paths,
		"components": object{"schemas": b.schemas(), "responses": b.answers, "examples": b.examples},
	}
	var tags []any
	for i := range parts {
		part := parts[i].whole
		more, _ := part["tags"].([]any)
		tags = append(tags, more...)
		delete(part, "tags")
		delete(part, "x-supplied")
		delete(part, "x-write-codes")
		if err := b.refuse(part); err != nil {
			return nil, fmt.Errorf("fragment %d: %w", i, err)
		}
		merge(whole, part)
	}
	for _, title := range slices.Sorted(maps.Keys(b.tags)) {
		tags = append(tags, b.tags[title])
	}
	whole["tags"] = tags
	whole["info"].(object)["version"] = interfaceVersion
	b.exemplify(whole)
	finish(whole, o.All)
	locate(whole, o.Server)
	b.prune(whole)
	return encode(whole, "")
}

func (b *builder) schemas() object {
	all := object{}
	for name, s := range b.components.done {
		all[name] = s
	}
	all["Batch"] = b.batch(all)
	all["BatchResult"] = b.batchResult()
	return all
}

// batchResult is an object of any of the types that a batch can write.
func (b *builder) batchResult() object {
	var of []any
	for _, t := range b.types.Types() {
		if t.Writable() && b.who.writes(t) {
			of = append(of, refTo("schemas", b.components.named[location{file: typeFile(t)}]))
		}
	}
	return object{"description": "An object of the type that its operation names.", "anyOf": of}
}

// batch is the body of a write of several types. Each type has an operation of its own,
// whose member type distinguishes it from the others.
func (b *builder) batch(all object) object {
	var operations []any
	byType := object{}
	for _, t := range b.types.Types() {
		if !t.Writable() || !b.who.writes(t) {
			continue
		}
		name := b.components.named[location{file: typeFile(t)}]
		operation := refTo("schemas", name+operationSuffix)
		names := []any{}
		for _, path := range t.RequestPaths() {
			names, byType[path] = append(names, path), operation["$ref"]
		}
		all[name+operationSuffix] = object{"type": "object", "required": []any{"type", "object"}, "additionalProperties": false,
			"properties": object{"type": object{"type": "string", "enum": names}, "object": refTo("schemas", name+request.suffix()),
				"ifMatch": object{"type": "string"}, "ifNoneMatch": object{"type": "string"}}}
		operations = append(operations, operation)
	}
	codes := codesOf(slices.Concat(ofCollections, ofBatches))
	return object{"type": "object", "required": []any{"operations"}, "additionalProperties": false, "x-codes": codes, "properties": object{
		"operations": object{"type": "array", "description": "ifMatch is an entity tag, as ETag has it, or *; ifNoneMatch is *.", "maxItems": maxObjects, "items": object{"oneOf": operations,
			"discriminator": object{"propertyName": "type", "mapping": byType}}}}}
}

// refuse adds the responses of refused requests to the operations of a fragment, in the
// order of their paths and methods: the first one names a response that others share.
func (b *builder) refuse(fragment object) error {
	paths, _ := fragment["paths"].(object)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		methods, _ := paths[path].(object)
		for _, method := range slices.Sorted(maps.Keys(methods)) {
			operation, is := methods[method].(object)
			if of, known := b.types.Type(fmt.Sprint(operation["x-type"])); known && !b.who.writes(of) {
				delete(methods, method)
				continue
			}
			if !is || operation["x-refusals"] == nil && operation["x-codes"] == nil && operation["operationId"] == nil {
				continue // parameters, or an addition to an operation of a type
			}
			if err := b.refuseOperation(operation); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	return nil
}

// refuseOperation adds the responses of refused requests to an operation. Without
// x-refusals, the operation is the write of an object of its x-type, or else one with a
// token.
func (b *builder) refuseOperation(operation object) error {
	name, named := operation["x-refusals"].(string)
	c := class(name)
	switch {
	case named:
	case operation["x-type"] != nil:
		c = writing
	default:
		c = plain
	}
	if !slices.Contains(classes, c) {
		return fmt.Errorf("x-refusals %q is not a class of operations", name)
	}
	of, _ := b.types.Type(fmt.Sprint(operation["x-type"]))
	var more []*message.Definition
	codes, _ := operation["x-codes"].([]any)
	for _, code := range codes {
		m, known := b.types.Catalogue().Lookup(fmt.Sprint(code))
		if !known {
			return fmt.Errorf("there is no message %v", code)
		}
		more = append(more, m)
	}
	id, _ := operation["operationId"].(string)
	refusals := b.refusals(c, cmp.Or(camel(id), "Form"), append(more, b.ofTypes(c, of)...))
	delete(operation, "x-refusals")
	delete(operation, "x-codes")
	responses, given := operation["responses"].(object)
	if !given {
		responses = object{}
		operation["responses"] = responses
	}
	for status, refused := range refusals {
		if responses[status] == nil {
			responses[status] = refused
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
	var visit func(o object)
	visit = func(o object) {
		if ref, ok := o["$ref"].(string); ok && !used[ref] {
			used[ref] = true
			eachObject(document.Lookup(whole, ref[1:]), visit)
		}
	}
	eachObject(whole["paths"], visit)
	for kind, members := range all {
		if kind != "securitySchemes" {
			maps.DeleteFunc(members.(object), func(name string, _ any) bool { return !used["#/components/"+kind+"/"+name] })
		}
	}
}
