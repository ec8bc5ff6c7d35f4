package access_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"marquee/engine/access"
	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/store/sqlite"
	"marquee/schemas/base"
)

var (
	idField    = query.Field{System: query.ID, Kind: query.String}
	ownerField = query.Field{Kind: query.String, Term: "team", Path: []query.Step{{Name: "id", Array: true}}}
	floorField = query.Field{Kind: query.String, Path: []query.Step{{Name: "floor"}}}
)

func ids(list ...any) query.Expr { return query.In{Field: idField, Values: list} }

func ownedBy(owners ...any) query.Expr { return query.In{Field: ownerField, Values: owners} }

func onFloor(id string) query.Expr {
	return query.Compare{Field: floorField, Op: query.Equal, Value: id}
}

// What a condition says of an object by its id alone needs no query.
func TestDecideByID(t *testing.T) {
	for name, c := range map[string]struct {
		condition  query.Expr
		meet, open []string
	}{
		"all":             {query.All, []string{"a", "b"}, nil},
		"none":            {query.None, nil, nil},
		"the id":          {query.Compare{Field: idField, Op: query.Equal, Value: "b"}, []string{"b"}, nil},
		"one of ids":      {ids("a", "c"), []string{"a"}, nil},
		"a property":      {onFloor("1"), nil, []string{"a", "b"}},
		"id or property":  {query.Or{ids("a"), onFloor("1")}, []string{"a"}, []string{"b"}},
		"id and property": {query.And{ids("a"), onFloor("1")}, nil, []string{"a"}},
		"not":             {query.Not{Of: ids("a")}, nil, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			meet, open := access.DecideByID([]string{"a", "b"}, c.condition)
			if !slices.Equal(meet, c.meet) || !slices.Equal(open, c.open) {
				t.Errorf("meet %v, open %v, want %v and %v", meet, open, c.meet, c.open)
			}
		})
	}
}

