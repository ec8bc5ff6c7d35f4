package openapi

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"marquee/engine/document"
)

// order is the order of the members in a JSON text, which decoded objects do not keep.
type order struct {
	names   []string
	members map[string]*order
	items   []*order
}

// orderOf returns the order of a text at a JSON Pointer; nil is that of the alphabet.
func orderOf(text []byte, pointer string) *order {
	o := readOrder(json.NewDecoder(bytes.NewReader(text)))
	if pointer == "" {
		return o
	}
	for _, step := range strings.Split(pointer[1:], "/") {
		if o != nil {
			o = o.members[document.UnescapeToken(step)]
		}
	}
	return o
}

// readOrder reads a value. The text has been decoded before, so that it has no faults.
func readOrder(d *json.Decoder) *order {
	token, err := d.Token()
	if err != nil {
		return nil
	}
	o := &order{members: map[string]*order{}}
	switch token {
	case json.Delim('{'):
		for d.More() {
			token, _ := d.Token()
			name, is := token.(string)
			if !is {
				return nil
			}
			o.names = append(o.names, name)
			o.members[name] = readOrder(d)
		}
	case json.Delim('['):
		for d.More() {
			o.items = append(o.items, readOrder(d))
		}
	default:
		return nil
	}
	_, _ = d.Token()
	return o
}

// apply returns a value whose objects are encoded in the order; members that it does not have
// come last.
func (o *order) apply(value any) any {
	if o == nil {
		return value
	}
	switch v := value.(type) {
	case object:
		out := make(members, 0, len(v))
		for _, name := range o.names {
			if inner, there := v[name]; there {
				out = append(out, member{name, o.members[name].apply(inner)})
			}
		}
		others := len(out)
		for name, inner := range v {
			if !slices.Contains(o.names, name) {
				out = append(out, member{name, inner})
			}
		}
		slices.SortFunc(out[others:], func(a, b member) int { return strings.Compare(a.name, b.name) })
		return out
	case []any:
		out := slices.Clone(v)
		for i := range out {
			if i < len(o.items) {
				out[i] = o.items[i].apply(out[i])
			}
		}
		return out
	}
	return value
}

// members are those of an object, in order.
type members []member

type member struct {
	name  string
	value any
}

// MarshalJSON implements json.Marshaler.
func (m members) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	out.WriteByte('{')
	for i, one := range m {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := encoder.Encode(one.name); err != nil {
			return nil, err
		}
		out.WriteByte(':')
		if err := encoder.Encode(one.value); err != nil {
			return nil, err
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}
