package catalog

import (
	"maps"
	"slices"
	"strings"
	"time"

	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/schema/keyword"
	"marquee/engine/store"
)

// Indexing lists the keys that the objects of a type are indexed by. The store keeps
// it for each type, and every write reads it in its own transaction and obeys it,
// whichever schema its server has: several servers, and a schema that is about to be
// served, can rely on it.
//
// The terms of a key depend on the key and the document alone. A type that searches
// other properties than before has another key, maintained beside the one that
// searches still use.
type Indexing struct {
	// Format is the version of this structure, 0 for servers that knew no other.
	Format int `json:"format"`
	// Keys are those that all objects have: of terms, and of unique properties.
	Keys
	// Searches lists the properties whose words are the terms of a key.
	Searches map[string][]string `json:"searches,omitempty"`
	// Owners maps each key of owners to the paths that lead to them.
	Owners map[string][]schema.OwnerPath `json:"teams,omitempty"`
	// Rules maps those keys of Unique that are no property and no form to what they mean.
	Rules map[string]*keyword.ClaimRule `json:"rules,omitempty"`
	// Public maps each key of the objects that anybody may read to their condition.
	Public map[string]*keyword.ClaimRule `json:"public,omitempty"`
	// Targets maps each key of references to the type whose objects they name, which can
	// be removed.
	Targets map[string]schema.Target `json:"targets,omitempty"`
	// Removable reports that objects of the type may have been removed. It stays true.
	Removable bool `json:"removable,omitempty"`
	// Retired lists keys of Terms that the schema served last does not use. They are
	// maintained for a while, as other servers may use them. The value is new each
	// time that a key is retired.
	Retired map[string]string `json:"retired,omitempty"`
	// Filling are keys that some objects still lack. Objects that are written get
	// them.
	Filling *Keys `json:"filling,omitempty"`
	// Leftover are keys that writes no longer maintain and some objects still have.
	// They must be forgotten before they can be filled again.
	Leftover *Keys `json:"leftover,omitempty"`
	// Declared maps places to what the schema served last declares there, where an
	// earlier one declared something else: the target of references, the types of values,
	// the form of strings.
	Declared map[string]string `json:"said,omitempty"`
	// Proposed is the same for a schema that will be served if the stored values suit
	// it.
	Proposed map[string]string `json:"asked,omitempty"`
	// Witness is an encrypted text, present while secrets are stored in both forms:
	// only a server that can decrypt it goes on with them.
	Witness string `json:"witness,omitempty"`
	// Amends is what the schema served last asks of stored objects (schema.Type.Amendments),
	// and Amended the progress: AllAmended, or a mark while they are being
	// amended. It is "" if that has not begun, or if a server whose schema asks for something
	// else has written an object since.
	Amends  string `json:"amends,omitempty"`
	Amended string `json:"amended,omitempty"`
	// Prunes are the places (document.Shape.Place) whose values are being removed from all
	// objects, because the schema served last does not declare them.
	Prunes []string `json:"prunes,omitempty"`
	// Paths maps each path of a renamed type to the time at which it was first served, in
	// seconds since 1970.
	Paths map[string]int64 `json:"paths,omitempty"`
	// Search is what format 0 has instead of Searches, for the key "q".
	Search []string `json:"search"`

	// fields are computed from the above by Prepare.
	fields []termField
}

// ServedUnder notes that the type is served under a path, and returns since when.
func (n *Indexing) ServedUnder(path string, now time.Time) time.Time {
	if n.Paths[path] == 0 {
		if n.Paths == nil {
			n.Paths = map[string]int64{}
		}
		n.Paths[path] = now.Unix()
	}
	return time.Unix(n.Paths[path], 0)
}

// IndexingFormat is the newest format that this program knows. Indexings with Owners have
// format 2, those with Rules format 3, those of types whose objects can be removed, or
// refer to such objects, format 4, and those with Public, or of types whose objects belong
// to users, format 5, so that a server of a version without them writes no such object.
const IndexingFormat = 5

// AllAmended is Indexing.Amended when all objects have what the schema asks for.
const AllAmended = "all"

// Keys are keys of terms, and properties with unique values.
type Keys struct {
	Terms  []string `json:"terms"`
	Unique []string `json:"unique"`
}

// Empty reports whether a type has no keys. A nil Keys is empty.
func (k *Keys) Empty() bool { return k == nil || len(k.Terms)+len(k.Unique) == 0 }

// With returns the union of both; k may be nil.
func (k *Keys) With(others *Keys) *Keys {
	sum := &Keys{}
	for _, part := range []*Keys{k, others} {
		if part != nil {
			sum.Terms, sum.Unique = append(sum.Terms, part.Terms...), append(sum.Unique, part.Unique...)
		}
	}
	return sum.tidy()
}

