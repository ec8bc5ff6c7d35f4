package browser

import (
	"maps"
	"reflect"
	"slices"
)

// field is a property.
type field struct {
	name, label string
	sort        sort
	// needed fields are always entered.
	needed bool
	// fixed fields are those that the service sets, and hidden ones are never returned. What is entered
	// in a field that is entered once cannot be changed later.
	fixed, hidden, once bool
	// supplied fields have a value that the service makes.
	supplied bool
}

// part is some of the properties of an object, which apply under a condition.
type part struct {
	fields []field
	// applies is nil if the part always applies.
	applies func(object M) bool
	// kind is the title of the branch of a oneOf, of which the user chooses one.
	kind string
}

// objectSort makes objects of several parts, and members with names of their own.
type objectSort struct {
	r       *randomForm
	schema  M
	parts   []part
	entries *mapping
	// conditional objects have properties under a condition.
	complete, conditional bool
}

// declare adds fields to the properties of a schema.
func declare(schema M, fields ...field) M {
	properties, _ := schema["properties"].(M)
	if properties == nil {
		properties = M{}
		schema["properties"] = properties
	}
	for _, f := range fields {
		properties[f.name] = f.sort.schema
		if f.needed {
			required, _ := schema["required"].([]any)
			schema["required"] = append(required, f.name)
		}
	}
	return schema
}

// add adds a part whose fields are declared in a schema.
func (o *objectSort) add(p part, schema M) {
	declare(schema, p.fields...)
	o.parts = append(o.parts, p)
}

// constructs are what an object can have besides plain properties. Those whose schemas depend on what else
// an object has are the last ones.
var constructs = []func(o *objectSort, depth int){
	func(o *objectSort, depth int) { // properties under a condition
		mode := o.field("enum", M{"type": "string", "enum": []any{"SIMPLE", "FULL"}}, of[any](o.r, "SIMPLE", "FULL"), chosen)
		o.add(part{fields: []field{mode}}, o.schema)
		o.schema["if"] = M{"properties": M{mode.name: M{"const": "FULL"}}, "required": []any{mode.name}}
		then, otherwise := M{}, M{}
		full := func(object M) bool { return object[mode.name] == "FULL" }
		o.add(part{fields: []field{o.under(depth, true)}, applies: full}, then)
		o.add(part{fields: []field{o.under(depth, false)}, applies: func(object M) bool { return !full(object) }}, otherwise)
		o.schema["then"], o.schema["else"] = then, otherwise
	},
	func(o *objectSort, depth int) { // properties that follow from others
		a, b := o.field("text", M{"type": "string", "maxLength": 50}, o.r.text, textbox), o.field("text", M{"type": "string", "maxLength": 50}, o.r.text, textbox)
		declare(o.schema, a, b)
		a.needed, b.needed = true, true // lest one of them is entered alone
		o.parts = append(o.parts, part{fields: []field{a, b}})
		o.schema["dependentRequired"] = M{a.name: []any{b.name}}
		dependent := M{}
		o.add(part{fields: []field{o.under(depth, false)}}, dependent)
		o.schema["dependentSchemas"] = M{b.name: dependent}
	},
	func(o *objectSort, depth int) { // kinds, which a property names
		kind := o.field("kind", nil, of[any](o.r, "circle", "square"), chosen)
		kind.needed = true
		o.parts = append(o.parts, part{fields: []field{kind}}) // which the branches declare
		branch := func(name string) M {
			b := M{"properties": M{kind.name: M{"const": name}}, "required": []any{kind.name}}
			o.add(part{fields: []field{o.under(depth, false)}, applies: func(object M) bool { return object[kind.name] == name }}, b)
			return b
		}
		o.schema["oneOf"] = []any{branch("circle"), branch("square")}
	},
	func(o *objectSort, depth int) { // kinds that the user chooses
		if o.schema["oneOf"] != nil {
			return
		}
		branch := func(title string) M {
			b := M{"title": title}
			o.add(part{fields: []field{o.under(depth, true)}, kind: title}, b)
			return b
		}
		o.schema["oneOf"] = []any{branch("The first <kind>"), branch("The second kind")}
	},
	func(o *objectSort, depth int) { // kinds that an object can have at the same time
		branch := func(needed bool) M {
			b, p := M{}, o.under(depth, needed)
			o.add(part{fields: []field{p}}, b)
			b["required"] = []any{p.name}
			return b
		}
		o.schema["anyOf"] = []any{branch(true), branch(false)}
	},
	func(o *objectSort, depth int) {
		o.schema["not"] = M{"properties": M{"never": M{"const": "never"}}, "required": []any{"never"}}
		declare(o.schema, field{name: "never", sort: sort{schema: M{"type": "string", "readOnly": true}}})
	},
	func(o *objectSort, depth int) {
		all := M{}
		o.add(part{fields: []field{o.property(depth, false)}}, all)
		o.schema["allOf"] = []any{all}
		o.other("")
	},
	func(o *objectSort, depth int) { o.other("pattern") },
	func(o *objectSort, depth int) { o.other("") },
}

