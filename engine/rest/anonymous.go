package rest

import (
	"maps"
	"net/http"
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

// privateParameters are those of lists that depend on what is not for everybody.
var privateParameters = []string{"excludeInvalid", "includeHidden", "onlyMine", "position"}

// publicFields are the fields of a type that lists can filter and order by. For anonymous
// callers they lack those that are not for everybody; otherwise named is set when one of
// them is resolved.
type publicFields struct {
	query.Fields
	t         *schema.Type
	anonymous bool
	named     bool
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
func checkPublic(caller *engine.Caller, t *schema.Type, projection engine.Projection) error {
	for _, name := range slices.Sorted(maps.Keys(projection)) { // the same error each time
		if caller.Anonymous && t.Withholds(name) {
			return message.FieldUnknown.Error(message.Params{"parameter": "fields", "value": name, "type": t.Name})
		}
	}
	return nil
}

// onlyRead is Only for the parameters of reads: anonymous callers have no privateParameters.
func (p Parameters) onlyRead(caller *engine.Caller, names ...string) error {
	if caller.Anonymous {
		names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(privateParameters, name) })
	}
	return p.Only(names...)
}

// cacheControl sets the headers for caches. Shared ones may keep an answer to a request
// without a token, and ask each time whether it still holds: what is withdrawn is gone at
// once.
func cacheControl(header http.Header, caller *engine.Caller) {
	if anonymous(caller) {
		header.Set("Cache-Control", "public, no-cache")
		header.Add("Vary", "Authorization")
		return
	}
	header.Set("Cache-Control", "private, no-cache")
}
