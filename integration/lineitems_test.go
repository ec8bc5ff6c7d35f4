package integration

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// well is a line item that has all it needs but a creative; its order is o, its
// tier t.
func well(id, more string) string {
	return fmt.Sprintf(`{"id": %q, "name": "L", "order": "o", "tier": "t", "objectives": {"CLICK": 1}, "bidSpecification": {"cpm": {"amount": 1, "currency": "EUR"}}%s}`, id, more)
}

// lineItemParts makes what the line items of a test refer to.
func (c *conversation) lineItemParts() {
	c.Helper()
	c.send("POST", "/api/v1/batch?context=main", `{"operations": [{"type": "orders", "object": {"id": "o", "name": "O"}},
		{"type": "tiers", "object": {"id": "t", "name": "T"}}, {"type": "sites", "object": {"id": "s", "name": "S"}},
		{"type": "layouts", "object": {"id": "plain", "name": "Plain", "html": "<b></b>"}}]}`, 200, "")
}

// creative is one that can be shown.
func creative(id, lineItem string) string {
	return fmt.Sprintf(`{"id": %q, "name": "C", "lineItem": %q, "layout": "plain", "width": 1, "height": 1, "verifiedSafe": true}`, id, lineItem)
}

// warned lists the codes of the warnings of a line item.
func (c *conversation) warned(id string) []string {
	c.Helper()
	return warnings(c.send("GET", "/api/v1/lineitems/"+id+"?context=main", "", 200, "").json())
}

func warnings(object any) (codes []string) {
	members, _ := object.(map[string]any)
	list, _ := members["validationWarnings"].([]any)
	for _, entry := range list {
		warning, _ := entry.(map[string]any)
		codes = append(codes, strings.TrimPrefix(fmt.Sprint(warning["code"]), "warning.line.item."))
	}
	slices.Sort(codes)
	return codes
}

// lineItemsWith counts line items, and those with a warning.
func (c *conversation) lineItemsWith(where string) (all, warned int) {
	c.Helper()
	count := func(more string) int {
		list, _ := c.send("GET", "/api/v1/lineitems?context=main&pageSize=1&where="+where+more, "", 200, "").json().(map[string]any)
		var n int
		_, _ = fmt.Sscan(fmt.Sprint(list["totalCount"]), &n)
		return n
	}
	all = count("")
	return all, all - count("&excludeInvalid=true")
}

// TestManyLineItemsOfATier changes the state of a tier that many line items use,
// more than a call writes: each of them is judged anew once it has followed, and
// none when the call is refused.
func TestManyLineItemsOfATier(t *testing.T) { eachStore(t, testManyLineItemsOfATier) }

func testManyLineItemsOfATier(t *testing.T, fresh newStore) {
	skipSequential(t)
	many := 5000
	if testing.Short() || procRace {
		many = 2000
	}
	c := converse(t, fresh)
	c.lineItemParts()
	for from := 0; from < many; from += 500 {
		var items, creatives []string
		for i := from; i < from+500; i++ {
			items = append(items, well(fmt.Sprintf("l%05d", i), ""))
			creatives = append(creatives, creative(fmt.Sprintf("c%05d", i), fmt.Sprintf("l%05d", i)))
		}
		c.send("POST", "/api/v1/lineitems?context=main", "["+strings.Join(items, ",")+"]", 200, "")
		c.send("POST", "/api/v1/creatives?context=main", "["+strings.Join(creatives, ",")+"]", 200, "")
	}
	expect := func(warned int) {
		t.Helper()
		if all, n := c.lineItemsWith("tier=t"); all != many || n != warned {
			t.Fatalf("%d of %d line items are warned, not %d", n, all, warned)
		}
	}
	expect(0)
	c.send("POST", "/api/v1/tiers/t?context=main", `{"objectState": "INACTIVE"}`, 200, "")
	expect(0)
	c.follow()
	expect(many)
	// A creative and the tier have changed the warnings of each, and no version.
	c.send("GET", "/api/v1/audit?context=main&type=lineitems&pageSize=1", "", 200, fmt.Sprintf(`{"totalCount": %d}`, many))
	c.lineItemRows(3 * many)
	c.send("POST", "/api/v1/tiers/t?context=main", `{"objectState": "ACTIVE"}`, 200, "")
	c.follow()
	expect(0)
	// The site of none of them, and what follows in the same call, is refused.
	c.send("POST", "/api/v1/batch?context=main", `{"operations": [{"type": "tiers", "object": {"id": "t", "objectState": "INACTIVE"}},
		{"type": "tiers", "object": {"id": "u"}}]}`, 422, "")
	c.follow()
	expect(0)
	// All creatives in one call each, of line items that have no other.
	for from := 0; from < many; from += 1000 {
		var list []string
		for i := from; i < from+1000; i++ {
			list = append(list, fmt.Sprintf(`{"id": "c%05d", "userState": "PAUSED"}`, i))
		}
		c.send("POST", "/api/v1/creatives?context=main", "["+strings.Join(list, ",")+"]", 200, "")
	}
	expect(many)
}

