package read

import (
	"strconv"
	"time"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// renderer writes one record in one pass over its stored bytes or, when collecting,
// finds its references.
type renderer struct {
	v          *view
	t          *schema.Type
	record     *store.Record
	out        []byte
	collecting bool
	first      bool
	// sealed reports whether the document may hold sealed text.
	sealed bool
	// start is the offset of the record in out; references counts those met so far.
	start, references int
	// enclosing are the offsets of the objects around the current value.
	enclosing []int
	at        document.Pointer
}

// object writes the record with its common fields.
func (w *renderer) object() error {
	r, p := w.record, w.v.projection
	w.out = append(w.out, '{')
	w.first = true
	path := Path(w.t, r.Network, document.MemberText(r.Document, w.t.Parent), r.ID)
	if p.has("id") {
		w.text("id", r.ID)
	}
	if w.t.IDProperty != "" && p.has(w.t.IDProperty) {
		w.text(w.t.IDProperty, r.ID)
	}
	if !w.t.Global && p.has("network") {
		w.name("network")
		w.reference("networks", r.Network, r.Network, p["network"])
	}
	if p.has("objectState") {
		w.text("objectState", r.State)
	}
	if p.has("url") && w.t.Shape.Properties["url"] == nil {
		w.text("url", path)
	}
	if err := w.document(); err != nil {
		return err
	}
	if p.has("createTime") {
		w.time("createTime", r.CreateTime)
	}
	if p.has("updateTime") {
		w.time("updateTime", r.UpdateTime)
	}
	if w.v.withholds(r) {
		w.out = append(w.out, '}')
		return nil
	}
	w.user("createUser", r.CreateUser)
	w.user("updateUser", r.UpdateUser)
	if p.has("validationWarnings") {
		w.name("validationWarnings")
		w.out = append(w.out, w.v.currentTexts(w.t, r.Warnings)...)
	}
	w.out = append(w.out, '}')
	return nil
}

func (w *renderer) user(name, id string) {
	if id != "" && w.v.projection.has(name) {
		w.name(name)
		w.reference("users", "", id, w.v.projection[name])
	}
}

func (w *renderer) name(name string) {
	if !w.first {
		w.out = append(w.out, ',')
	}
	w.first = false
	w.out = document.AppendString(w.out, name)
	w.out = append(w.out, ':')
}

func (w *renderer) text(name, value string) {
	w.name(name)
	w.out = document.AppendString(w.out, value)
}

func (w *renderer) time(name string, value time.Time) {
	w.name(name)
	w.out = document.AppendTime(w.out, value)
}

// document writes the members of the stored document, and the missing members of
// complete objects.
func (w *renderer) document() error {
	if err := w.members(w.t.Shape, 0, w.v.projection); err != nil || w.collecting {
		return err
	}
	w.absent(w.t.Shape, 0, w.t.Shape.Whole, w.v.projection)
	return nil
}

// absent writes members that are not stored, as empty values.
func (w *renderer) absent(shape *document.Shape, start int, names []string, p Projection) {
	if w.large() {
		return
	}
	for _, name := range names {
		if _, _, stored := document.Member(w.record.Document, start, name); !stored && p.has(name) {
			shown := name
			if len(w.enclosing) == 0 {
				shown = w.t.ServedName(name)
			}
			w.name(shown)
			w.empty(shape.Properties[name], p[name])
		}
	}
}

// members visits the members of the object at i.
func (w *renderer) members(shape *document.Shape, i int, p Projection) error {
	doc := w.record.Document
	w.enclosing = append(w.enclosing, i)
	for i++; doc[i] != '}'; {
		nameEnd := document.SkipString(doc, i)
		start := nameEnd + 1
		name := document.Text(doc, i)
		end := document.Skip(doc, start)
		if p.has(name) {
			if err := w.member(shape.Member(name), doc[i:nameEnd], name, start, end, p[name]); err != nil {
				return err
			}
		}
		if i = end; doc[i] == ',' {
			i++
		}
	}
	w.enclosing = w.enclosing[:len(w.enclosing)-1]
	return nil
}

func (w *renderer) member(shape *document.Shape, quoted []byte, name string, start, end int, p Projection) error {
	if shape == nil || shape.WriteOnly {
		return nil // the schema no longer shows it
	}
	if shape.Secret && (w.collecting || !w.v.showsSecrets(w.t)) {
		return nil
	}
	if w.collecting && shape.Plain {
		return nil
	}
	w.at = append(w.at, name)
	if !w.collecting {
		if !w.first {
			w.out = append(w.out, ',')
		}
		w.first = false
		if shown := w.t.ServedName(name); shown != name && len(w.enclosing) == 1 {
			w.out = document.AppendString(w.out, shown)
		} else {
			w.out = append(w.out, quoted...)
		}
		w.out = append(w.out, ':')
	}
	err := w.value(shape, start, end, p)
	w.at = w.at[:len(w.at)-1]
	return err
}

// value writes the value between two offsets.
func (w *renderer) value(shape *document.Shape, start, end int, p Projection) error {
	doc := w.record.Document
	switch {
	case shape.Plain && p == nil && !w.holds(start, end):
		w.out = append(w.out, doc[start:end]...)
		return nil
	case isReference(shape.Ref, doc[start]):
		network := w.siblingNetwork(shape.Ref)
		id := document.MemberText(doc[start:], "id")
		if doc[start] == '"' {
			id = document.Text(doc, start)
		}
		w.references++
		switch whole := w.references <= maxWholeReferences && !w.large(); {
		case !w.collecting && whole:
			w.reference(shape.Ref.Type, network, id, p)
		case !w.collecting:
			w.bare(id)
		case whole:
			w.v.want(shape.Ref.Type, network, id)
		}
		return nil
	case doc[start] == '"' && !w.collecting && (shape.Secret || w.holds(start, end)):
		return w.secret(start)
	case doc[start] == '{':
		return w.nested(shape, start, p)
	case doc[start] == '[':
		return w.items(shape, start, p)
	}
	if !w.collecting {
		w.out = append(w.out, doc[start:end]...)
	}
	return nil
}

// References are stored in a few bytes and shown with a name and a url. Beyond these
// numbers, of references or bytes of one object, only the stored part is shown.
const (
	maxWholeReferences = 10_000
	maxWholeBytes      = 4 << 20
)

// large reports whether the object has reached maxWholeBytes.
func (w *renderer) large() bool { return len(w.out)-w.start > maxWholeBytes }

// isReference reports whether a value that begins with a byte is a reference.
func isReference(ref *document.Reference, first byte) bool {
	return ref != nil && (first == '"' && !ref.Object || first == '{' && ref.Object)
}

func (w *renderer) nested(shape *document.Shape, start int, p Projection) error {
	if w.collecting {
		return w.members(shape, start, p)
	}
	w.out = append(w.out, '{')
	outer := w.first
	w.first = true
	err := w.members(shape, start, p)
	w.lookup(shape, start, p)
	absent := shape.Whole
	if shape.Complete {
		absent = shape.Names
	}
	w.absent(shape, start, absent, p)
	w.first = outer
	w.out = append(w.out, '}')
	return err
}

// lookup writes the properties that a lookup list adds to an object.
func (w *renderer) lookup(shape *document.Shape, start int, p Projection) {
	find := w.v.e.Lookups[shape.Lookup]
	at, _, ok := document.Member(w.record.Document, start, "id")
	if find == nil || !ok || w.large() || shape.LeftOut["id"] {
		return
	}
	id, err := strconv.ParseInt(string(w.record.Document[at:document.Skip(w.record.Document, at)]), 10, 64)
	if err != nil {
		return
	}
	members, _ := find(id)
	for _, member := range members {
		if p.has(member.Name) {
			w.text(member.Name, member.Text)
		}
	}
}

// empty writes a missing member of a complete object.
func (w *renderer) empty(shape *document.Shape, p Projection) {
	if p == nil {
		w.out = append(w.out, shape.Empty...)
		return
	}
	w.out = document.Append(w.out, projected(document.Clone(shape.EmptyForm()), p))
}

func projected(value any, p Projection) any {
	members, ok := value.(map[string]any)
	if !ok || p == nil {
		return value
	}
	for name, member := range members {
		if p.has(name) {
			members[name] = projected(member, p[name])
		} else {
			delete(members, name)
		}
	}
	return members
}

func (w *renderer) items(shape *document.Shape, i int, p Projection) error {
	doc := w.record.Document
	if !w.collecting {
		w.out = append(w.out, '[')
	}
	i++
	for n := 0; doc[i] != ']'; n++ {
		end := document.Skip(doc, i)
		item := shape.Item(n)
		if item == nil {
			item = document.AnyShape
		}
		w.at = w.at.Index(n)
		err := w.value(item, i, end, p)
		w.at = w.at[:len(w.at)-1]
		if err != nil {
			return err
		}
		if i = end; doc[i] == ',' {
			if !w.collecting {
				w.out = append(w.out, ',')
			}
			i++
		}
	}
	if !w.collecting {
		w.out = append(w.out, ']')
	}
	return nil
}

// siblingNetwork returns the network of a reference's target.
func (w *renderer) siblingNetwork(ref *document.Reference) string {
	if ref.Network == "" {
		return w.record.Network
	}
	for i := len(w.enclosing) - 1; i >= 0; i-- {
		if start, _, ok := document.Member(w.record.Document, w.enclosing[i], ref.Network); ok {
			return document.Text(w.record.Document, start)
		}
	}
	return ""
}

// reference writes {id, name, url}.
func (w *renderer) reference(ref, network, id string, p Projection) {
	w.out = append(w.out, '{')
	outer := w.first
	w.first = true
	w.text("id", id)
	if target, ok := w.v.registry.Type(ref); ok && w.v.knows(target, network) {
		network = target.NetworkOf(network)
		if label, ok := w.v.labels[referenceKey{ref, network, id}]; ok && p.has("name") {
			w.text("name", label)
		}
		// The path of an object with a parent would show the parent of a hidden one.
		if parent, seen := w.v.parents[referenceKey{ref, network, id}]; p.has("url") && (seen || target.Parent == "") {
			w.text("url", Path(target, network, parent, id))
		}
	}
	w.first = outer
	w.out = append(w.out, '}')
}

// bare writes a reference with its id alone.
func (w *renderer) bare(id string) {
	w.out = append(document.AppendString(append(w.out, `{"id":`...), id), '}')
}

// holds reports whether a value may hold sealed text. Another server may have
// sealed values that are not secret here.
func (w *renderer) holds(start, end int) bool {
	return w.sealed && w.v.e.Sealer.Holds(w.record.Document[start:end])
}

func (w *renderer) secret(start int) error {
	plain, err := w.v.e.RevealAt(w.t.Name, document.Text(w.record.Document, start), catalog.SecretPlace(w.t.Name, w.record.Network, w.record.ID, w.at))
	if err == nil {
		w.out = document.AppendString(w.out, plain)
	}
	return err
}
