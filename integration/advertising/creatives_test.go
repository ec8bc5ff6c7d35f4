package advertising

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestLibraryReachesMany changes a library creative that as many creatives use as
// a call writes: they all have the change when the call is answered, or none when
// one of them cannot take it.
func TestLibraryReachesMany(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testLibraryReachesMany)
}

func testLibraryReachesMany(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	const creatives = 1000
	last := fmt.Sprintf("c%05d", creatives-1)
	all := fmt.Sprintf(`{"totalCount": %d}`, creatives)
	c := service.Converse(t, fresh)
	filler := strings.Repeat("A long description of a creative. ", 250)
	c.Send("POST", "/api/v1/layouts/l?context=main", `{"name": "L", "html": "<p>{{headline}}</p>"}`, 201, "")
	c.Send("POST", "/api/v1/librarycreatives/lib?context=main",
		`{"name": "Lib", "layout": "l", "layoutParameters": {"headline": "Before"}, "verifiedSafe": true, "dimensionType": "FLEXIBLE"}`, 201, "")
	var body strings.Builder
	for i := range creatives {
		fmt.Fprintf(&body, `,{"id": "c%05d", "name": "C", "libraryCreative": "lib", "description": %q}`, i, filler)
	}
	c.Send("POST", "/api/v1/creatives?context=main", "["+body.String()[1:]+"]", 200, "")
	c.Send("POST", "/api/v1/librarycreatives/lib?context=main", `{"layoutParameters": {"headline": "After"}}`, 200, "")
	c.Send("GET", "/api/v1/creatives?context=main&pageSize=1&where=layoutParameters.headline=After", "", 200, all)
	c.Send("GET", "/api/v1/audit?context=main&type=creatives&pageSize=1", "", 200, fmt.Sprintf(`{"totalCount": %d}`, 2*creatives))
	c.Send("POST", "/api/v1/creatives/"+last+"?context=main", `{"overrideFields": ["width", "height"]}`, 200, "")
	c.Send("POST", "/api/v1/librarycreatives/lib?context=main", `{"dimensionType": "FIXED", "width": 1, "height": 1}`, 422,
		strings.ReplaceAll(`{"messages": ["<any order>", {"params": {"objectId": "LAST", "field": "/width"}}, {"params": {"objectId": "LAST", "field": "/height"}}]}`, "LAST", last))
	c.Send("GET", "/api/v1/creatives?context=main&pageSize=1&where=dimensionType=FLEXIBLE", "", 200, all)
}

// TestRacingLibrary changes a library creative while creatives begin to take its
// values, so that neither sees the other: the passes of the service make up for
// that.
func TestRacingLibrary(t *testing.T) { service.EachStore(t, testRacingLibrary) }

func testRacingLibrary(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	c.Send("POST", "/api/v1/layouts/l?context=main", `{"name": "L", "html": "<p>{{headline}}</p>"}`, 201, "")
	c.Send("POST", "/api/v1/librarycreatives/lib?context=main",
		`{"name": "Lib", "layout": "l", "layoutParameters": {"headline": "0"}, "verifiedSafe": true, "dimensionType": "FLEXIBLE"}`, 201, "")
	const each = 8
	for round := 1; round <= 5; round++ {
		c.Only(c.Race(each+1, func(client int) (string, string, string, http.Header) {
			if client == each {
				return "POST", "/api/v1/librarycreatives/lib?context=main", fmt.Sprintf(`{"layoutParameters": {"headline": "%d"}}`, round), nil
			}
			return "POST", "/api/v1/creatives?context=main", fmt.Sprintf(`{"id": "r%dc%d", "name": "C", "libraryCreative": "lib"}`, round, client), nil
		}), map[int]int{200: each + 1})
		if err := c.Service.Pass(); err != nil {
			t.Fatal(err)
		}
		c.Send("GET", fmt.Sprintf("/api/v1/creatives?context=main&pageSize=1&where=layoutParameters.headline=%d", round), "", 200,
			fmt.Sprintf(`{"totalCount": %d}`, round*each))
	}
}