// lineItemRows expects the feed to have a number of rows of line items, in all
// networks.
func (c *conversation) lineItemRows(want int) {
	c.Helper()
	n := 0
	for key, rows := range c.rowsOfFeed() {
		if strings.HasPrefix(key, "lineitems") {
			n += len(rows)
		}
	}
	if n != want {
		c.Errorf("the feed has %d rows of line items, not %d", n, want)
	}
}

// TestManyCreativesOfALineItem pauses all of the thousands of creatives that a
// line item has but one, and then that one.
func TestManyCreativesOfALineItem(t *testing.T) { eachStore(t, testManyCreativesOfALineItem) }

func testManyCreativesOfALineItem(t *testing.T, fresh newStore) {
	skipSequential(t)
	const many = 3000
	c := converse(t, fresh)
	c.lineItemParts()
	c.send("POST", "/api/v1/lineitems/l?context=main", well("l", ""), 201, "")
	write := func(from, to int, object func(id string) string) {
		t.Helper()
		var list []string
		for i := from; i < to; i++ {
			list = append(list, object(fmt.Sprintf("c%05d", i)))
		}
		c.send("POST", "/api/v1/creatives?context=main", "["+strings.Join(list, ",")+"]", 200, "")
	}
	pause := func(id string) string { return fmt.Sprintf(`{"id": %q, "userState": "PAUSED"}`, id) }
	for from := 0; from < many; from += 1000 {
		write(from, from+1000, func(id string) string { return creative(id, "l") })
	}
	write(0, 1000, pause)
	write(1000, 2000, pause)
	write(2000, many-1, pause)
	// Its creatives have written it once, when the first of them came.
	c.send("GET", "/api/v1/audit?context=main&type=lineitems&id=l", "", 200, `{"totalCount": 1}`)
	c.lineItemRows(2)
	if codes := c.warned("l"); len(codes) > 0 {
		t.Error("with one of many left:", codes)
	}
	write(many-1, many, pause)
	if codes := c.warned("l"); !slices.Equal(codes, []string{"no.creative"}) {
		t.Error("with none of many left:", codes)
	}
}

// TestEndDatesPass lets the end dates of many line items pass at once, in
// several networks, while other times go on.
func TestEndDatesPass(t *testing.T) { eachStore(t, testEndDatesPass) }