// other lets an object have members that are not declared by name, if it has none yet. Those of any name would
// have to be valid for what is declared under a condition, too.
func (o *objectSort) other(names string) {
	if o.entries != nil {
		return
	}
	if o.conditional {
		names = "pattern"
	}
	o.entries = o.r.mapping(o.r.present(0), names)
	switch {
	case names == "pattern":
		o.schema["patternProperties"], o.schema["propertyNames"] = o.entries.schema["patternProperties"], M{"maxLength": 100}
	case o.schema["allOf"] != nil || o.r.deal("others", 2) == 0:
		o.schema["unevaluatedProperties"] = o.entries.item.schema
	default:
		o.schema["additionalProperties"] = o.entries.item.schema
	}
}

// object is a sort of objects.
func (r *randomForm) object(depth int) *objectSort {
	o := &objectSort{r: r, schema: M{"type": "object"}}
	note := o.field("note", M{"type": "string", "maxLength": 100}, r.text, textbox)
	note.needed = true
	switch r.deal("objects", 3) {
	case 0:
		o.schema["x-unknown"] = "refuse"
	case 1:
		o.schema["x-complete"], o.complete = true, true
		r.complete++
		defer func() { r.complete-- }()
	case 2:
		o.schema["minProperties"], o.schema["maxProperties"] = 1, 50
	}
	o.add(part{fields: []field{note, o.property(depth, false), o.property(depth, false)}}, o.schema)
	constructs[r.deal("constructs", len(constructs))](o, depth)
	if r.sometimes == 0 { // under a condition, rules are refused
		o.schema["x-validations"] = []any{M{"rule": "self." + note.name + " != 'never'", "code": "error.random.never", "text": "Never.", "field": "/" + note.name}}
	}
	return o
}

// field is one of a sort that this object alone has.
func (o *objectSort) field(name string, schema M, make any, enter func(*screen, within, string, any)) field {
	f := field{name: o.r.name(), sort: sort{name: name, schema: schema, enter: enter}}
	f.label = inWords(f.name)
	switch make := make.(type) {
	case func() any:
		f.sort.make = make
	case func() string:
		f.sort.make = func() any { return make() }
	}
	return f
}

// property is a field of any sort, some of which say more about it. A default would be there in each branch, and
// in an object in which nothing is set.
func (o *objectSort) property(depth int, needed bool) field {
	r := o.r
	f := field{name: r.name(), needed: needed}
	f.sort = r.anyThat(depth, func(s sort) bool { return s.preset == nil || !needed && r.complete == 0 })
	f.label = inWords(f.name)
	plain := f.sort.schema["type"] == "string" && f.sort.preset == nil && f.sort.schema["x-ref"] == nil && f.sort.schema["x-secret"] == nil
	switch r.dealThat("annotations", 8, func(card int) bool { return card > 2 || plain && (card == 0 || !needed) }) {
	case 0:
		f.sort = f.sort.with(M{"x-personal": true})
	case 1:
		f.sort, f.hidden = f.sort.with(M{"writeOnly": true}), true
	case 2:
		f.sort, f.fixed = f.sort.with(M{"readOnly": true}), true
	case 3:
		f.label = "The <i>title</i> of " + f.name
		f.sort = f.sort.with(M{"title": f.label, "$comment": "for nobody"})
	case 4:
		f.sort = f.sort.with(M{"description": "See \u202e" + hostileTexts[1], "deprecated": true})
	}
	return f
}

