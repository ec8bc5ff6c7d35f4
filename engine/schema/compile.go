package schema

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/parallel"
	"marquee/engine/schema/keyword"
	"marquee/engine/schema/validation"
)

// compile compiles each file outside of common to a type.
func (l *loader) compile() ([]*Type, []*message.Definition) {
	raw := validation.Schemas{}
	for _, f := range l.sound() {
		content := any(f.Content)
		if f.Path == roleType+".json" {
			content = withUndeclaredPermissions(f.Content)
		}
		prepared, _ := validation.Stored(content).(map[string]any)
		raw[baseURL+f.Path] = prepared
	}
	newCompiler := validation.NewCompiler
	// Without a problem, the meta-schema, which has the rules of the draft's, has accepted all files.
	if len(l.problems) == 0 {
		newCompiler = validation.NewJudgedCompiler
	}
	c := &typeCompiler{l: l, compilers: compilers(l.sound(), raw, newCompiler), raw: raw, shapes: newShapes(l), byCode: map[string]*message.Definition{}}
	defer func() { l.checkCosts(c.roots) }()
	var types []*Type
	for _, f := range l.sound() {
		if f.Common {
			continue
		}
		t := c.compile(f)
		if t == nil {
			l.unsound[f] = true
			continue
		}
		types = append(types, t)
	}
	for _, t := range types { // which may share shapes
		t.restrictFills()
	}
	for _, t := range types {
		t.amend()
	}
	l.shapes = c.shapes
	l.compiled = func(at location) *jsonschema.Schema {
		if c.compilers[at.f] == nil {
			return nil
		}
		compiled, err := c.compilers[at.f].Compile(baseURL + at.f.Path + "#" + (&url.URL{Path: at.pointer}).EscapedPath())
		if err != nil {
			return nil // removed by validation.Stored
		}
		return compiled
	}
	return types, c.declared
}

// compilers returns a compiler for each file. Types are compiled side by side; of schemas with
// mistakes, which mistakes a compiler finds depends on what it has compiled before, and all have
// the same one.
func compilers(list []*File, raw validation.Schemas, newCompiler func(validation.Schemas) *jsonschema.Compiler) map[*File]*jsonschema.Compiler {
	of := make([]*jsonschema.Compiler, len(list))
	err := parallel.Do(len(list), func() func(int) error {
		compiler := newCompiler(raw)
		return func(i int) (err error) {
			if of[i] = compiler; !list[i].Common {
				_, err = compiler.Compile(baseURL + list[i].Path + "#")
			}
			return err
		}
	})
	one := validation.NewCompiler(raw)
	byFile := map[*File]*jsonschema.Compiler{}
	for i, f := range list {
		if byFile[f] = of[i]; err != nil {
			byFile[f] = one
		}
	}
	return byFile
}

type typeCompiler struct {
	l         *loader
	compilers map[*File]*jsonschema.Compiler
	raw       validation.Schemas
	shapes    *shapes
	declared  []*message.Definition
	byCode    map[string]*message.Definition
	// roots are the schemas that validate objects.
	roots []*jsonschema.Schema
}

func (c *typeCompiler) compile(f *File) *Type {
	r, _ := f.Content["x-resource"].(map[string]any)
	t := &Type{File: f.Name, Path: f.Path, Source: f.Content, rules: &validation.Rules{Schemas: c.raw}}
	t.Name, _ = r["path"].(string)
	t.Was = keyword.Strings(r["was"])
	t.Title, _ = f.Content["title"].(string)
	t.Title = cmp.Or(t.Title, t.Name)
	t.Description, _ = f.Content["description"].(string)
	t.Group, _ = r["group"].(string)
	t.Global = r["scope"] == "global"
	t.IDRequired = r["id"] == "required"
	t.IDProperty, _ = r["idProperty"].(string)
	t.Parent, _ = r["parent"].(string)
	t.Paged = r["page"] != false
	if t.Methods = keyword.Strings(r["methods"]); t.Methods == nil {
		t.Methods = []string{"GET", "HEAD", "POST", "PUT"}
	}
	if t.Name == roleType {
		t.builtIn = c.l.builtIn
	}
	c.permissions(t, r)
	t.Search, t.Sort = keyword.Strings(r["search"]), keyword.Strings(r["sort"])
	t.Team, t.Owner, t.Paths = keyword.Strings(r["team"]), keyword.Strings(r["owner"]), keyword.Strings(r["paths"])
	t.Shape = c.shapes.of(subschemaAt(location{f, ""}))
	at := places{left: maxPlaces}
	at.walk(t.Shape, nil, map[*document.Shape]bool{})
	if at.left < 0 || !mark(t.Shape) {
		c.l.problem(f, "", "objects can have too many positions", "use fewer references between schemas, and none to an x-complete schema from within itself")
		return nil
	}
	t.UniqueForms = uniqueForms(r["uniqueForm"])
	if t.Label, _ = r["label"].(string); t.Label == "" && t.Shape.Properties["name"] != nil && !t.Shape.Properties["name"].Secret && t.Shape.Properties["name"].Readable == "" {
		t.Label = "name"
	}
	t.renamed = namesOf(t)
	t.Indexes = indexes(r["index"], at.references)
	t.prepare()
	t.rules.Schema = c.schema(f, "")
	c.compileUnique(t, f)
	c.compilePublic(t, f)
	c.compileRules(t, f)
	t.guard()
	return t
}