func TestMeets(t *testing.T) {
	for name, c := range map[string]struct {
		condition query.Expr
		want      bool
	}{
		"all":           {query.All, true},
		"none":          {query.None, false},
		"owner":         {ownedBy("teams/x", "teams/y"), true},
		"another owner": {ownedBy("teams/x"), false},
		"named by id":   {query.Or{ownedBy("teams/x"), ids("a")}, true},
		"both":          {query.And{ownedBy("teams/y"), ids("b")}, false},
		"is unknown":    {onFloor("1"), false},
		"not theirs":    {query.And{ownedBy("teams/y"), query.Not{Of: ownedBy("teams/x")}}, true},
		"excluded":      {query.And{ownedBy("teams/y"), query.Not{Of: ownedBy("teams/y")}}, false},
		"not unknown":   {query.Not{Of: onFloor("1")}, false},
	} {
		if got := access.Meets(c.condition, "a", ownerField, []string{"teams/y"}); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// Objects that can be decided by their ids and others are found together.
func TestGetVisible(t *testing.T) {
	s := open(t)
	rooms := store.Place{Collection: "rooms", Network: "house"}
	var keys []string
	for _, id := range []string{"a", "b", "c", "d"} {
		put(t, s, rooms, id, map[string]any{"floor": map[string]string{"a": "1", "b": "2", "c": "1", "d": "2"}[id]})
		keys = append(keys, id)
	}
	for name, c := range map[string]struct {
		visible query.Expr
		want    []string
	}{
		"all":      {query.All, []string{"a", "b", "c", "d"}},
		"none":     {query.None, nil},
		"property": {onFloor("1"), []string{"a", "c"}},
		"either":   {query.Or{onFloor("1"), ids("d")}, []string{"a", "c", "d"}},
	} {
		var got []string
		err := s.Read(t.Context(), func(snapshot store.Snapshot) error {
			got = nil
			return access.GetVisible(t.Context(), snapshot, rooms, append([]string{"missing"}, keys...), c.visible, func(r *store.Record) error {
				got = append(got, r.ID)
				return nil
			})
		})
		slices.Sort(got)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v %v, want %v", name, got, err, c.want)
		}
	}
}

// always is an Access with one condition of visibility.
type always struct {
	access.Access
	visible query.Expr
}

func (a always) Visible(*access.Caller, *schema.Type, string) query.Expr { return a.visible }

// While an object has other owners than before, the objects that belong to it are hidden
// from those who see what certain owners have, and from nobody else.
func TestSight(t *testing.T) {
	beds := bedsOfWards(t)
	s := open(t)
	before := 0
	for _, moving := range []int{0, 1, 101} {
		followUps(t, s, before, moving)
		before = moving
		for name, c := range map[string]struct {
			visible query.Expr
			hides   bool
		}{
			"a member": {query.In{Field: beds.OwnerField(), Values: []any{schema.OwnerValue("teams", "x")}}, moving > 0},
			"all":      {query.All, false},
			"none":     {query.None, false},
		} {
			for _, network := range []string{"house", "other"} {
				hides := c.hides && network == "house"
				var sight access.Sight
				var got query.Expr
				err := s.Read(t.Context(), func(snapshot store.Snapshot) (err error) {
					got, err = sight.Visible(t.Context(), snapshot, always{visible: c.visible}, &access.Caller{}, beds, network)
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
				at := fmt.Sprintf("%d moving, %s in %s", moving, name, network)
				and, _ := got.(query.And)
				switch {
				case hides && moving > 100:
					if !query.IsNone(got) {
						t.Errorf("%s: %v is visible, want nothing", at, got)
					}
				case hides && len(and) != 2:
					t.Errorf("%s: %v is visible, want less than without", at, got)
				case hides:
					if not, _ := and[1].(query.Not); not.Of == nil || !access.Meets(not.Of, "bed", beds.OwnerField(), []string{schema.ViaValue("wards", "w0")}) {
						t.Errorf("%s: %v is visible, want all but the beds of the ward", at, got)
					}
				case !reflect.DeepEqual(got, c.visible):
					t.Errorf("%s: %v is visible, want %v", at, got, c.visible)
				}
			}
		}
	}
}

// A Sight that supposes that no owners are in doubt finds out whether it was right.
func TestSightSupposes(t *testing.T) {
	beds := bedsOfWards(t)
	s := open(t)
	member := always{visible: query.In{Field: beds.OwnerField(), Values: []any{schema.OwnerValue("teams", "x")}}}
	for _, moving := range []int{0, 1} {
		followUps(t, s, 0, moving)
		err := s.Read(t.Context(), func(snapshot store.Snapshot) error {
			var sight access.Sight
			sight.Suppose()
			for _, network := range []string{"other", "house", "house"} {
				got, err := sight.Visible(t.Context(), snapshot, member, &access.Caller{}, beds, network)
				if err != nil || !reflect.DeepEqual(got, member.visible) {
					t.Errorf("%d moving: in %s, %v is supposed to be visible (%v)", moving, network, got, err)
				}
			}
			if n := len(sight.Unconfirmed()); n != 2 {
				t.Errorf("%d moving: %d networks are to be confirmed, want 2", moving, n)
			}
			results, err := snapshot.Labels(t.Context(), sight.Unconfirmed()...)
			if err != nil {
				return err
			}
			for range 2 { // also when it is asked again
				if err := sight.Confirm(results); errors.Is(err, access.ErrDoubt) != (moving > 0) {
					t.Errorf("%d moving: confirmed with %v", moving, err)
				}
				results = nil
			}
			known := sight.Known()
			got, err := known.Visible(t.Context(), snapshot, member, &access.Caller{}, beds, "house")
			if err != nil || reflect.DeepEqual(got, member.visible) != (moving == 0) || known.Confirm(nil) != nil {
				t.Errorf("%d moving: then %v is visible (%v)", moving, got, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The version of an object of which a part is hidden reveals no change of that part.
func TestVersion(t *testing.T) {
	hide := func(_ *access.Caller, r *store.Record) error {
		object, err := document.DecodeObject(r.Document, document.Limits{})
		delete(object, "hidden")
		r.Document = document.Append(nil, object)
		return err
	}
	version := func(number int64, state, text string, hide func(*access.Caller, *store.Record) error) string {
		t.Helper()
		v, err := access.Version(&access.Caller{}, &store.Record{Version: number, State: state, Document: []byte(text)}, hide)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if v := version(7, "ACTIVE", `{"hidden":1}`, nil); v != "7" {
		t.Errorf("without hidden parts, the version is %q", v)
	}
	first := version(1, "ACTIVE", `{"hidden":1,"shown":1}`, hide)
	if v := version(2, "ACTIVE", `{"hidden":2,"shown":1}`, hide); v != first {
		t.Error("a change of a hidden part shows")
	}
	if v := version(2, "ACTIVE", `{"hidden":1,"shown":2}`, hide); v == first {
		t.Error("a change of a visible part does not show")
	}
	for what, r := range map[string]store.Record{
		"another object":             {Key: store.Key{ID: "b"}},
		"an object that is new":      {CreateTime: time.UnixMilli(1)},
		"an object of other network": {Key: store.Key{Network: "east"}},
	} {
		r.State, r.Document = "ACTIVE", []byte(`{"hidden":1,"shown":1}`)
		if v, err := access.Version(&access.Caller{}, &r, hide); err != nil || v == first {
			t.Errorf("%s with the same values has the same version", what)
		}
	}
	if v := version(2, "ARCHIVED", `{"hidden":1,"shown":1}`, hide); v == first {
		t.Error("a change of the state does not show")
	}
}

// A program that acts for a user is not the user, and shares nothing with the user.
func TestCallers(t *testing.T) {
	ann := &access.Caller{User: "ann"}
	program := &access.Caller{User: "ann", Token: &access.Token{Network: "house", ID: "t"}}
	elsewhere := &access.Caller{User: "ann", Token: &access.Token{Network: "other", ID: "t"}}
	if !ann.Is("ann") || program.Is("ann") {
		t.Error("a token is mistaken for its user")
	}
	if accounts := []string{ann.Account(), program.Account(), elsewhere.Account()}; accounts[0] == accounts[1] || accounts[1] == accounts[2] {
		t.Errorf("the accounts are %q", accounts)
	}
}

func open(t *testing.T) store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: t.TempDir() + "/marquee.db"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	createTime := query.Field{System: query.CreateTime, Kind: query.Time}
	err = s.EnsureCollections(t.Context(), []store.Collection{{Name: "rooms"},
		{Name: catalog.FollowUps, Indexes: []store.Index{{Equal: []query.Field{catalog.ByMoving}, Order: createTime}}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, s store.Store, where store.Place, id string, object map[string]any) {
	t.Helper()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	r := store.Record{Key: store.Key{Network: where.Network, ID: id}, Version: 1, State: "ACTIVE", CreateTime: now, UpdateTime: now,
		Document: document.Append(nil, object)}
	err := s.Write(t.Context(), func(tx store.Tx) error {
		return tx.Put(t.Context(), where.Collection, []store.Write{{Record: r}})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// followUps stores that some wards have other owners than before.
func followUps(t *testing.T, s store.Store, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		id := fmt.Sprintf("w%d", i)
		put(t, s, store.Place{Collection: catalog.FollowUps}, catalog.FollowUpKey("wards", "house", id).ID, map[string]any{"type": "wards", "id": id, "moving": "house"})
	}
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
			"x-resource": {"path": "beds", "team": ["ward.team"]},
			"type": "object",
			"properties": {"ward": {"x-ref": "wards"}}
		}`)},
	})})
	if err != nil {
		t.Fatal(err)
	}
	beds, _ := registry.Type("beds")
	return beds
}