// under is a property that is declared under a condition.
func (o *objectSort) under(depth int, needed bool) field {
	o.conditional = true
	o.r.sometimes++
	defer func() { o.r.sometimes-- }()
	return o.property(depth, needed)
}

// applying calls a function for each field that applies to an object.
func (o *objectSort) applying(object M, visit func(f field)) {
	for _, p := range o.parts {
		if o.has(p, object) {
			for _, f := range p.fields {
				visit(f)
			}
		}
	}
}

// has reports whether a part applies to an object.
func (o *objectSort) has(p part, object M) bool {
	if p.kind != "" {
		_, chosen := object[p.fields[0].name]
		return chosen
	}
	return p.applies == nil || p.applies(object)
}

// members lists the members that are not declared.
func (o *objectSort) members(object M) []string {
	names := slices.Sorted(maps.Keys(object))
	for _, p := range o.parts {
		for _, f := range p.fields {
			names = slices.DeleteFunc(names, func(name string) bool { return name == f.name })
		}
	}
	return names
}

func (o *objectSort) make() M {
	object := M{}
	var kinds []part
	for _, p := range o.parts {
		switch {
		case p.kind != "":
			kinds = append(kinds, p)
		case o.has(p, object):
			o.fill(object, p)
		}
	}
	if len(kinds) > 0 {
		o.fill(object, kinds[o.r.IntN(len(kinds))])
	}
	if o.entries != nil {
		o.entries.fill(object)
	}
	return object
}

// fill adds the fields of a part. A default that goes when a condition does not hold any more is entered, as the change
// removes it.
func (o *objectSort) fill(object M, p part) {
	for _, f := range p.fields {
		if !f.fixed && !f.supplied && (f.needed || p.applies != nil && f.sort.preset != nil || o.r.IntN(4) > 0) {
			object[f.name] = f.sort.make()
		}
	}
}

// choose chooses the kind of an object, if the user does that.
func (o *objectSort) choose(x *screen, in within, label string, object M) {
	for _, p := range o.parts {
		if p.kind != "" && o.has(p, object) {
			x.choose(x.node(in, "Kind of "+label, "combobox"), p.kind)
		}
	}
}

// enterIn enters an object in its group, or in the form of its type.
func (o *objectSort) enterIn(x *screen, group within, object M) {
	o.applying(object, func(f field) {
		if value, given := object[f.name]; given {
			f.sort.enter(x, group, f.label, value)
		} else if f.fixed {
			x.node(group, f.label, "status")
		}
	})
	if o.entries != nil {
		for _, name := range o.members(object) {
			o.entries.enter(x, group, name, object[name])
		}
	}
	for _, p := range o.parts {
		if f := p.fields[0]; !o.has(p, object) {
			x.act(group, `function(label) { return reader.find(this, label, ["textbox", "combobox", "group", "checkbox", "status"]).length > 0 && label + " is shown before its condition holds"; }`, f.label)
		}
	}
}

