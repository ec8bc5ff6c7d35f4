package main

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// common has common names of countries that are in neither GeoNames nor the CLDR.
var common = map[string][]string{
	"AE": {"UAE", "Emirates"},
	"BA": {"Bosnia"},
	"CD": {"DRC", "DR Congo", "Congo Kinshasa", "Zaire"},
	"CF": {"CAR"},
	"CG": {"Congo Brazzaville"},
	"CI": {"Ivory Coast"},
	"CV": {"Cape Verde"},
	"CZ": {"Czech Republic", "Czechia"},
	"DE": {"BRD"},
	"DO": {"Dominican Republic"},
	"GB": {"UK", "Great Britain", "Britain"},
	"KP": {"North Korea", "DPRK"},
	"KR": {"South Korea", "Korea", "ROK"},
	"LA": {"Laos"},
	"MK": {"Macedonia"},
	"MM": {"Burma"},
	"NL": {"Netherlands", "Holland"},
	"NZ": {"Aotearoa"},
	"PG": {"PNG"},
	"PS": {"Palestine"},
	"RU": {"Russia", "Russian Federation"},
	"SA": {"KSA"},
	"SY": {"Syria"},
	"SZ": {"Swaziland"},
	"TL": {"East Timor"},
	"TR": {"Turkey", "Türkiye"},
	"TT": {"Trinidad"},
	"US": {"USA", "United States of America", "America", "The States"},
	"VA": {"Vatican City"},
	"VN": {"Vietnam"},
}

// countryNames returns the names of a country in all languages of the CLDR.
func countryNames(iso string) []string {
	region, err := language.ParseRegion(iso)
	if err != nil {
		return nil
	}
	names := slices.Clone(common[iso])
	for _, tag := range display.Supported.Tags() {
		if namer := display.Regions(tag); namer != nil {
			if name := namer.Name(region); name != iso {
				names = append(names, name)
			}
		}
	}
	return names
}

// codes returns the codes of a country, which alternates drops.
func codes(c *country) []string {
	list := []string{c.ISO, c.ISO3}
	for _, name := range common[c.ISO] {
		if len(name) <= 4 && strings.ToUpper(name) == name {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// abbreviation returns the last part of an ISO 3166-2 code for countries that use it
// in addresses.
func abbreviation(code string) string {
	in, of, _ := strings.Cut(code, "-")
	if slices.Contains([]string{"US", "CA", "AU"}, in) {
		return of
	}
	return ""
}

// scripts has, by ISO 15924 code, the scripts that have another name in Unicode, and
// those that a language mixes.
var scripts = map[string][]*unicode.RangeTable{
	"Arab": {unicode.Arabic},
	"Armn": {unicode.Armenian},
	"Beng": {unicode.Bengali},
	"Cyrl": {unicode.Cyrillic},
	"Deva": {unicode.Devanagari},
	"Ethi": {unicode.Ethiopic},
	"Geor": {unicode.Georgian},
	"Grek": {unicode.Greek},
	"Gujr": {unicode.Gujarati},
	"Guru": {unicode.Gurmukhi},
	"Hans": {unicode.Han},
	"Hant": {unicode.Han},
	"Hebr": {unicode.Hebrew},
	"Jpan": {unicode.Han, unicode.Hiragana, unicode.Katakana},
	"Khmr": {unicode.Khmer},
	"Knda": {unicode.Kannada},
	"Kore": {unicode.Hangul, unicode.Han},
	"Laoo": {unicode.Lao},
	"Mlym": {unicode.Malayalam},
	"Mong": {unicode.Mongolian},
	"Mymr": {unicode.Myanmar},
	"Orya": {unicode.Oriya},
	"Sinh": {unicode.Sinhala},
	"Taml": {unicode.Tamil},
	"Telu": {unicode.Telugu},
	"Thaa": {unicode.Thaana},
	"Thai": {unicode.Thai},
	"Tibt": {unicode.Tibetan},
}

// scriptsOf returns the scripts of languages in the form of GeoNames: "ru,tt".
func scriptsOf(languages string) []*unicode.RangeTable {
	tables := []*unicode.RangeTable{unicode.Latin}
	for code := range strings.SplitSeq(languages, ",") {
		tag, err := language.Parse(code)
		if err != nil {
			continue
		}
		script, _ := tag.Script()
		tables = append(tables, scripts[script.String()]...)
	}
	return tables
}
