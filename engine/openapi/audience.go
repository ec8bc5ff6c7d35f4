package openapi

import (
	"slices"
	"strings"

	"marquee/engine"
	"marquee/engine/rest"
	"marquee/engine/schema"
)

// audience decides what documents show.
type audience struct {
	// knows reports whether they have a type, writes whether they have its writes, and erases
	// whether they have its erasure, if the type has personal values.
	knows, writes, erases func(*schema.Type) bool
	// reads reports whether they have the properties that are read with a permission.
	reads func(t *schema.Type, permission string) bool
	// holds lists the permissions that they hold in a network.
	holds func(network string) []string
	// query is that of links to other documents for the same audience.
	query string
}

// anybody knows no type that requires a permission to read and has nothing public, and no
// property that requires one.
var anybody = audience{
	knows:  func(t *schema.Type) bool { return !t.Secluded() },
	writes: func(*schema.Type) bool { return true },
	erases: func(*schema.Type) bool { return true },
	reads:  func(*schema.Type, string) bool { return false },
	holds:  func(string) []string { return nil },
}

// asked returns the parameters of a call, and its audience. It refuses parameters that are not
// known, unless none are: pages ignore them.
func asked(r *rest.Call, known ...string) (parameters rest.Parameters, who audience, err error) {
	if parameters, err = rest.ParseQuery(r.Request().URL.RawQuery); err != nil {
		return nil, who, err
	}
	if len(known) > 0 {
		if err := parameters.Only(known...); err != nil {
			return nil, who, err
		}
	}
	who, err = mineOf(r, parameters)
	return parameters, who, err
}

// mineOf returns the audience of a call: anybody, or with the parameter mine, the caller.
func mineOf(r *rest.Call, parameters rest.Parameters) (audience, error) {
	if parameters["mine"] == "" || parameters["mine"] == "false" {
		return anybody, nil
	}
	if err := r.Authenticate(); err != nil {
		return audience{}, err
	}
	if _, err := parameters.Boolean("mine"); err != nil {
		return audience{}, err
	}
	caller, access := r.Caller(), r.Engine().Access
	in := func(may func(t *schema.Type, network string) bool) func(*schema.Type) bool {
		return func(t *schema.Type) bool {
			for network := range caller.Grants {
				if given := parameters["context"]; given != "" && given != network {
					continue
				}
				if may(t, network) {
					return true
				}
			}
			return false
		}
	}
	return audience{
		holds: func(network string) []string {
			all := slices.Concat(r.Engine().Registry().Permissions(), []string{schema.AllPermissions})
			return slices.DeleteFunc(all, func(permission string) bool { return !caller.Grants[network].Holds(permission) })
		},
		knows:  in(func(t *schema.Type, network string) bool { return access.Knows(caller, t, network) }),
		writes: in(func(t *schema.Type, network string) bool { return access.MayWriteSome(caller, t, network) == nil }),
		erases: in(func(t *schema.Type, network string) bool { return access.MayErase(caller, t, network) == nil }),
		reads: func(t *schema.Type, permission string) bool {
			return in(func(t *schema.Type, network string) bool {
				return access.MayReadProperty(caller, t, network, permission)
			})(t)
		},
		query: "?mine=true",
	}, nil
}

// known returns the types that an audience knows, without the properties that it does not
// read, and a key for them.
func (s *Documents) known(e *engine.Engine, who audience) (types *schema.Registry, key string) {
	var hidden []string
	types = s.follow(e).Without(func(t *schema.Type) bool {
		if !t.Secluded() || who.knows(t) {
			return false
		}
		hidden = append(hidden, t.Name)
		return true
	}, func(t *schema.Type, permission string) bool {
		if who.reads(t, permission) {
			return false
		}
		hidden = append(hidden, t.Name+"."+permission)
		return true
	})
	return types, strings.Join(hidden, " ")
}
