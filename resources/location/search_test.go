package location

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

func names(r Result) []string {
	var names []string
	for _, hit := range r.Hits {
		names = append(names, fmt.Sprint(hit.ID, " ", hit.Name))
	}
	return names
}

// Each group of Search, and each rule of order within a group, decides once.
func TestRank(t *testing.T) {
	g := New([]Location{
		{ID: 1, Type: City, Name: "Mar", Population: 10},
		{ID: 2, Type: Region, Name: "mär", Population: 20},
		{ID: 4, Type: City, Name: "MAR", Population: 10},
		{ID: 5, Type: City, Name: "Foo", Alternates: []string{"Mar"}, Population: 1000},
		{ID: 6, Type: City, Name: "Marne", Population: 30},
		{ID: 7, Type: City, Name: "Mar del Plata", Country: "Argentina", Population: 40},
		{ID: 8, Type: City, Name: "Bar", Alternates: []string{"Marble", "Mar"}, Population: 0},
		{ID: 9, Type: City, Name: "Baz", Alternates: []string{"Marzipan"}, Population: 2000},
		{ID: 10, Type: City, Name: "Viña del Mar", Region: "Valparaíso", Country: "Chile", Population: 5000},
		{ID: 11, Type: City, Name: "Qux", Alternates: []string{"Plata del Mar"}, Population: 9000},
		{ID: 12, Type: City, Name: "Omar", Country: "Marino", Population: 9999},
	})
	for text, want := range map[string]string{
		"mar":           "2 mär|1 Mar|4 MAR|5 Foo|8 Bar|7 Mar del Plata|6 Marne|9 Baz|10 Viña del Mar|11 Qux",
		"Mar del":       "7 Mar del Plata|10 Viña del Mar|11 Qux",
		"plata, MAR":    "7 Mar del Plata|11 Qux",
		"mar mar mar":   "10 Viña del Mar|7 Mar del Plata|6 Marne|2 mär|1 Mar|4 MAR|11 Qux|9 Baz|5 Foo|8 Bar",
		"vina chile":    "10 Viña del Mar",
		"chile valp":    "",
		"mar argentina": "7 Mar del Plata",
		"argentina":     "",
		"omar marino":   "12 Omar",
		"ma r":          "",
		"del p":         "7 Mar del Plata|11 Qux",
	} {
		r := g.Search(text, 0, 100)
		if got := strings.Join(names(r), "|"); got != want {
			t.Errorf("%q:\n got %s\nwant %s", text, got, want)
		}
		if len(r.Hits) != r.TotalHits || r.Types[City]+r.Types[Region]+r.Types[Country] != r.TotalHits {
			t.Errorf("%q: %d hits, %d in all, by type %v", text, len(r.Hits), r.TotalHits, r.Types)
		}
	}
	r := g.Search("mar", 0, 1)
	if r.Types[Region] != 1 || r.Types[City] != 9 {
		t.Errorf("by type: %v", r.Types)
	}
}

// Locations are found with and without accents.
func TestAccents(t *testing.T) {
	for id, texts := range map[int64][]string{
		2657896: {"Zürich", "zurich", "ZÜRICH", "Zu\u0308rich", "  zürich  ", "Zuerich"},
		3448439: {"São Paulo", "sao paulo", "SAO-PAULO"},
		3093133: {"Łódź", "lodz", "ŁÓDŹ"},
		3413829: {"Reykjavík", "reykjavik"},
		745044:  {"İstanbul", "istanbul", "ISTANBUL", "ıstanbul"},
		2886242: {"Köln", "koln", "Cologne", "Keulen"},
		3133895: {"Tromsø", "tromso", "TROMSØ"},
		2618425: {"København", "kobenhavn", "Copenhagen"},
		2920512: {"Gießen", "giessen", "GIESSEN", "GIEẞEN"},
		3175121: {"L'Aquila", "l’aquila", "laquila", "L AQUILA", "Aquila"},
		6324733: {"St. John's", "st johns", "st john s"},
		3143244: {"oslo", "Kristiania"},
		524901:  {"Moscow", "Moskva"},
	} {
		for _, text := range texts {
			if r := Load().Search(text, 0, 10); !slices.ContainsFunc(r.Hits, func(h Hit) bool { return h.ID == id }) {
				t.Errorf("%q does not find %d on its first page: %v", text, id, names(r))
			}
		}
	}
}

