// Package location is the gazetteer: the cities and regions of the world by
// name and by id. Load gives the one inside the program, Read one's own.
//
// The embedded data is made from the GeoNames geographical database
// (https://www.geonames.org), which is licensed under the Creative Commons
// Attribution 4.0 License (https://creativecommons.org/licenses/by/4.0/).
// README.md says what was taken and changed.
package location

import (
	"cmp"
	"iter"
	"slices"
	"strings"
)

//go:generate go run ./generate -o gazetteer.tsv.zst

// Type says what a location is.
type Type string

const (
	City   Type = "CITY"
	Region Type = "REGION"
)

// Location is one place. The ids of the embedded ones are GeoNames', which
// stay the same over releases of the data.
type Location struct {
	ID   int64
	Type Type
	Name string
	// Alternates are further names, by which it is found and never shown.
	Alternates []string
	// Region and Country are the places around it; either may be empty.
	Region, Country string
	// Population ranks locations of the same name. For the embedded regions
	// it is the sum of their places, an approximation.
	Population int64
}

// Context is the places around it: "Region, Country".
func (l Location) Context() string {
	if l.Region == "" || l.Country == "" {
		return l.Region + l.Country
	}
	return l.Region + ", " + l.Country
}

// Gazetteer answers searches over a fixed set of locations. It is safe for
// concurrent use.
type Gazetteer struct {
	// locations stand in the order of rank: an index into them is a rank, so
	// that a set of indexes is read best first, and nothing is ever sorted.
	locations []Location
	byID      map[int64]uint32
	regions   set

	index index
}

// New makes a gazetteer. Of several locations with the same id, the last
// counts: to change or extend a gazetteer, append to what it holds. The
// alternates become the gazetteer's: the caller must not change them.
func New(locations []Location) *Gazetteer {
	g := &Gazetteer{byID: make(map[int64]uint32, len(locations))}
	for i, l := range locations {
		g.byID[l.ID] = uint32(i)
	}
	order := make([]uint32, 0, len(g.byID))
	for i, l := range locations {
		if g.byID[l.ID] == uint32(i) {
			order = append(order, uint32(i))
		}
	}
	slices.SortFunc(order, func(i, j uint32) int {
		a, b := &locations[i], &locations[j]
		return cmp.Or(cmp.Compare(b.Population, a.Population), cmp.Compare(a.ID, b.ID))
	})
	g.locations = make([]Location, len(order))
	for at, i := range order {
		g.locations[at] = locations[i]
	}
	g.regions = newSet(len(g.locations))
	for i, l := range g.locations {
		g.byID[l.ID] = uint32(i)
		if l.Type == Region {
			g.regions.add(uint32(i))
		}
	}
	g.index = g.makeIndex()
	return g
}

func (g *Gazetteer) makeIndex() index {
	b := newBuilder(len(g.locations))
	contexts := map[[2]string][]uint32{}
	for i, l := range g.locations {
		at := uint32(i)
		for _, name := range forms(l.Name) {
			b.addName(name, at, isName, isNameWord)
		}
		for _, alternate := range l.Alternates {
			for _, name := range forms(alternate) {
				b.addName(name, at, isAlternate, isAlternateWord)
			}
		}
		key := [2]string{l.Region, l.Country}
		words, known := contexts[key]
		if !known {
			for _, form := range append(forms(l.Region), forms(l.Country)...) {
				for word := range strings.FieldsSeq(form) {
					words = append(words, b.number(word))
				}
			}
			contexts[key] = words
		}
		for _, word := range words {
			b.add(word, at, isContextWord)
		}
	}
	return b.index()
}

// Len is how many locations it holds.
func (g *Gazetteer) Len() int { return len(g.locations) }

// All yields the locations, by population.
func (g *Gazetteer) All() iter.Seq[Location] { return slices.Values(g.locations) }

// ByID finds a location.
func (g *Gazetteer) ByID(id int64) (Location, bool) {
	at, known := g.byID[id]
	if !known {
		return Location{}, false
	}
	return g.locations[at], true
}
