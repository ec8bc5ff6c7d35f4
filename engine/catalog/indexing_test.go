package catalog

import (
	"reflect"
	"slices"
	"testing"
	"testing/fstest"

	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/schemas/base"
)

// A type is indexed by the words that it is searched by, by the items of lists, by
// unique values, and by the teams that its objects belong to.
func TestIndexingOf(t *testing.T) {
	beds := bedsOfWards(t)
	n := IndexingOf(beds)
	words, owners := beds.SearchKey(), beds.OwnerField().Term
	terms := []string{"tags", words, owners}
	slices.Sort(terms)
	if !slices.Equal(n.Terms, terms) || !slices.Equal(n.Unique, []string{"code"}) {
		t.Errorf("the keys are %v and %v, want %v and code", n.Terms, n.Unique, terms)
	}
	if !reflect.DeepEqual(n.Searches, map[string][]string{words: {"name"}}) {
		t.Errorf("the searches are %v", n.Searches)
	}
	if !reflect.DeepEqual(n.OwnerKeys(), map[string][]schema.OwnerPath{owners: beds.OwnerPaths()}) {
		t.Errorf("the owners are %v", n.OwnerKeys())
	}

	text, err := n.Encode()
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := decodeIndexing(text)
	if err != nil || !reflect.DeepEqual(decoded, n) {
		t.Errorf("%s is decoded as %+v, %v, want %+v", text, decoded, err, n)
	}
}

// An indexing that a server of the first version stored has the key "q" for searches.
func TestIndexingsOfOtherVersions(t *testing.T) {
	for text, want := range map[string]Keys{
		`{"terms": ["tags"], "unique": ["code"], "search": ["name"]}`:  {Terms: []string{"q", "tags"}, Unique: []string{"code"}},
		`{"terms": ["tags"], "unique": [], "search": []}`:              {Terms: []string{"tags"}, Unique: []string{}},
		`{"format": 1, "terms": ["tags"], "unique": [], "search": []}`: {Terms: []string{"tags"}, Unique: []string{}},
	} {
		n, err := decodeIndexing([]byte(text))
		if err != nil || !reflect.DeepEqual(n.Keys, want) {
			t.Errorf("%s: %+v, %v", text, n, err)
		}
	}
}

func TestDiffTerms(t *testing.T) {
	n := IndexingOf(bedsOfWards(t))
	key := n.Terms[slices.IndexFunc(n.Terms, func(key string) bool { return n.Searches[key] != nil })]
	word := func(w string) store.Term { return store.Term{Key: key, Value: w} }
	tag := func(v string) store.Term { return store.Term{Key: "tags", Value: v} }
	for name, c := range map[string]struct {
		before, after map[string]any
		add, drop     []store.Term
	}{
		"new":       {nil, bed("By the window", "quiet"), []store.Term{word("by"), word("the"), word("window"), tag("quiet")}, nil},
		"unchanged": {bed("Window", "quiet"), bed("Window", "quiet"), nil, nil},
		"changed":   {bed("Window", "quiet", "new"), bed("Door", "new"), []store.Term{word("door")}, []store.Term{word("window"), tag("quiet")}},
		"twice":     {bed("Window window"), bed("Window"), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			add, drop := n.DiffTerms(c.after, c.before)
			if !sameTerms(add, c.add) || !sameTerms(drop, c.drop) {
				t.Errorf("adds %v, drops %v, want %v and %v", add, drop, c.add, c.drop)
			}
		})
	}

	n.Terms, n.Filling = []string{}, &Keys{Terms: []string{"tags"}}
	n.Prepare()
	if add, _ := n.DiffTerms(bed("Window", "quiet"), bed("Window", "quiet")); !sameTerms(add, []store.Term{tag("quiet")}) {
		t.Errorf("while objects lack the tags, a write adds %v", add)
	}
}

// Objects are indexed by no value that any server's schema calls a secret.
func TestSecretsAreNotIndexed(t *testing.T) {
	n := IndexingOf(bedsOfWards(t))
	n.Note(map[string]string{"/properties/name": SealedForm, "/properties/code": SealedForm})
	n.Prepare()
	if add, _ := n.DiffTerms(bed("Window"), nil); len(add) > 0 {
		t.Errorf("the words of a secret are indexed: %v", add)
	}
	if claimed := n.Claimed(); len(claimed) > 0 {
		t.Errorf("secrets are claimed: %v", claimed)
	}
	n.Note(map[string]string{"/properties/code": PlainForm})
	if claimed := n.Claimed(); !slices.Equal(claimed, []string{"code"}) {
		t.Errorf("a property that is secret for no server is not claimed: %v", claimed)
	}
}

func TestClaims(t *testing.T) {
	n := IndexingOf(bedsOfWards(t))
	got, err := n.Claims(t.Context(), []string{"code", "missing"}, store.Place{Collection: "beds", Network: "house"}, map[string]any{"code": "a\"b"}, "ACTIVE")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]store.Claim{"code": {Collection: "beds", Network: "house", Property: "code", Value: `"a\"b"`}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the claims are %v, want %v", got, want)
	}
}

