package integration

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"marquee/engine/document"
	"marquee/engine/store"
)

// followWarning is what an answer says when more creatives depend on what was
// changed than a call writes.
const followWarning = `299 marquee "warning.dependants.follow: More creatives depend on this change than one request can write; they are updated soon afterwards."`

// manyDependants is more than a call writes.
func manyDependants() int {
	if testing.Short() || procRace {
		return 1200
	}
	return 5000
}

// libraryCreative makes a library creative with the headline 0, and creatives
// that take it.
func (c *conversation) libraryCreative(creatives int, more string) {
	c.Helper()
	c.send("POST", "/api/v1/layouts/l?context=main", `{"name": "L", "html": "<p>{{headline}}</p>"}`, 201, "")
	c.send("POST", "/api/v1/librarycreatives/lib?context=main",
		`{"name": "Lib", "layout": "l", "layoutParameters": {"headline": "0"}, "verifiedSafe": true, "dimensionType": "FLEXIBLE"}`, 201, "")
	for from := 0; from < creatives; from += 1000 {
		var body strings.Builder
		for i := from; i < min(creatives, from+1000); i++ {
			fmt.Fprintf(&body, `,{"id": "c%05d", "name": "C", "libraryCreative": "lib"%s}`, i, more)
		}
		c.send("POST", "/api/v1/creatives?context=main", "["+body.String()[1:]+"]", 200, "")
	}
}

// headline changes the headline of the library creative.
func (c *conversation) headline(text string, follow bool) {
	c.Helper()
	a := c.send("POST", "/api/v1/librarycreatives/lib?context=main", fmt.Sprintf(`{"layoutParameters": {"headline": %q}}`, text), 200, "")
	c.wantFollowing(a, follow)
}

func (c *conversation) wantFollowing(a *answer, follow bool) {
	c.Helper()
	var want []string
	if follow {
		want = []string{followWarning}
	}
	if got := a.header.Values("Warning"); !slices.Equal(got, want) {
		c.Errorf("the answer warns %q, not %q", got, want)
	}
}

// wantHeadlines expects a number of creatives to have a headline.
func (c *conversation) wantHeadlines(text string, n int) {
	c.Helper()
	c.send("GET", "/api/v1/creatives?context=main&pageSize=1&where=layoutParameters.headline="+text, "", 200, fmt.Sprintf(`{"totalCount": %d}`, n))
}

// follow works through the queue of one server, and returns what it logs.
func (c *conversation) follow() string {
	c.Helper()
	var log bytes.Buffer
	if err := c.s.engine.FollowAll(c.Context(), slog.New(slog.NewTextHandler(&log, nil))); err != nil {
		c.Fatal(err)
	}
	return log.String()
}

// eachStoreTwice is eachStore, and the embedded store that runs each function
// twice.
func eachStoreTwice(t *testing.T, test func(t *testing.T, fresh newStore)) {
	t.Helper()
	eachStore(t, test)
	t.Run("again", func(t *testing.T) {
		t.Parallel()
		test(t, newAgain)
	})
}

// TestDependantsFollow changes a library creative that more creatives take than
// a call writes: they keep the old values until they follow, and all have the
// last ones in the end, each with the cause and who changed it in its history.
func TestDependantsFollow(t *testing.T) { eachStoreTwice(t, testDependantsFollow) }

func testDependantsFollow(t *testing.T, fresh newStore) {
	c := converse(t, fresh)
	many := manyDependants()
	c.libraryCreative(many, "")
	a := c.send("POST", "/api/v1/librarycreatives/lib?context=main&validateOnly=true", `{"layoutParameters": {"headline": "1"}}`, 200, "")
	c.wantFollowing(a, true)
	c.follow()
	c.wantHeadlines("0", many)
	c.headline("1", true)
	c.wantHeadlines("0", many)
	// A write of one of them meanwhile gets the new values at once.
	c.send("POST", "/api/v1/creatives/c00003?context=main", `{"name": "Written"}`, 200, `{"layoutParameters": {"headline": "1"}}`)
	c.send("POST", "/api/v1/creatives/late?context=main", `{"name": "C", "libraryCreative": "lib"}`, 201, `{"layoutParameters": {"headline": "1"}}`)
	log := c.follow()
	c.wantHeadlines("1", many+1)
	procWants(t, log, "updating the objects that depend on a changed one", "are up to date", "librarycreatives lib", "type=creatives", fmt.Sprintf("objects=%d", many+1), "refused=0")
	last := fmt.Sprintf("c%05d", many-1)
	c.send("GET", "/api/v1/audit?context=main&type=creatives&id="+last, "", 200, `{"totalCount": 2, "results": [{"user": {"id": "`+c.s.userID+`"},
		"cause": {"code": "audit.cause.object", "params": {"type": "librarycreatives", "id": "lib"}}, "version": 2}, "<any>"]}`)
	c.send("GET", "/api/v1/creatives/"+last+"?context=main", "", 200, `{"updateUser": {"id": "`+c.s.userID+`"}}`)
	c.send("GET", "/api/v1/audit?context=main&type=creatives&pageSize=1", "", 200, fmt.Sprintf(`{"totalCount": %d}`, 2*many+1))
	// What no creative takes concerns none.
	c.wantFollowing(c.send("POST", "/api/v1/librarycreatives/lib?context=main", `{"name": "Renamed"}`, 200, ""), false)
	if log := c.follow(); log != "" {
		t.Errorf("after all have followed: %s", log)
	}
	// Changes in quick succession, also while the dependants follow.
	c.headline("2", true)
	c.headline("3", true)
	var wait sync.WaitGroup
	wait.Go(func() { c.follow() })
	for i := 4; i < 10; i++ {
		c.headline(fmt.Sprint(i), true)
	}
	wait.Wait()
	c.follow()
	c.wantHeadlines("9", many+1)
	if following := c.s.engine.Following(); following.Changed != 0 {
		t.Errorf("%+v follows in the end", following)
	}
}

