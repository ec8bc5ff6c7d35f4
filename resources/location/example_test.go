package location_test

import (
	"fmt"
	"strings"

	"marquee/resources/location"
)

// A text finds names and further names, with or without what is around the place. Load
// returns the locations that are embedded in the program.
func ExampleGazetteer_Search() {
	locations, err := location.Read(strings.NewReader(`
{"id": 1, "type": "CITY", "name": "Paris", "region": "Île-de-France", "country": "France", "population": 2100000}
{"id": 2, "type": "CITY", "name": "Paris", "region": "Texas", "country": "United States", "population": 24000}
{"id": 3, "type": "CITY", "name": "Oslo", "alternateNames": ["Kristiania"], "country": "Norway", "population": 1082575}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	gazetteer := location.New(locations)
	for _, text := range []string{"paris", "paris, texas", "KRISTIANIA", "pariz"} {
		fmt.Println(text)
		for _, hit := range gazetteer.Search(text, 0, 10).Hits {
			fmt.Println(" ", hit.ID, hit.Name, "in", hit.Context)
		}
	}
	// Output:
	// paris
	//   1 Paris in Île-de-France, France
	//   2 Paris in Texas, United States
	// paris, texas
	//   2 Paris in Texas, United States
	// KRISTIANIA
	//   3 Oslo in Norway
	// pariz
	//   1 Paris in Île-de-France, France
	//   2 Paris in Texas, United States
}