func TestEmbeddedRanks(t *testing.T) {
	for text, want := range map[string]Hit{
		"London":       {2643743, City, "London", "England, United Kingdom"},
		"new yo":       {5128638, Region, "New York", "United States"},
		"york":         {2633352, City, "York", "England, United Kingdom"},
		"paris, texas": {4717560, City, "Paris", "Texas, United States"},
		"bergen":       {3161732, City, "Bergen", "Vestland, Norway"},
		"singapore":    {1880251, Country, "Singapore", ""},
	} {
		if r := Load().Search(text, 0, 1); len(r.Hits) != 1 || r.Hits[0] != want {
			t.Errorf("%q: %v, want %v", text, r.Hits, want)
		}
	}
}

// Pages of any size have all hits of a single page, without gaps or repetitions.
func TestPages(t *testing.T) {
	g := Load()
	for _, text := range []string{"san", "new", "oslo", "qqzzqq"} {
		whole := g.Search(text, 0, g.Len()+1)
		for _, size := range []int{1, 7, 64, 1000} {
			if size == 1 && whole.TotalHits > 1000 {
				continue
			}
			var hits []Hit
			for page := 0; ; page++ {
				r := g.Search(text, page*size, size)
				if r.TotalHits != whole.TotalHits {
					t.Fatalf("%q: %d hits on page %d, %d on the first", text, r.TotalHits, page, whole.TotalHits)
				}
				if len(r.Hits) == 0 {
					if r.PageStart != 0 || r.PageEnd != 0 || r.Hits == nil {
						t.Fatalf("%q: an empty page is %d to %d", text, r.PageStart, r.PageEnd)
					}
					break
				}
				if r.PageStart != len(hits)+1 || r.PageEnd != len(hits)+len(r.Hits) || len(r.Hits) > size {
					t.Fatalf("%q: page %d with %d hits is %d to %d", text, page, len(r.Hits), r.PageStart, r.PageEnd)
				}
				hits = append(hits, r.Hits...)
			}
			if !slices.Equal(hits, whole.Hits) || len(hits) != whole.TotalHits {
				t.Errorf("%q in pages of %d: %d hits, want %d", text, size, len(hits), whole.TotalHits)
			}
		}
	}
	for _, c := range [][2]int{{-1, 10}, {0, 0}, {0, -1}, {1 << 62, 1 << 62}} {
		if r := g.Search("oslo", c[0], c[1]); len(r.Hits) != 0 || r.PageStart != 0 || r.TotalHits == 0 {
			t.Errorf("%d after %d: %+v", c[1], c[0], r)
		}
	}
}

// Every location is in the first group that its name finds, and is found by id.
func TestEachIsFound(t *testing.T) {
	g := Load()
	for at, l := range g.locations {
		got, ok := g.ByID(l.ID)
		if !ok || got.ID != l.ID || got.Name != l.Name {
			t.Fatalf("%d is %v", l.ID, got)
		}
		whole := forms(l.Name)
		if len(whole) == 0 {
			t.Fatalf("%d %s cannot be found", l.ID, l.Name)
		}
		// Only a part is searched for completely, to save time.
		if at%50 == 0 {
			exact := g.groups(l.Name)[0]
			if r := g.Search(l.Name, 0, exact.count()); !slices.ContainsFunc(r.Hits, func(h Hit) bool { return h.ID == l.ID }) {
				t.Fatalf("%d %s is not among the first %d of what its name finds", l.ID, l.Name, exact.count())
			}
		}
	}
	if _, ok := g.ByID(1); ok {
		t.Error("there is a location 1")
	}
}

func TestHostileText(t *testing.T) {
	g := Load()
	for _, text := range []string{
		"", " ", "\t\n\x00", "\u0301\u0308", "\u200b\u200d", "\xff\xfe", "'", "-,.;!", "€", "🙂", strings.Repeat("a", 1<<20),
		strings.Repeat("a ", 1<<19), strings.Repeat("\u0301", 1<<19), "\x00\x01\x02",
	} {
		if r := g.Search(text, 0, 10); r.TotalHits != 0 || len(r.Hits) != 0 || r.PageStart != 0 || r.PageEnd != 0 {
			t.Errorf("%.20q finds %d", text, r.TotalHits)
		}
	}
	for _, text := range []string{"os\x00lo", "os\xfflo"} {
		if r := g.Search(text, 0, 10); slices.ContainsFunc(r.Hits, func(h Hit) bool { return h.Name == "Oslo" }) {
			t.Errorf("%q finds Oslo", text)
		}
	}
	if r := g.Search("O\u0301s\u0327lo\u200b", 0, 1); r.TotalHits == 0 || r.Hits[0].Name != "Oslo" {
		t.Error("marks on top of it hide Oslo")
	}
	long := New([]Location{{ID: 1, Type: City, Name: "one two three four five six seven eight nine ten eleven twelve"}})
	if r := long.Search("one two three four five six seven eight nine ten eleven tw", 0, 1); r.TotalHits != 1 {
		t.Error("a name of many words is not found by its beginning")
	}
	if r := long.Search("twelve eleven ten nine eight seven six five four three two one", 0, 1); r.TotalHits != 0 {
		t.Error("as many words are sought in any order")
	}
	if r := New(nil).Search("a", 0, 10); r.TotalHits != 0 {
		t.Error("an empty gazetteer has a location")
	}
}