// TestDependantsThatAreLarge: what a call writes is bounded in bytes, too.
func TestDependantsThatAreLarge(t *testing.T) { eachStore(t, testDependantsThatAreLarge) }

func testDependantsThatAreLarge(t *testing.T, fresh newStore) {
	skipSequential(t)
	c := converse(t, fresh)
	c.libraryCreative(1, "")
	var slots []string
	for i := range 9 {
		slots = append(slots, fmt.Sprintf(`"slot%d": %q`, i, strings.Repeat("x", 100_000)))
	}
	for from := 0; from < 20; from += 10 {
		var list []string
		for i := from; i < from+10; i++ {
			list = append(list, fmt.Sprintf(`{"id": "large%d", "name": "C", "libraryCreative": "lib", "overrideFields": ["layoutParameters"], "layoutParameters": {%s}}`,
				i, strings.Join(slots, ",")))
		}
		c.send("POST", "/api/v1/creatives?context=main", "["+strings.Join(list, ",")+"]", 200, "")
	}
	fixed := func(n int) {
		t.Helper()
		c.send("GET", "/api/v1/creatives?context=main&pageSize=1&where=dimensionType=FIXED&fields=id", "", 200, fmt.Sprintf(`{"totalCount": %d}`, n))
	}
	c.wantFollowing(c.send("POST", "/api/v1/librarycreatives/lib?context=main", `{"dimensionType": "FIXED", "width": 1, "height": 1}`, 200, ""), true)
	fixed(0)
	c.follow()
	fixed(21)
}

// TestDependantsThatAreRefused: a creative that cannot take the values of its
// library creative keeps none of the others from following, and is named in the
// log. Whoever corrects it has it take them.
func TestDependantsThatAreRefused(t *testing.T) { eachStoreTwice(t, testDependantsThatAreRefused) }

func testDependantsThatAreRefused(t *testing.T, fresh newStore) {
	skipSequential(t)
	c := converse(t, fresh)
	const many = 1100
	c.libraryCreative(many, "")
	// They override what they lack, once it is demanded of them.
	refused := []string{"c00000", "c00001", "c00500", "c01099"}
	for _, id := range refused {
		c.send("POST", "/api/v1/creatives/"+id+"?context=main", `{"overrideFields": ["width", "height"]}`, 200, "")
	}
	a := c.send("POST", "/api/v1/librarycreatives/lib?context=main", `{"dimensionType": "FIXED", "width": 1, "height": 1}`, 200, "")
	c.wantFollowing(a, true)
	log := c.follow()
	if n := strings.Count(log, "level=WARN"); n != len(refused) {
		t.Errorf("%d warnings in the log: %s", n, log)
	}
	for _, id := range refused {
		procWants(t, log, " id="+id+" ")
	}
	procWants(t, log, fmt.Sprintf("objects=%d", many), fmt.Sprintf("refused=%d", len(refused)))
	c.send("GET", "/api/v1/creatives?context=main&pageSize=1&where=dimensionType=FIXED", "", 200, fmt.Sprintf(`{"totalCount": %d}`, many-len(refused)))
	c.send("POST", "/api/v1/creatives/c00500?context=main", `{"width": 2, "height": 2}`, 200, `{"dimensionType": "FIXED", "width": 2}`)
}

// TestDependantsOfDependants: line items that gain or lose creatives beyond what
// a call writes follow, and so does what a layout changes of creatives.
func TestDependantsOfDependants(t *testing.T) { eachStore(t, testDependantsOfDependants) }