func testEndDatesPass(t *testing.T, fresh newStore) {
	skipSequential(t)
	const many = 1200 // more than are reviewed in one transaction
	c := converse(t, fresh)
	at := func(d time.Duration) string { return c.s.clock.now().Add(d).UTC().Format(time.RFC3339) }
	c.send("POST", "/api/v1/networks/east", `{"name": "East"}`, 201, "")
	soon, later := at(10*time.Minute), at(50*time.Minute)
	for network, n := range map[string]int{"main": many, "east": 3} {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"id": "l%d", "name": "L", "endDate": %q}`, i, soon))
		}
		for part := range slices.Chunk(list, 1000) {
			c.send("POST", "/api/v1/lineitems?context="+network, "["+strings.Join(part, ",")+"]", 200, "")
		}
		c.send("POST", "/api/v1/lineitems/later?context="+network, fmt.Sprintf(`{"name": "Later", "endDate": %q}`, later), 201, "")
		c.send("POST", "/api/v1/lineitems/never?context="+network, `{"name": "Never"}`, 201, "")
	}
	pass := func() {
		t.Helper()
		if err := c.s.pass(); err != nil {
			t.Fatal(err)
		}
	}
	ended := func(network string) (n int) {
		t.Helper()
		for page := 0; ; page++ {
			list, _ := c.send("GET", fmt.Sprintf("/api/v1/lineitems?context=%s&pageSize=1000&page=%d&fields=validationWarnings", network, page), "", 200, "").json().(map[string]any)
			results, _ := list["results"].([]any)
			for _, object := range results {
				if slices.Contains(warnings(object), "ended") {
					n++
				}
			}
			if len(results) < 1000 {
				return n
			}
		}
	}
	for _, step := range []struct {
		after      time.Duration
		main, east int
	}{{0, 0, 0}, {9 * time.Minute, 0, 0}, {2 * time.Minute, many, 3}, {time.Minute, many, 3}, {40 * time.Minute, many + 1, 4}} {
		c.s.clock.advance(step.after)
		pass()
		if main, east := ended("main"), ended("east"); main != step.main || east != step.east {
			t.Fatalf("%v later, %d and %d have ended, not %d and %d", step.after, main, east, step.main, step.east)
		}
	}
	// One write each, and none by the passes that found nothing new.
	c.send("GET", "/api/v1/audit?context=main&type=lineitems&pageSize=1", "", 200, fmt.Sprintf(`{"totalCount": %d}`, many+2))
	c.lineItemRows(2*many + 3 + 2*3 + 2 + 1)
	// A line item that was moved is warned when its new time has come.
	c.send("POST", "/api/v1/lineitems/l0?context=main", fmt.Sprintf(`{"endDate": %q}`, at(2*time.Minute)), 200, "")
	pass()
	if slices.Contains(c.warned("l0"), "ended") {
		t.Error("moved, and still warned")
	}
	c.s.clock.advance(3 * time.Minute)
	pass()
	if !slices.Contains(c.warned("l0"), "ended") {
		t.Error("its new time has passed, and it is not warned")
	}
}

// TestClockInterval: a service that never looks is none.
func TestClockInterval(t *testing.T) {
	t.Parallel()
	for _, interval := range []string{"0s", "-1s", "often"} {
		procWants(t, procFails(t, nil, "serve", "--store", newSQLite(t), "--clock-interval="+interval), "--clock-interval")
	}
}

// TestEndDatePassesInTheProgram waits until the real program has noticed that an
// end date has passed, and stops the program.
func TestEndDatePassesInTheProgram(t *testing.T) { eachStore(t, testEndDatePassesInTheProgram) }

func testEndDatePassesInTheProgram(t *testing.T, fresh newStore) {
	store := fresh(t)
	p := procServe(t, store, "--clock-interval", "50ms")
	p.signIn("admin", procPassword)
	const path = "/api/v1/lineitems/l?context=main"
	end := time.Now().Add(2 * time.Second)
	p.ask(http.StatusCreated, http.MethodPost, path, fmt.Sprintf(`{"name": "L", "endDate": %q}`, end.UTC().Format(time.RFC3339Nano)))
	await := func() {
		t.Helper()
		for deadline := time.Now().Add(procPatience); ; {
			a := p.ask(http.StatusOK, http.MethodGet, path, "")
			ended := slices.Contains(warnings(a.json()), "ended")
			switch {
			case ended && time.Now().Before(end):
				t.Fatal("it is warned before its end")
			case ended:
				return
			case time.Now().After(deadline):
				t.Fatalf("its end has passed, and it is not warned: %s", a.body)
			}
		}
	}
	await()
	// One whose end may pass while nobody serves.
	end = time.Now().Add(100 * time.Millisecond)
	p.ask(http.StatusOK, http.MethodPost, path, fmt.Sprintf(`{"endDate": %q}`, end.UTC().Format(time.RFC3339Nano)))
	p.stop()
	q := procServe(t, store, "--clock-interval", "50ms")
	q.token, p = p.token, q
	await()
	p.stop()
	for line := range strings.Lines(p.stderr.String()) {
		if entry := procEntry(line); entry["level"] != "INFO" {
			t.Errorf("the log says: %s", line)
		}
	}
}