// permissions sets the permissions of a type.
func (c *typeCompiler) permissions(t *Type, resource map[string]any) {
	several, _ := resource["permissions"].(map[string]any)
	name := func(members map[string]any, key, otherwise string) string {
		text, _ := members[key].(string)
		return cmp.Or(text, otherwise)
	}
	t.Permission = name(several, "write", name(resource, "permission", c.l.options.defaultPermission()))
	t.Create = name(several, "create", t.Permission)
	t.Read = name(several, "read", "")
}

// schema compiles the schema at a pointer. It returns nil after a problem.
func (c *typeCompiler) schema(f *File, pointer string) *jsonschema.Schema {
	if pointer != "" && document.Lookup(f.Content, pointer) == nil {
		return nil // has been reported
	}
	compiled, err := c.compilers[f].Compile(baseURL + f.Path + "#" + pointer)
	if err != nil {
		var endless jsonschema.InfiniteLoopError
		if !errors.As(err, &endless) && !c.l.omitted.certain(location{f, pointer}) {
			return nil // a consequence of an omission
		}
		text := strings.ReplaceAll(err.Error(), baseURL, "")
		c.l.problem(f, pointer, "the schema cannot be compiled: "+text, "")
		return nil
	}
	c.roots = append(c.roots, compiled)
	return compiled
}

func (c *typeCompiler) declare(f *File, pointer string, messageType, code, text string) *message.Definition {
	def := &message.Definition{Code: code, Type: messageType, Text: text}
	if messageType == message.TypeValidation {
		def.Kind = message.Invalid
	}
	for _, at := range []string{pointer, pointer + "/code", pointer + "/text"} {
		if c.l.omitted.at[location{f, at}] {
			return def
		}
	}
	same := []*message.Definition{def}
	if known := c.byCode[code]; known != nil {
		same = append(same, known)
	}
	if _, err := c.l.options.Messages.With(same...); err != nil {
		c.l.problem(f, pointer+"/code", err.Error(), "give each code one text")
		return def
	}
	c.byCode[code] = def
	c.declared = append(c.declared, def)
	return def
}

// indexes returns the declared indexes and one for each reference, in a stable
// order.
func indexes(declared any, references []string) []Index {
	var list []Index
	add := func(index Index) {
		if !slices.Contains(list, index) {
			list = append(list, index)
		}
	}
	entries, _ := declared.([]any)
	for _, entry := range entries {
		switch v := entry.(type) {
		case string:
			add(Index{Property: v})
		case []any:
			if pair := keyword.Strings(v); len(pair) == 2 {
				add(Index{Property: pair[0], Order: pair[1]})
			}
		}
	}
	slices.Sort(references)
	for _, reference := range references {
		add(Index{Property: reference})
	}
	return list
}

// maxPlaces is the maximum number of positions in an object of a type: schemas
// that refer to each other twice double them at each level.
const maxPlaces = 10_000

// places walks the positions in a shape, each cycle once.
type places struct {
	left       int
	references []string
}

// walk finds the dotted paths of all stored references outside of free-form and
// map-like objects.
func (p *places) walk(shape *document.Shape, at []string, on map[*document.Shape]bool) {
	if shape.Derived {
		return
	}
	if shape.Ref != nil {
		p.references = append(p.references, strings.Join(at, "."))
		return
	}
	if p.left--; on[shape] || p.left < 0 {
		return
	}
	on[shape] = true
	for name, member := range shape.Properties {
		if document.PlainName(name) {
			p.walk(member, append(at[:len(at):len(at)], name), on)
		}
	}
	if shape.Element != nil {
		p.walk(shape.Element, at, on)
	}
	delete(on, shape)
}

// fits reports whether the empty form of a complete shape is finite.
func fits(shape *document.Shape, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	if shape.HasDefault || shape.Ref != nil || !shape.Is("object") {
		return true
	}
	for _, member := range shape.Properties {
		if !fits(member, left) {
			return false
		}
	}
	return true
}