// Without returns the keys that others does not have.
func (k *Keys) Without(others *Keys) *Keys {
	rest := &Keys{}
	if k == nil {
		return rest
	}
	if others == nil {
		others = &Keys{}
	}
	lacks := func(held []string) func(string) bool {
		return func(one string) bool { return !slices.Contains(held, one) }
	}
	rest.Terms, rest.Unique = Filter(k.Terms, lacks(others.Terms)), Filter(k.Unique, lacks(others.Unique))
	return rest.tidy()
}

// Filter returns the strings of a list that a function keeps, and leaves the list as it is.
func Filter(list []string, keep func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(list), func(one string) bool { return !keep(one) })
}

func (k *Keys) tidy() *Keys {
	for _, list := range []*[]string{&k.Terms, &k.Unique} {
		slices.Sort(*list)
		if *list = slices.Compact(*list); *list == nil {
			*list = []string{}
		}
	}
	return k
}

// termField is a key with the properties whose values are its terms.
type termField struct {
	key   string
	paths [][]string
	// words reports that the terms are the words of the values.
	words bool
	// filling reports that objects may lack the terms.
	filling bool
}

// IndexingOf returns the indexing that a type asks for.
func IndexingOf(t *schema.Type) *Indexing {
	n := &Indexing{Format: IndexingFormat, Search: []string{}, Searches: map[string][]string{}}
	for _, field := range t.TermFields() {
		n.Terms = append(n.Terms, field.Term)
	}
	if key := t.SearchKey(); key != "" {
		n.Terms = append(n.Terms, key)
		n.Searches[key] = t.Searched()
	}
	if paths := t.OwnerPaths(); paths != nil {
		key := t.OwnerField().Term
		n.Terms = append(n.Terms, key)
		n.Owners = map[string][]schema.OwnerPath{key: paths}
	}
	if key := t.PublicKey(); key != "" {
		n.Terms = append(n.Terms, key)
		n.Public = map[string]*keyword.ClaimRule{key: t.Public}
	}
	if targets := t.RemovableTargets(); len(targets) > 0 {
		n.Terms = slices.AppendSeq(n.Terms, maps.Keys(targets))
		n.Targets = maps.Clone(targets)
	}
	n.Removable = t.Removable()
	n.Unique = t.UniqueKeys()
	for _, rule := range t.Claims() {
		n.Define(Meanings{Rules: map[string]*keyword.ClaimRule{rule.Key(): rule}})
	}
	n.tidy()
	n.Prepare()
	return n
}

// upgrade converts an indexing of format 0 to the present one.
func (n *Indexing) upgrade() {
	if n.Searches == nil {
		n.Searches = map[string][]string{}
	}
	if n.Format > 0 {
		return
	}
	n.Format = IndexingFormat
	words := &Keys{Terms: []string{query.SearchKey}}
	if len(n.Search) > 0 {
		n.Keys = *n.Keys.With(words)
		n.Searches[query.SearchKey] = n.Search
	} else {
		n.Leftover = words
	}
	n.tidy()
}

// tidy sorts the lists and drops empty parts, so that equal indexings encode equally.
func (n *Indexing) tidy() {
	n.Keys.tidy()
	n.Search = []string{}
	for _, k := range []**Keys{&n.Filling, &n.Leftover} {
		if (*k).Empty() {
			*k = nil
		}
	}
	maps.DeleteFunc(n.Searches, func(key string, _ []string) bool { return !n.maintains(key) })
	maps.DeleteFunc(n.Owners, func(key string, _ []schema.OwnerPath) bool { return !n.maintains(key) })
	maps.DeleteFunc(n.Targets, func(key string, _ schema.Target) bool { return !n.maintains(key) })
	maps.DeleteFunc(n.Public, func(key string, _ *keyword.ClaimRule) bool { return !n.maintains(key) })
	maps.DeleteFunc(n.Rules, func(key string, _ *keyword.ClaimRule) bool {
		return !slices.Contains(n.Unique, key) && !n.Fills(key)
	})
	switch {
	case len(n.Public) > 0, n.owned():
		n.Format = 5
	case len(n.Targets) > 0, n.Removable:
		n.Format = 4
	case len(n.Rules) > 0:
		n.Format = 3
	case len(n.Owners) > 0:
		n.Format = 2
	default:
		n.Format = 1
	}
	if len(n.Owners) == 0 {
		n.Owners = nil
	}
	if len(n.Rules) == 0 {
		n.Rules = nil
	}
	if len(n.Public) == 0 {
		n.Public = nil
	}
	if len(n.Targets) == 0 {
		n.Targets = nil
	}
}

