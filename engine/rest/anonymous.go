package rest

import (
	"maps"
	"slices"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/schema"
)

// Anybody may read the public objects of a type (schema.Type.Public) in a network. Whoever
// sends no token has the account of the address that the request comes from, with its rate
// limits and turns. Together, all of them hold at most 1/anonymousPart of the memory
// budget, so that their number makes no difference to callers with a token.
const anonymousPart = 4

// readsPublic reports whether a request with a route reads a type with public objects in
// the network that it names.
func (r *Call) readsPublic(route *Route) bool {
	return route.publicObjects && r.reads() && r.parameters["context"] != ""
}

// privateParameters are those of lists that depend on what is not for everybody.
var privateParameters = []string{"excludeInvalid", "includeHidden", "onlyMine"}

// publicFields are the fields of a type that lists can filter and order by. For anonymous
// callers they lack those that are not for everybody; otherwise named is set when one of
// them is resolved.
type publicFields struct {
	query.Fields
	t         *schema.Type
	anonymous bool
	named     bool
}

// fields returns the fields of a type that the caller's lists can filter and order by.
func (r *Call) fields(t *schema.Type) *publicFields {
	return &publicFields{Fields: r.s.Engine.Fields(t), t: t, anonymous: r.caller.Anonymous}
}

// withheld reports whether a list that was parsed with the fields depends on what is not for
// everybody.
func (f *publicFields) withheld(parameters map[string]string) bool {
	invalid, _ := query.Switch(parameters["excludeInvalid"])
	mine, _ := query.Switch(parameters["onlyMine"])
	return f.named || invalid || mine
}

func (f *publicFields) resolve(parameter, name string) error {
	if !f.t.Withholds(name) {
		return nil
	}
	f.named = true
	if !f.anonymous {
		return nil
	}
	return message.FieldUnknown.Error(message.Params{"parameter": parameter, "value": name, "type": f.t.Name})
}

// Field implements query.Fields.
func (f *publicFields) Field(parameter, name string) (query.Field, error) {
	if err := f.resolve(parameter, name); err != nil {
		return query.Field{}, err
	}
	return f.Fields.Field(parameter, name)
}

// SortField implements query.Fields.
func (f *publicFields) SortField(name string) (query.Field, error) {
	if err := f.resolve("orderBy", name); err != nil {
		return query.Field{}, err
	}
	return f.Fields.SortField(name)
}

// checkPublic returns an error for a projection that names what is not for everybody.
func (r *Call) checkPublic(t *schema.Type, projection engine.Projection) error {
	for _, name := range slices.Sorted(maps.Keys(projection)) { // the same error each time
		if r.caller.Anonymous && t.Withholds(name) {
			return message.FieldUnknown.Error(message.Params{"parameter": "fields", "value": name, "type": t.Name})
		}
	}
	return nil
}

// onlyRead is Only for the parameters of reads: anonymous callers have no privateParameters.
func (r *Call) onlyRead(names ...string) error {
	if r.caller.Anonymous {
		names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(privateParameters, name) })
	}
	return r.Only(names...)
}

// cacheControl sets the headers for caches. Shared ones may keep an answer to a request
// without a token, and ask each time whether it still holds: what is withdrawn is gone at
// once.
func (r *Call) cacheControl() {
	if r.anonymous() {
		r.c.Header("Cache-Control", "public, no-cache")
		r.Header().Add("Vary", "Authorization")
		return
	}
	r.c.Header("Cache-Control", "private, no-cache")
}
