package integration

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// TestCallsAreBoundedByWhatTheyChange: a call that is small itself and changes
// too much that is large is refused; what follows from a call is written in
// rounds.
func TestCallsAreBoundedByWhatTheyChange(t *testing.T) {
	eachStore(t, testCallsAreBoundedByWhatTheyChange)
}

func testCallsAreBoundedByWhatTheyChange(t *testing.T, fresh newStore) {
	skipSequential(t)
	c := converse(t, fresh)
	c.patiently()
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
		c.send("POST", "/api/v1/layouts?context=main", many(from, from+15, large), 200, "")
	}
	c.send("POST", "/api/v1/layouts?context=main", many(0, 75, `"name": "M"`), 413, tooLarge)
	c.send("POST", "/api/v1/layouts?context=main", many(0, 10, `"name": "M"`), 200, `{"totalCount": 10}`)
	c.send("GET", "/api/v1/layouts?context=main&fields=id&where=name=M", "", 200, `{"totalCount": 10}`)

	library := func(characters int) string {
		var b strings.Builder
		for i := range 10 {
			fmt.Fprintf(&b, `,"s%d": %q`, i, strings.Repeat("y", characters))
		}
		return `{"name": "L", "layout": "n00", "verifiedSafe": true, "dimensionType": "FLEXIBLE", "layoutParameters": {` + b.String()[1:] + `}}`
	}
	taking := `"name": "C", "libraryCreative": "lib"`
	c.send("POST", "/api/v1/librarycreatives/lib?context=main", library(1), 201, "")
	c.send("POST", "/api/v1/creatives?context=main", many(0, 75, taking), 200, "")
	c.send("POST", "/api/v1/librarycreatives/lib?context=main", library(99_000), 200, "")
	got := c.send("GET", "/api/v1/creatives/n74?context=main&fields=layoutParameters", "", 200, "")
	if len(got.body) < 990_000 {
		t.Errorf("the creative has %d bytes: %.200s", len(got.body), got.body)
	}
	c.send("POST", "/api/v1/creatives?context=main", strings.ReplaceAll(many(0, 75, taking), `"id": "n`, `"id": "m`), 413, tooLarge)
}

// TestMemoryIsWaitedForOutsideOfTransactions: small calls that change large
// objects need more memory than they have taken, and find out in their
// transactions. Those that have to wait for it hold up no other transaction,
// least of all one that has the memory.
func TestMemoryIsWaitedForOutsideOfTransactions(t *testing.T) {
	eachStore(t, testMemoryIsWaitedForOutsideOfTransactions)
}

func testMemoryIsWaitedForOutsideOfTransactions(t *testing.T, fresh newStore) {
	const calls = 16
	c := converse(t, fresh)
	large := fmt.Sprintf(`{"name": "L", "html": %q}`, strings.Repeat("x", 350_000))
	path := func(i int) string { return fmt.Sprintf("/api/v1/layouts/n%d?context=main", i) }
	for i := range calls {
		c.send("POST", path(i), large, 201, "")
	}
	c.s.stop()
	c.s.memory = 16 << 20 // which two of them need
	c.s.start()
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			a, err := c.s.send("POST", path(i), http.Header{"Authorization": {"Bearer " + c.token}}, strings.NewReader(`{"name": "M"}`))
			if err != nil || a.status != 200 {
				t.Errorf("%v %.300s", err, a.body)
			}
		})
	}
	all.Wait()
}
