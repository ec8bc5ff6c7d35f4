// Command marquee serves the advertising service, or a folder of JSON Schemas, and
// administers its store. It may import package command and resources.
package main

import (
	"marquee/command"
	"marquee/resources"
)

// version is set by the linker (make build, make image).
var version string

func main() {
	service := resources.New()
	command.Program{
		Application: service.Application(),
		Version:     version,
		Optional:    true,
		Settings:    service.Settings(),
		Imports:     map[string]command.Import{"locations": resources.ImportLocations},
		Try: []command.Suggestion{
			{Shows: "a batch that is refused with every fault", Command: `curl -s -H "Authorization: Bearer $TOKEN" "$URL/api/v1/batch?context=$NETWORK" -d '{"operations": [{"type": "orders", "object": {"name": "", "advertiser": "nobody"}}, {"type": "lineitems", "object": {"name": "New", "startDate": "tomorrow"}}]}'`},
			{Shows: "articles found by a sentence", Command: `curl -s -H "Authorization: Bearer $TOKEN" -X POST "$URL/api/v1/targetingquery/articles2?context=$NETWORK&pageSize=2&thresholdScore=0.1&sentence=a+storm+keeps+the+ferries+in+port"`},
		},
	}.Main()
}