func TestConcurrentUse(t *testing.T) {
	want := Load().Search("san", 50, 50)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				if got := Load().Search("san", 50, 50); !slices.Equal(got.Hits, want.Hits) {
					t.Error("another answer")
				}
			}
		})
	}
	group.Wait()
}

// A page is part of the whole result, and each hit has the words of the text.
func FuzzSearch(f *testing.F) {
	for _, text := range []string{"oslo", "São", "paris, texas", "st john's", "\xff", "ǅ", "\u0301", "a b c", "中", "Ⅷ ½", "ß ẞ", "mar mar", "İ", "ﬁ", "ẚ"} {
		f.Add(text, 0, 10)
	}
	g := Load()
	alternates := alternatesAround(g)
	f.Fuzz(func(t *testing.T, text string, skip, size int) {
		r := g.Search(text, skip, min(size, 1000))
		if len(r.Hits) == 0 != (r.PageStart == 0) || len(r.Hits) == 0 != (r.PageEnd == 0) || r.PageEnd > r.TotalHits {
			t.Fatalf("%q: %d hits, %d to %d of %d", text, len(r.Hits), r.PageStart, r.PageEnd, r.TotalHits)
		}
		if len(r.Hits) > 0 && r.PageEnd-r.PageStart+1 != len(r.Hits) {
			t.Fatalf("%q: %d hits, %d to %d", text, len(r.Hits), r.PageStart, r.PageEnd)
		}
		for _, hit := range r.Hits {
			l, _ := g.ByID(hit.ID)
			if !matches(alternates, l, text) {
				t.Fatalf("%q finds %v", text, l)
			}
		}
		for _, form := range forms(text) {
			if again := forms(form); len(again) != 1 || again[0] != form {
				t.Fatalf("%q is folded to %q, and that to %q", text, form, again)
			}
		}
	})
}

// alternatesAround returns the alternate names of the containers of locations.
func alternatesAround(g *Gazetteer) map[container][]string {
	names := map[container][]string{}
	for l := range g.All() {
		switch l.Type {
		case Country:
			names[container{country: l.Name}] = l.Alternates
		case Region:
			names[container{l.Name, l.Country}] = l.Alternates
		}
	}
	return names
}

// matches reports whether a text finds a location, as Search defines it.
func matches(alternates map[container][]string, l Location, text string) bool {
	var words []string
	add := func(names ...string) {
		for _, name := range names {
			for _, form := range forms(name) {
				words = append(words, strings.Fields(form)...)
			}
		}
	}
	for _, name := range append([]string{l.Name}, l.Alternates...) {
		for _, form := range forms(name) {
			for _, whole := range forms(text) {
				if strings.HasPrefix(form, whole) || nearly(form, whole) {
					return true
				}
			}
		}
		add(name)
	}
	for _, around := range []container{{country: l.Country}, {l.Region, l.Country}} {
		add(around.region, around.country)
		add(alternates[around]...)
	}
	for _, form := range forms(text) {
		if !slices.ContainsFunc(strings.Fields(form), func(part string) bool {
			return !slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, part) || nearly(word, part) })
		}) {
			return true
		}
	}
	return false
}

// nearly reports whether two words differ by one typing error.
func nearly(word, typed string) bool {
	w, t := []rune(word), []rune(typed)
	if len(t) < minTypoRunes || len(t) > maxTypoRunes || max(len(w)-len(t), len(t)-len(w)) > 1 {
		return false
	}
	for len(w) > 0 && len(t) > 0 && w[0] == t[0] {
		w, t = w[1:], t[1:]
	}
	for len(w) > 0 && len(t) > 0 && w[len(w)-1] == t[len(t)-1] {
		w, t = w[:len(w)-1], t[:len(t)-1]
	}
	return len(w)+len(t) == 1 || len(w) == 1 && len(t) == 1 || len(w) == 2 && len(t) == 2 && w[0] == t[1] && w[1] == t[0]
}
