package location

import (
	"slices"
	"testing"
)

func TestContext(t *testing.T) {
	for _, c := range []struct{ region, country, want string }{
		{"Oslo", "Norway", "Oslo, Norway"}, {"", "Norway", "Norway"}, {"Oslo", "", "Oslo"}, {"", "", ""},
	} {
		if got := (Location{Region: c.region, Country: c.country}).Context(); got != c.want {
			t.Errorf("%q in %q: %q", c.region, c.country, got)
		}
	}
}

func TestNew(t *testing.T) {
	g := New([]Location{
		{ID: 3, Name: "Three", Population: 5}, {ID: 2, Name: "Old", Population: 9}, {ID: 1, Name: "One", Population: 5}, {ID: 2, Name: "Two", Population: 1},
	})
	var ids []int64
	for l := range g.All() {
		ids = append(ids, l.ID)
	}
	if !slices.Equal(ids, []int64{1, 3, 2}) || g.Len() != 3 {
		t.Errorf("%v", ids)
	}
	if g.Search("old", 0, 1).TotalHits != 0 || g.Search("two", 0, 1).TotalHits != 1 {
		t.Error("the last location of an id does not count")
	}
}

// A new release of the embedded data may add locations, but lose none.
func TestEmbedded(t *testing.T) {
	types, countries, regions := map[Type]int{}, map[string]bool{}, map[string]bool{}
	without := 0
	for l := range Load().All() {
		types[l.Type]++
		countries[l.Country] = l.Country != ""
		switch {
		case l.Country == "" && l.Type != Country:
			t.Errorf("%d %s is in no country", l.ID, l.Name)
		case l.Type == Region:
			regions[l.Name+", "+l.Country] = true
		case l.Region == "" && l.Type == City:
			without++
		}
		if !found(l.Name) || l.ID < 1 || l.ID > MaxID || l.Population < 0 {
			t.Errorf("%+v", l)
		}
		if slices.ContainsFunc(l.Alternates, func(name string) bool { return !found(name) }) {
			t.Errorf("%d %s is also %q", l.ID, l.Name, l.Alternates)
		}
	}
	if types[City] < 69_000 || types[Region] < 4_000 || types[Country] < 240 || len(countries) < 240 {
		t.Errorf("%v in %d countries", types, len(countries))
	}
	if without > 400 {
		t.Errorf("%d cities are in no region", without)
	}
	for l := range Load().All() {
		if l.Type == City && l.Region != "" && !regions[l.Context()] {
			t.Errorf("%d %s is in the unknown region %s", l.ID, l.Name, l.Context())
		}
	}
	if first := Load(); first != Load() {
		t.Error("it is decoded twice")
	}
}

func TestDecodeFaults(t *testing.T) {
	for _, data := range [][]byte{[]byte("no archive"), compressed[:len(compressed)/2]} {
		if locations, err := decode(data); err == nil {
			t.Errorf("%.10q: %d locations", data, len(locations))
		}
	}
}