// owned reports whether writes maintain to which users objects belong.
func (n *Indexing) owned() bool {
	for _, paths := range n.Owners {
		if slices.ContainsFunc(paths, func(path schema.OwnerPath) bool { return path.Own }) {
			return true
		}
	}
	return false
}

// maintains reports whether writes maintain the terms of a key.
func (n *Indexing) maintains(key string) bool {
	return slices.Contains(n.Terms, key) || n.Filling != nil && slices.Contains(n.Filling.Terms, key)
}

// Meanings are what the keys of an indexing mean, as far as their names do not say it.
type Meanings struct {
	Searches map[string][]string
	Owners   map[string][]schema.OwnerPath
	Rules    map[string]*keyword.ClaimRule
	Targets  map[string]schema.Target
	Public   map[string]*keyword.ClaimRule
}

// Meanings returns those of the indexing's own keys.
func (n *Indexing) Meanings() Meanings {
	return Meanings{n.Searches, n.Owners, n.Rules, n.Targets, n.Public}
}

// Define adds the meaning of the keys that another indexing has.
func (n *Indexing) Define(m Meanings) {
	maps.Copy(n.Searches, m.Searches)
	n.Owners, n.Rules, n.Targets = union(n.Owners, m.Owners), union(n.Rules, m.Rules), union(n.Targets, m.Targets)
	n.Public = union(n.Public, m.Public)
}

func union[V any](a, b map[string]V) map[string]V {
	if len(b) == 0 {
		return a
	}
	sum := maps.Clone(a)
	if sum == nil {
		sum = map[string]V{}
	}
	maps.Copy(sum, b)
	return sum
}

// Prepare computes the fields after a change.
func (n *Indexing) Prepare() {
	n.fields = nil
	add := func(list []string, filling bool) {
		for _, key := range list {
			if strings.HasPrefix(key, query.OrderedKey) {
				continue // which depends on more than the document
			}
			field := termField{key: key, filling: filling}
			paths, searched := n.Searches[key]
			if field.words = searched; !searched {
				paths = []string{key}
			}
			for _, path := range paths {
				if !n.Seals(path) {
					field.paths = append(field.paths, strings.Split(path, "."))
				}
			}
			n.fields = append(n.fields, field)
		}
	}
	add(n.Terms, false)
	if n.Filling != nil {
		add(n.Filling.Terms, true)
	}
}

// Seals reports whether the value at a dotted path is a secret by any server's schema.
// Objects are not indexed by it.
func (n *Indexing) Seals(path string) bool {
	for place, form := range n.Declared {
		if dotted := dottedPlace(place); form == SealedForm && (path == dotted || strings.HasPrefix(path, dotted+".")) {
			return true
		}
	}
	return false
}

// Fills reports whether objects may lack the claims of a unique key.
func (n *Indexing) Fills(key string) bool {
	return n.Filling != nil && slices.Contains(n.Filling.Unique, key)
}

// Abandon ends a filling that failed: its keys are left over.
func (n *Indexing) Abandon() { n.Leftover, n.Filling = n.Leftover.With(n.Filling), nil }

// terms adds the terms of a document.
func (f *termField) terms(object map[string]any, terms map[store.Term]struct{}) {
	for _, path := range f.paths {
		query.EachString(object, path, func(value string) {
			if !f.words {
				terms[store.Term{Key: f.key, Value: value}] = struct{}{}
				return
			}
			for _, word := range query.Words(value) {
				terms[store.Term{Key: f.key, Value: word}] = struct{}{}
			}
		})
	}
}

// DiffTerms returns the terms that a write adds and drops. Unchanged terms are added
// where the object may lack them, so that indexing an object that is written all the
// time finds nothing to add and does not conflict.
func (n *Indexing) DiffTerms(after, before map[string]any) (add, drop []store.Term) {
	for i := range n.fields {
		field := &n.fields[i]
		now, was := map[store.Term]struct{}{}, map[store.Term]struct{}{}
		field.terms(after, now)
		if before != nil {
			field.terms(before, was)
		}
		for term := range now {
			if _, kept := was[term]; !kept || field.filling {
				add = append(add, term)
			}
		}
		for term := range was {
			if _, kept := now[term]; !kept {
				drop = append(drop, term)
			}
		}
	}
	return add, drop
}

// Note adds declarations to Declared.
func (n *Indexing) Note(declared map[string]string) {
	if len(declared) == 0 {
		return
	}
	all := maps.Clone(n.Declared)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, declared)
	n.Declared = all
}
