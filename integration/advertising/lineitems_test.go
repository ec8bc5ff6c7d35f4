package advertising

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"marquee/integration/process"
	"marquee/integration/service"
)

// warned lists the codes of the warnings of a line item.
func warned(c *service.Conversation, id string) []string {
	c.Helper()
	return warnings(c.Send("GET", "/api/v1/lineitems/"+id+"?context=main", "", 200, "").JSON())
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
func lineItemsWith(c *service.Conversation, where string) (all, warned int) {
	c.Helper()
	count := func(more string) int {
		list, _ := c.Send("GET", "/api/v1/lineitems?context=main&pageSize=1&where="+where+more, "", 200, "").JSON().(map[string]any)
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
func TestManyLineItemsOfATier(t *testing.T) { service.EachStore(t, testManyLineItemsOfATier) }

func testManyLineItemsOfATier(t *testing.T, fresh service.NewStore) {
	process.SkipCoveredBy(t, "TestDependantsFollow")
	process.SkipSequential(t)
	many := 5000
	if testing.Short() || service.RaceDetector {
		many = 2000
	}
	c := service.Converse(t, fresh)
	c.LineItemParts()
	for from := 0; from < many; from += 500 {
		var items, creatives []string
		for i := from; i < from+500; i++ {
			items = append(items, service.Well(fmt.Sprintf("l%05d", i), ""))
			creatives = append(creatives, service.Creative(fmt.Sprintf("c%05d", i), fmt.Sprintf("l%05d", i)))
		}
		c.Send("POST", "/api/v1/lineitems?context=main", "["+strings.Join(items, ",")+"]", 200, "")
		c.Send("POST", "/api/v1/creatives?context=main", "["+strings.Join(creatives, ",")+"]", 200, "")
	}
	expect := func(warned int) {
		t.Helper()
		if all, n := lineItemsWith(c, "tier=t"); all != many || n != warned {
			t.Fatalf("%d of %d line items are warned, not %d", n, all, warned)
		}
	}
	expect(0)
	c.Send("POST", "/api/v1/tiers/t?context=main", `{"objectState": "INACTIVE"}`, 200, "")
	expect(0)
	c.Follow()
	expect(many)
	// A creative and the tier have changed the warnings of each, and no version.
	c.Send("GET", "/api/v1/audit?context=main&type=lineitems&pageSize=1", "", 200, fmt.Sprintf(`{"totalCount": %d}`, many))
	lineItemRows(c, 3*many)
	c.Send("POST", "/api/v1/tiers/t?context=main", `{"objectState": "ACTIVE"}`, 200, "")
	c.Follow()
	expect(0)
	// The site of none of them, and what follows in the same call, is refused.
	c.Send("POST", "/api/v1/batch?context=main", `{"operations": [{"type": "tiers", "object": {"id": "t", "objectState": "INACTIVE"}},
		{"type": "tiers", "object": {"id": "u"}}]}`, 422, "")
	c.Follow()
	expect(0)
	// All creatives in one call each, of line items that have no other.
	for from := 0; from < many; from += 1000 {
		var list []string
		for i := from; i < from+1000; i++ {
			list = append(list, fmt.Sprintf(`{"id": "c%05d", "userState": "PAUSED"}`, i))
		}
		c.Send("POST", "/api/v1/creatives?context=main", "["+strings.Join(list, ",")+"]", 200, "")
	}
	expect(many)
}

// lineItemRows expects the feed to have a number of rows of line items, in all
// networks.
func lineItemRows(c *service.Conversation, want int) {
	c.Helper()
	n := 0
	for key, rows := range c.RowsOfFeed() {
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
func TestManyCreativesOfALineItem(t *testing.T) { service.EachStore(t, testManyCreativesOfALineItem) }

func testManyCreativesOfALineItem(t *testing.T, fresh service.NewStore) {
	process.SkipCoveredBy(t, "TestDependantsFollow")
	process.SkipSequential(t)
	const many = 3000
	c := service.Converse(t, fresh)
	c.LineItemParts()
	c.Send("POST", "/api/v1/lineitems/l?context=main", service.Well("l", ""), 201, "")
	write := func(from, to int, object func(id string) string) {
		t.Helper()
		var list []string
		for i := from; i < to; i++ {
			list = append(list, object(fmt.Sprintf("c%05d", i)))
		}
		c.Send("POST", "/api/v1/creatives?context=main", "["+strings.Join(list, ",")+"]", 200, "")
	}
	pause := func(id string) string { return fmt.Sprintf(`{"id": %q, "userState": "PAUSED"}`, id) }
	for from := 0; from < many; from += 1000 {
		write(from, from+1000, func(id string) string { return service.Creative(id, "l") })
	}
	write(0, 1000, pause)
	write(1000, 2000, pause)
	write(2000, many-1, pause)
	// Its creatives have written it once, when the first of them came.
	c.Send("GET", "/api/v1/audit?context=main&type=lineitems&id=l", "", 200, `{"totalCount": 1}`)
	lineItemRows(c, 2)
	if codes := warned(c, "l"); len(codes) > 0 {
		t.Error("with one of many left:", codes)
	}
	write(many-1, many, pause)
	if codes := warned(c, "l"); !slices.Equal(codes, []string{"no.creative"}) {
		t.Error("with none of many left:", codes)
	}
}

// TestEndDatesPass lets the end dates of many line items pass at once, in
// several networks, while other times go on.
func TestEndDatesPass(t *testing.T) { service.EachStore(t, testEndDatesPass) }

func testEndDatesPass(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	const many = 1200 // more than are reviewed in one transaction
	c := service.Converse(t, fresh)
	at := func(d time.Duration) string { return c.Service.Clock.Now().Add(d).UTC().Format(time.RFC3339) }
	c.Send("POST", "/api/v1/networks/east", `{"name": "East"}`, 201, "")
	soon, later := at(10*time.Minute), at(50*time.Minute)
	for network, n := range map[string]int{"main": many, "east": 3} {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"id": "l%d", "name": "L", "endDate": %q}`, i, soon))
		}
		for part := range slices.Chunk(list, 1000) {
			c.Send("POST", "/api/v1/lineitems?context="+network, "["+strings.Join(part, ",")+"]", 200, "")
		}
		c.Send("POST", "/api/v1/lineitems/later?context="+network, fmt.Sprintf(`{"name": "Later", "endDate": %q}`, later), 201, "")
		c.Send("POST", "/api/v1/lineitems/never?context="+network, `{"name": "Never"}`, 201, "")
	}
	pass := func() {
		t.Helper()
		if err := c.Service.Pass(); err != nil {
			t.Fatal(err)
		}
	}
	ended := func(network string) (n int) {
		t.Helper()
		for page := 0; ; page++ {
			list, _ := c.Send("GET", fmt.Sprintf("/api/v1/lineitems?context=%s&pageSize=1000&page=%d&fields=validationWarnings", network, page), "", 200, "").JSON().(map[string]any)
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
		c.Service.Clock.Advance(step.after)
		pass()
		if main, east := ended("main"), ended("east"); main != step.main || east != step.east {
			t.Fatalf("%v later, %d and %d have ended, not %d and %d", step.after, main, east, step.main, step.east)
		}
	}
	// One write each, and none by the passes that found nothing new.
	c.Send("GET", "/api/v1/audit?context=main&type=lineitems&pageSize=1", "", 200, fmt.Sprintf(`{"totalCount": %d}`, many+2))
	lineItemRows(c, 2*many+3+2*3+2+1)
	// A line item that was moved is warned when its new time has come.
	c.Send("POST", "/api/v1/lineitems/l0?context=main", fmt.Sprintf(`{"endDate": %q}`, at(2*time.Minute)), 200, "")
	pass()
	if slices.Contains(warned(c, "l0"), "ended") {
		t.Error("moved, and still warned")
	}
	c.Service.Clock.Advance(3 * time.Minute)
	pass()
	if !slices.Contains(warned(c, "l0"), "ended") {
		t.Error("its new time has passed, and it is not warned")
	}
}

// TestClockInterval: a service that never looks is none.
func TestClockInterval(t *testing.T) {
	t.Parallel()
	for _, interval := range []string{"0s", "-1s", "often"} {
		process.Wants(t, process.Fails(t, nil, "serve", "--store", service.NewSQLite(t), "--clock-interval="+interval), "--clock-interval")
	}
}

// TestEndDatePassesInTheProgram waits until the real program has noticed that an
// end date has passed, and stops the program.
func TestEndDatePassesInTheProgram(t *testing.T) { service.EachStore(t, testEndDatePassesInTheProgram) }

func testEndDatePassesInTheProgram(t *testing.T, fresh service.NewStore) {
	process.SkipCoveredBy(t, "TestEndDatesPass")
	store := fresh(t)
	p := process.Serve(t, store, "--clock-interval", "50ms")
	p.SignIn("admin", process.Password)
	const path = "/api/v1/lineitems/l?context=main"
	end := time.Now().Add(2 * time.Second)
	p.Ask(http.StatusCreated, http.MethodPost, path, fmt.Sprintf(`{"name": "L", "endDate": %q}`, end.UTC().Format(time.RFC3339Nano)))
	await := func() {
		t.Helper()
		for deadline := time.Now().Add(service.Patience); ; <-time.After(20 * time.Millisecond) {
			a := p.Ask(http.StatusOK, http.MethodGet, path, "")
			ended := slices.Contains(warnings(a.JSON()), "ended")
			switch {
			case ended && time.Now().Before(end):
				t.Fatal("it is warned before its end")
			case ended:
				return
			case time.Now().After(deadline):
				t.Fatalf("its end has passed, and it is not warned: %s", a.Body)
			}
		}
	}
	await()
	// One whose end may pass while nobody serves.
	end = time.Now().Add(100 * time.Millisecond)
	p.Ask(http.StatusOK, http.MethodPost, path, fmt.Sprintf(`{"endDate": %q}`, end.UTC().Format(time.RFC3339Nano)))
	p.Stop()
	q := process.Serve(t, store, "--clock-interval", "50ms")
	q.Token, p = p.Token, q
	await()
	p.Stop()
	for line := range strings.Lines(p.Stderr.String()) {
		if entry := service.Entry(line); entry["level"] != "INFO" {
			t.Errorf("the log says: %s", line)
		}
	}
}
