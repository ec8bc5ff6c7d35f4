package integration

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestCallsAreBoundedByWhatTheyChange: a call that is small itself and changes
// too much that is large is refused; what follows from a call is written in
// rounds.
func TestCallsAreBoundedByWhatTheyChange(t *testing.T) {
	service.EachStore(t, testCallsAreBoundedByWhatTheyChange)
}

func testCallsAreBoundedByWhatTheyChange(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	c := service.Converse(t, fresh)
	c.Patiently()
	many := func(from, to int, object string) string {
		var b strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, `,{"id": "n%02d", %s}`, i, object)
		}
		return "[" + b.String()[1:] + "]"
	}
	tooLarge := `{"messages": [{"code": "error.batch.too.large"}]}`
	large := fmt.Sprintf(`"name": "L", "html": %q`, strings.Repeat("x", 990_000))
	for from := 0; from < 75; from += 15 {
		c.Send("POST", "/api/v1/layouts?context=main", many(from, from+15, large), 200, "")
	}
	c.Send("POST", "/api/v1/layouts?context=main", many(0, 75, `"name": "M"`), 413, tooLarge)
	c.Send("POST", "/api/v1/layouts?context=main", many(0, 10, `"name": "M"`), 200, `{"totalCount": 10}`)
	c.Send("GET", "/api/v1/layouts?context=main&fields=id&where=name=M", "", 200, `{"totalCount": 10}`)

	library := func(characters int) string {
		var b strings.Builder
		for i := range 10 {
			fmt.Fprintf(&b, `,"s%d": %q`, i, strings.Repeat("y", characters))
		}
		return `{"name": "L", "layout": "n00", "verifiedSafe": true, "dimensionType": "FLEXIBLE", "layoutParameters": {` + b.String()[1:] + `}}`
	}
	taking := `"name": "C", "libraryCreative": "lib"`
	c.Send("POST", "/api/v1/librarycreatives/lib?context=main", library(1), 201, "")
	c.Send("POST", "/api/v1/creatives?context=main", many(0, 75, taking), 200, "")
	c.Send("POST", "/api/v1/librarycreatives/lib?context=main", library(99_000), 200, "")
	got := c.Send("GET", "/api/v1/creatives/n74?context=main&fields=layoutParameters", "", 200, "")
	if len(got.Body) < 990_000 {
		t.Errorf("the creative has %d bytes: %.200s", len(got.Body), got.Body)
	}
	c.Send("POST", "/api/v1/creatives?context=main", strings.ReplaceAll(many(0, 75, taking), `"id": "n`, `"id": "m`), 413, tooLarge)
}

// TestMemoryIsWaitedForOutsideOfTransactions: small calls that change large
// objects need more memory than they have taken, and find out in their
// transactions. Those that have to wait for it hold up no other transaction,
// least of all one that has the memory.
func TestMemoryIsWaitedForOutsideOfTransactions(t *testing.T) {
	service.EachStore(t, testMemoryIsWaitedForOutsideOfTransactions)
}

func testMemoryIsWaitedForOutsideOfTransactions(t *testing.T, fresh service.NewStore) {
	const calls = 16
	c := service.Converse(t, fresh)
	large := fmt.Sprintf(`{"name": "L", "html": %q}`, strings.Repeat("x", 350_000))
	path := func(i int) string { return fmt.Sprintf("/api/v1/layouts/n%d?context=main", i) }
	for i := range calls {
		c.Send("POST", path(i), large, 201, "")
	}
	c.Service.Stop()
	c.Service.Memory = 16 << 20 // which two of them need
	c.Service.Start()
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			a, err := c.Service.Send("POST", path(i), http.Header{"Authorization": {"Bearer " + c.Token}}, strings.NewReader(`{"name": "M"}`))
			if err != nil || a.Status != 200 {
				t.Errorf("%v %.300s", err, a.Body)
			}
		})
	}
	all.Wait()
}
