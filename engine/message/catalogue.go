package message

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Catalogue contains the definitions of all messages that the service can send:
// those of the engine, the application and the schemas. It is immutable.
type Catalogue struct{ byCode map[string]*Definition }

// NewCatalogue returns a catalogue of the engine's own definitions and those of an
// application. A code that is defined twice is an error.
func NewCatalogue(sets ...*Set) (*Catalogue, error) {
	c := &Catalogue{byCode: map[string]*Definition{}}
	for _, set := range append([]*Set{&builtIn}, sets...) {
		for _, def := range set.All() {
			if _, taken := c.byCode[def.Code]; taken {
				return nil, fmt.Errorf("the code %s is defined twice", def.Code)
			}
			if err := def.check(); err != nil {
				return nil, err
			}
			c.byCode[def.Code] = def
		}
	}
	return c, nil
}

// prefixes are the prefixes of codes, by type.
var prefixes = map[string]string{
	TypeError: "error.", TypeValidation: "error.", TypeWarning: "warning.", TypeAudit: "audit.", TypeNotification: "notification.",
}

var (
	codeForm        = regexp.MustCompile(`^[a-z]+(\.[a-z0-9]+)+$`)
	placeholderForm = regexp.MustCompile(`\{\{[^{}]*\}\}`)
	nameForm        = regexp.MustCompile(`^\{\{[a-z][A-Za-z]*\}\}$`)
)

// check returns an error for a definition with an invalid code, kind or text.
func (d *Definition) check() error {
	prefix, known := prefixes[d.Type]
	if !known || !strings.HasPrefix(d.Code, prefix) || !codeForm.MatchString(d.Code) {
		return fmt.Errorf("%q is not a code of the type %s: begin it with %s, and write lower-case words with points between them", d.Code, d.Type, prefix)
	}
	if (prefix == "error.") != (d.Kind != None) {
		return fmt.Errorf("%s needs a kind if it is an error, and only then", d.Code)
	}
	if d.Text == "" || strings.TrimSpace(d.Text) != d.Text {
		return fmt.Errorf("the text of %s is empty, or has spaces around it", d.Code)
	}
	for _, placeholder := range placeholderForm.FindAllString(d.Text, -1) {
		if !nameForm.MatchString(placeholder) {
			return fmt.Errorf("the placeholder %s of %s is not a name of letters", placeholder, d.Code)
		}
	}
	return nil
}

// BuiltIn returns the catalogue of the engine's own definitions.
var BuiltIn = sync.OnceValue(func() *Catalogue {
	c, err := NewCatalogue()
	if err != nil {
		panic("message: " + err.Error())
	}
	return c
})

// With returns a catalogue that also contains the definitions of schemas. Schemas
// can share a code with the same type and text; any other duplicate is an error.
func (c *Catalogue) With(declared ...*Definition) (*Catalogue, error) {
	all := &Catalogue{byCode: maps.Clone(c.byCode)}
	for _, def := range declared {
		if own, taken := c.byCode[def.Code]; taken && *own != *def {
			return nil, fmt.Errorf("the code %s is one of the service's own, with another text", def.Code)
		}
		if other, taken := all.byCode[def.Code]; taken && *other != *def {
			return nil, fmt.Errorf("the code %s is declared twice, with different texts", def.Code)
		}
		all.byCode[def.Code] = def
	}
	return all, nil
}

// Lookup finds a definition by its code.
func (c *Catalogue) Lookup(code string) (*Definition, bool) {
	def, ok := c.byCode[code]
	return def, ok
}

// All returns the definitions sorted by code.
func (c *Catalogue) All() []*Definition {
	return slices.SortedFunc(maps.Values(c.byCode), func(a, b *Definition) int { return cmp.Compare(a.Code, b.Code) })
}
