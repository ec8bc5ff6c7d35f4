// Package location searches the countries, regions and cities of the world, which
// are embedded in the program or imported. Only lookup.go and imported.go may import
// the engine; begin with Lookup for the service, or Gazetteer.Search for the search.
//
// The embedded data is derived from the GeoNames geographical database
// (https://www.geonames.org), which is licensed under the Creative Commons
// Attribution 4.0 License (https://creativecommons.org/licenses/by/4.0/).
// README.md describes the selection and the changes.
package location

import (
	"cmp"
	"iter"
	"slices"
)

//go:generate go run ./generate -o gazetteer.tsv.zst

// Type is the type of a location.
type Type string

const (
	City    Type = "CITY"
	Region  Type = "REGION"
	Country Type = "COUNTRY"
)

// Types has all types.
var Types = []Type{City, Country, Region}

// Location is a country, region or city. The ids of embedded locations are those of
// GeoNames, which do not change between releases of the data.
type Location struct {
	ID   int64
	Type Type
	Name string
	// Alternates are further names for the search, which are never shown.
	Alternates []string
	// Region and Country are the names of those around it; either may be empty.
	Region, Country string
	// Population ranks locations of the same name. For embedded regions it is
	// approximate, as the sum over their cities.
	Population int64
}

// Context returns "Region, Country".
func (l Location) Context() string {
	if l.Region == "" || l.Country == "" {
		return l.Region + l.Country
	}
	return l.Region + ", " + l.Country
}

// Gazetteer answers searches over a fixed set of locations. It is safe for
// concurrent use.
type Gazetteer struct {
	// locations are in the order of rank. A set of indexes into them is read best
	// first, so that searches never sort.
	locations []Location
	byID      map[int64]uint32
	// byType has the locations of each type, and large the cities and countries with
	// a population above largePopulation.
	byType map[Type]set
	large  set

	index index
	// containers has the locations in each container.
	containers [][]uint32
}

// largePopulation is the population above which a location that has an alternate name
// ranks among those with that name.
const largePopulation = 1_000_000

// New returns a gazetteer. Of several locations with the same id, it uses the last,
// so that appending to the locations of a gazetteer changes or extends it. The caller
// must not change the alternates afterwards.
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
	ranks := ranksOf(locations)
	slices.SortFunc(order, func(i, j uint32) int {
		return cmp.Or(cmp.Compare(ranks[j], ranks[i]), cmp.Compare(locations[i].ID, locations[j].ID))
	})
	g.locations = make([]Location, len(order))
	for at, i := range order {
		g.locations[at] = locations[i]
	}
	g.large, g.byType = newSet(len(g.locations)), map[Type]set{}
	for _, t := range Types {
		g.byType[t] = newSet(len(g.locations))
	}
	for i, l := range g.locations {
		g.byID[l.ID] = uint32(i)
		if of, known := g.byType[l.Type]; known {
			of.add(uint32(i))
		}
		if l.Population > largePopulation && l.Type != Region {
			g.large.add(uint32(i))
		}
	}
	g.makeIndex()
	return g
}

func (g *Gazetteer) makeIndex() {
	b := newBuilder(len(g.locations))
	around := newSurroundings(b)
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
		around.add(at, l)
	}
	// A container has the alternate names of the location that it is.
	for _, l := range g.locations {
		switch l.Type {
		case Country:
			around.name(container{country: l.Name}, l.Alternates)
		case Region:
			around.name(container{l.Name, l.Country}, l.Alternates)
		}
	}
	g.containers = around.members
	g.index = b.index()
}

// Len returns the number of locations.
func (g *Gazetteer) Len() int { return len(g.locations) }

// All returns an iterator over the locations in the order of rank.
func (g *Gazetteer) All() iter.Seq[Location] { return slices.Values(g.locations) }

// ByID returns the location with an id.
func (g *Gazetteer) ByID(id int64) (Location, bool) {
	at, known := g.byID[id]
	if !known {
		return Location{}, false
	}
	return g.locations[at], true
}