// changeIn makes one change, and returns what the object becomes. The kind is chosen in the outer group.
func (o *objectSort) changeIn(x *screen, outer, group within, label string, object M) M {
	r := o.r
	object = maps.Clone(object)
	var given, missing []field
	var others []part
	for _, p := range o.parts {
		if p.kind != "" && !o.has(p, object) {
			others = append(others, p)
		}
	}
	o.applying(object, func(f field) {
		switch _, is := object[f.name]; {
		case f.fixed || f.supplied || f.sort.fixed || is && f.once:
		case is, f.sort.preset != nil:
			given = append(given, f)
		default:
			missing = append(missing, f)
		}
	})
	members := o.members(object)
	n := r.IntN(len(others) + len(given) + len(missing) + len(members))
	switch {
	case n < len(others):
		p := others[n]
		x.t.Logf("%s becomes %s", label, p.kind)
		for _, f := range o.parts {
			if f.kind != "" {
				for _, f := range f.fields {
					delete(object, f.name)
				}
			}
		}
		o.fill(object, p)
		o.choose(x, outer, label, object)
		for _, f := range p.fields {
			f.sort.enter(x, group, f.label, object[f.name])
		}
		return object
	case n < len(others)+len(given):
		f := given[n-len(others)]
		value, is := object[f.name]
		if !is {
			value = f.sort.preset
		}
		x.t.Logf("%s, %s, is changed from %s", f.label, f.sort.name, jsonText(value))
		object[f.name] = f.sort.changed(x, group, f.label, value)
	case n < len(others)+len(given)+len(missing):
		f := missing[n-len(others)-len(given)]
		x.t.Logf("%s, %s, is added", f.label, f.sort.name)
		object[f.name] = f.sort.make()
		f.sort.enter(x, group, f.label, object[f.name])
	default:
		x.t.Logf("a member of %s is changed", jsonText(object))
		o.entries.changeIn(x, group, object, members)
	}
	// What does not apply any more is gone, and what applies now can be entered.
	for _, p := range o.parts {
		for _, f := range p.fields {
			switch _, is := object[f.name]; {
			case !o.has(p, object):
				delete(object, f.name)
			case p.applies != nil && f.needed && !is:
				object[f.name] = f.sort.make()
				f.sort.enter(x, group, f.label, object[f.name])
			}
		}
	}
	return object
}

// storedAs returns an object as the service stores it.
func (o *objectSort) storedAs(object M) M {
	stored := maps.Clone(object)
	if o.complete {
		maps.DeleteFunc(stored, func(_ string, value any) bool { return isEmpty(value) })
	}
	for _, p := range o.parts {
		for _, f := range p.fields {
			value, given := stored[f.name]
			switch {
			case f.hidden:
				delete(stored, f.name)
			case given:
				stored[f.name] = f.sort.storedAs(value)
			case f.sort.preset != nil:
				stored[f.name] = f.sort.preset
			}
		}
	}
	if o.entries != nil {
		for _, name := range o.members(stored) {
			stored[name] = o.entries.item.storedAs(object[name])
		}
	}
	return stored
}

// readAs returns an object that the service has returned as it was entered.
func (o *objectSort) readAs(object M) M {
	read := maps.Clone(object)
	for _, p := range o.parts {
		for _, f := range p.fields {
			value, is := object[f.name]
			if is {
				read[f.name] = f.sort.readAs(value)
			}
			if f.fixed || f.supplied || f.sort.complete && read[f.name] == nil {
				delete(read, f.name)
			}
		}
	}
	if o.entries != nil {
		for _, name := range o.members(object) {
			read[name] = o.entries.item.readAs(object[name])
		}
	}
	if o.complete {
		maps.DeleteFunc(read, func(_ string, value any) bool { return isEmpty(value) })
	}
	return read
}

// isEmpty reports whether nothing is set in a value.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0
	case M:
		return !slices.ContainsFunc(slices.Collect(maps.Values(v)), func(value any) bool { return !isEmpty(value) })
	}
	return false
}

// asSort is the sort of such objects within others.
func (o *objectSort) asSort() sort {
	// outer is the group that has the choice of a kind, and in it that of the object.
	outer := func(x *screen, in within, label string) within {
		if slices.ContainsFunc(o.parts, func(p part) bool { return p.kind != "" }) {
			return x.node(in, label, "group")
		}
		return in
	}
	return sort{name: "object", schema: o.schema, complete: o.complete,
		make: func() any { return o.make() },
		enter: func(x *screen, in within, label string, value any) {
			in = outer(x, in, label)
			o.choose(x, in, label, value.(M))
			o.enterIn(x, x.unfold(in, label), value.(M))
		},
		change: func(x *screen, in within, label string, value any) any {
			in = outer(x, in, label)
			return o.changeIn(x, in, x.unfold(in, label), label, value.(M))
		},
		stored: func(value any) any { return o.storedAs(value.(M)) },
		read: func(value any) any {
			read := o.readAs(value.(M))
			if o.complete && reflect.DeepEqual(read, o.storedAs(M{})) {
				return nil
			}
			return read
		},
	}
}