func testDependantsOfDependants(t *testing.T, fresh newStore) {
	skipSequential(t)
	c := converse(t, fresh)
	c.lineItemParts()
	const many = 1000
	var from, to, creatives, moved []string
	for i := range many {
		from = append(from, well(fmt.Sprintf("from%05d", i), ""))
		to = append(to, well(fmt.Sprintf("to%05d", i), ""))
		creatives = append(creatives, creative(fmt.Sprintf("c%05d", i), fmt.Sprintf("from%05d", i)))
		moved = append(moved, fmt.Sprintf(`{"id": "c%05d", "lineItem": "to%05d"}`, i, i))
	}
	for _, list := range [][]string{from, to} {
		c.send("POST", "/api/v1/lineitems?context=main", "["+strings.Join(list, ",")+"]", 200, "")
	}
	a := c.send("POST", "/api/v1/creatives?context=main", "["+strings.Join(creatives, ",")+"]", 200, "")
	c.wantFollowing(a, false)
	if all, warned := c.lineItemsWith("order=o"); all != 2*many || warned != many {
		t.Fatalf("%d of %d line items are warned", warned, all)
	}
	a = c.send("POST", "/api/v1/creatives?context=main", "["+strings.Join(moved, ",")+"]", 200, "")
	if got := a.header.Get("Warning"); !strings.Contains(got, "More lineitems depend") {
		t.Errorf("the answer warns %q", got)
	}
	c.follow()
	if _, warned := c.lineItemsWith("order=o"); warned != many {
		t.Errorf("%d line items are warned", warned)
	}
	for id, want := range map[string][]string{"from00000": {"no.creative"}, "from00999": {"no.creative"}, "to00000": nil, "to00999": nil} {
		if got := c.warned(id); !slices.Equal(got, want) {
			t.Errorf("%s: %v", id, got)
		}
	}
	// The layout of one creative more than are written.
	c.send("POST", "/api/v1/creatives?context=main", creative("more", "to00000"), 200, "")
	c.wantFollowing(c.send("POST", "/api/v1/layouts/plain?context=main", `{"objectState": "INACTIVE"}`, 200, ""), true)
	c.follow()
	c.send("GET", "/api/v1/creatives?context=main&pageSize=1&excludeInvalid=true", "", 200, `{"totalCount": 0}`)
}

// TestDependantsThroughServers: what one server leaves is done by all of them,
// also by those that were not notified.
func TestDependantsThroughServers(t *testing.T) {
	t.Parallel()
	servers, token := newServers(t, 2)
	c := &conversation{t, servers[0], token}
	many := manyDependants()
	c.libraryCreative(many, "")
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	await := func(text string) {
		t.Helper()
		const where = "/api/v1/creatives?context=main&pageSize=1&where=layoutParameters.headline"
		// To find one that has not followed costs little beside the work.
		for deadline := time.Now().Add(procPatience); !strings.Contains(string(servers[1].ask(token, "GET", where+"!="+text+"&count=false", "", nil).body), `"results":[]`); {
			if time.Now().After(deadline) {
				t.Fatalf("not all creatives have the headline %s", text)
			}
		}
		if a := servers[1].ask(token, "GET", where+"="+text, "", nil); !strings.Contains(string(a.body), fmt.Sprintf(`"totalCount":%d`, many)) {
			t.Fatalf("with the headline %s: %s", text, a.body)
		}
	}
	// Only the other one works at first.
	running.Go(func() { servers[1].engine.FollowUp(ctx, slog.New(slog.DiscardHandler)) })
	c.headline("1", true)
	await("1")
	running.Go(func() { servers[0].engine.FollowUp(ctx, slog.New(slog.DiscardHandler)) })
	for i := range 6 {
		a := servers[i%2].ask(token, "POST", "/api/v1/librarycreatives/lib?context=main", fmt.Sprintf(`{"layoutParameters": {"headline": "%d"}}`, i+2), nil)
		if a.status != http.StatusOK {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	await("7")
}

// TestNotesOfAnEarlierVersion: what an earlier version has noted, and not come to,
// is followed.
func TestNotesOfAnEarlierVersion(t *testing.T) { eachStore(t, testNotesOfAnEarlierVersion) }

func testNotesOfAnEarlierVersion(t *testing.T, fresh newStore) {
	c := converse(t, fresh)
	c.lineItemParts()
	c.send("POST", "/api/v1/tiers/t?context=main", `{"objectState": "INACTIVE"}`, 200, "")
	// It refers to the tier, and has not seen what became of it.
	c.plant("main", "stale", c.s.clock.now().Add(time.Hour), map[string]any{"tier": "t", "endDate": nil})
	now := c.s.clock.now().UTC()
	err := c.s.store.Write(t.Context(), func(tx store.Tx) error {
		return tx.Put(t.Context(), "review_notes", []store.Write{{Record: store.Record{Key: store.Key{ID: `["tiers","main","t"]`}, State: "ACTIVE",
			CreateTime: now, UpdateTime: now, Document: document.Append(nil, map[string]any{"id": "t", "network": "main", "type": "tiers"})}}})
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.s.pass(); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(c.warned("stale"), "tier.not.active") {
		t.Errorf("it is warned of %v", c.warned("stale"))
	}
}