// A key that a filling failed for is forgotten before it is filled again.
func TestAbandon(t *testing.T) {
	n := &Indexing{Filling: &Keys{Terms: []string{"tags"}}, Leftover: &Keys{Terms: []string{"words"}}}
	n.Abandon()
	if n.Filling != nil || !slices.Equal(n.Leftover.Terms, []string{"tags", "words"}) {
		t.Errorf("filling %v, left over %v", n.Filling, n.Leftover)
	}
}

func TestKeys(t *testing.T) {
	a, b := &Keys{Terms: []string{"y", "x"}, Unique: []string{"u"}}, &Keys{Terms: []string{"y", "z"}}
	if sum := a.With(b); !reflect.DeepEqual(sum, &Keys{Terms: []string{"x", "y", "z"}, Unique: []string{"u"}}) {
		t.Errorf("with: %+v", sum)
	}
	if rest := a.Without(b); !reflect.DeepEqual(rest, &Keys{Terms: []string{"x"}, Unique: []string{"u"}}) {
		t.Errorf("without: %+v", rest)
	}
	var none *Keys
	if !none.Empty() || !none.Without(a).Empty() || none.With(a).Empty() {
		t.Error("nil is not an empty set of keys")
	}
}

// An object claims the form of a value once, and never takes another object's.
func TestFreeForm(t *testing.T) {
	name := schema.UniqueForm{Property: "name", Form: schema.UsernameForm}
	claims := FormClaims("users", "", name, "Ann")
	if folded := FormClaims("users", "", name, "aNN"); !slices.Equal(claims, folded) {
		t.Errorf("%v and %v are different forms", claims[0], folded[0])
	}
	if FormClaims("users", "", name, "") != nil {
		t.Error("an empty value has a form")
	}
	owned := func(n int, owner string) map[store.Claim]string {
		owners := map[store.Claim]string{}
		for _, claim := range claims[:n] {
			owners[claim] = owner
		}
		return owners
	}
	for name, c := range map[string]struct {
		owners map[store.Claim]string
		free   int
	}{
		"free":           {nil, 0},
		"one of another": {owned(1, "other"), 1},
		"its own":        {owned(1, "ann"), -1},
		"all of others":  {owned(len(claims), "other"), -1},
	} {
		free, ok := FreeForm(claims, c.owners, "ann")
		if ok != (c.free >= 0) || ok && free != claims[c.free] {
			t.Errorf("%s: %v %t", name, free, ok)
		}
	}
}

// Notes of all servers decide which members are secret, whatever the schema says.
func TestApplyForms(t *testing.T) {
	shape := bedsOfWards(t).Shape
	sealed := ApplyForms(shape, map[string]string{"/properties/name": SealedForm}, false)
	if !sealed.Member("name").Secret || !sealed.HasSecrets || shape.Member("name").Secret {
		t.Error("a place that another server seals is not a secret, or the schema's own shape has changed")
	}
	declared := map[string]string{"/properties/name": PlainForm}
	if still := ApplyForms(sealed, declared, false); !still.Member("name").Secret {
		t.Error("a secret is opened, though that was not allowed")
	}
	if opened := ApplyForms(sealed, declared, true); opened.Member("name").Secret {
		t.Error("a place that is noted as plain is secret")
	}
}

func bed(name string, tags ...any) map[string]any {
	return map[string]any{"name": name, "tags": tags}
}

func sameTerms(a, b []store.Term) bool {
	set := func(list []store.Term) map[store.Term]bool {
		terms := map[store.Term]bool{}
		for _, term := range list {
			terms[term] = true
		}
		return terms
	}
	return len(a) == len(b) && reflect.DeepEqual(set(a), set(b))
}

// bedsOfWards returns a type whose objects belong to the teams of other objects.
func bedsOfWards(t *testing.T) *schema.Type {
	t.Helper()
	registry, err := schema.Load(schema.Source{FS: base.Extend(fstest.MapFS{
		"wards.json": {Data: []byte(`{
			"$schema": "https://json-schema.org/draft/2020-12/schema",
			"title": "Ward",
			"x-resource": {"path": "wards"},
			"type": "object",
			"properties": {"team": {"x-ref": "teams"}}
		}`)},
		"beds.json": {Data: []byte(`{
			"$schema": "https://json-schema.org/draft/2020-12/schema",
			"title": "Bed",
			"x-resource": {"path": "beds", "team": ["team", "ward.team"], "unique": ["code"], "search": ["name"], "index": ["tags", "code"]},
			"type": "object",
			"properties": {
				"name": {"type": "string"},
				"code": {"type": "string"},
				"tags": {"type": "array", "items": {"type": "string"}},
				"team": {"x-ref": "teams"},
				"ward": {"x-ref": "wards"}
			}
		}`)},
	})})
	if err != nil {
		t.Fatal(err)
	}
	beds, _ := registry.Type("beds")
	return beds
}
