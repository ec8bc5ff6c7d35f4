package advertising

import (
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
	"marquee/integration/process"
	"marquee/integration/service"
)

// followWarning is what an answer says when more creatives depend on what was
// changed than a call writes.
const followWarning = `299 marquee "warning.dependants.follow: More creatives depend on this change than one request can write; they are updated soon afterwards."`

// manyDependants is more than a call writes.
func manyDependants() int {
	if testing.Short() || service.RaceDetector {
		return 1200
	}
	return 5000
}

// libraryCreative makes a library creative with the headline 0, and creatives
// that take it.
func libraryCreative(c *service.Conversation, creatives int, more string) {
	c.Helper()
	c.Send("POST", "/api/v1/layouts/l?context=main", `{"name": "L", "html": "<p>{{headline}}</p>"}`, 201, "")
	c.Send("POST", "/api/v1/librarycreatives/lib?context=main",
		`{"name": "Lib", "layout": "l", "layoutParameters": {"headline": "0"}, "verifiedSafe": true, "dimensionType": "FLEXIBLE"}`, 201, "")
	for from := 0; from < creatives; from += 1000 {
		var body strings.Builder
		for i := from; i < min(creatives, from+1000); i++ {
			fmt.Fprintf(&body, `,{"id": "c%05d", "name": "C", "libraryCreative": "lib"%s}`, i, more)
		}
		c.Send("POST", "/api/v1/creatives?context=main", "["+body.String()[1:]+"]", 200, "")
	}
}

// headline changes the headline of the library creative.
func headline(c *service.Conversation, text string, follow bool) {
	c.Helper()
	a := c.Send("POST", "/api/v1/librarycreatives/lib?context=main", fmt.Sprintf(`{"layoutParameters": {"headline": %q}}`, text), 200, "")
	wantFollowing(c, a, follow)
}

func wantFollowing(c *service.Conversation, a *service.Answer, follow bool) {
	c.Helper()
	var want []string
	if follow {
		want = []string{followWarning}
	}
	if got := a.Header.Values("Warning"); !slices.Equal(got, want) {
		c.Errorf("the answer warns %q, not %q", got, want)
	}
}

// wantHeadlines expects a number of creatives to have a headline.
func wantHeadlines(c *service.Conversation, text string, n int) {
	c.Helper()
	c.Send("GET", "/api/v1/creatives?context=main&pageSize=1&where=layoutParameters.headline="+text, "", 200, fmt.Sprintf(`{"totalCount": %d}`, n))
}

// TestDependantsFollow changes a library creative that more creatives take than
// a call writes: they keep the old values until they follow, and all have the
// last ones in the end, each with the cause and who changed it in its history.
func TestDependantsFollow(t *testing.T) { service.EachStoreTwice(t, testDependantsFollow) }

func testDependantsFollow(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	many := manyDependants()
	libraryCreative(c, many, "")
	a := c.Send("POST", "/api/v1/librarycreatives/lib?context=main&validateOnly=true", `{"layoutParameters": {"headline": "1"}}`, 200, "")
	wantFollowing(c, a, true)
	c.Follow()
	wantHeadlines(c, "0", many)
	headline(c, "1", true)
	wantHeadlines(c, "0", many)
	// A write of one of them meanwhile gets the new values at once.
	c.Send("POST", "/api/v1/creatives/c00003?context=main", `{"name": "Written"}`, 200, `{"layoutParameters": {"headline": "1"}}`)
	c.Send("POST", "/api/v1/creatives/late?context=main", `{"name": "C", "libraryCreative": "lib"}`, 201, `{"layoutParameters": {"headline": "1"}}`)
	log := c.Follow()
	wantHeadlines(c, "1", many+1)
	process.Wants(t, log, "updating the objects that depend on a changed one", "are up to date", "librarycreatives lib", "type=creatives", fmt.Sprintf("objects=%d", many+1), "refused=0")
	last := fmt.Sprintf("c%05d", many-1)
	c.Send("GET", "/api/v1/audit?context=main&type=creatives&id="+last, "", 200, `{"totalCount": 2, "results": [{"user": {"id": "`+c.Service.UserID+`"},
		"cause": {"code": "audit.cause.object", "params": {"type": "librarycreatives", "id": "lib"}}, "version": 2}, "<any>"]}`)
	c.Send("GET", "/api/v1/creatives/"+last+"?context=main", "", 200, `{"updateUser": {"id": "`+c.Service.UserID+`"}}`)
	c.Send("GET", "/api/v1/audit?context=main&type=creatives&pageSize=1", "", 200, fmt.Sprintf(`{"totalCount": %d}`, 2*many+1))
	// What no creative takes concerns none.
	wantFollowing(c, c.Send("POST", "/api/v1/librarycreatives/lib?context=main", `{"name": "Renamed"}`, 200, ""), false)
	if log := c.Follow(); log != "" {
		t.Errorf("after all have followed: %s", log)
	}
	// Changes in quick succession, also while the dependants follow.
	headline(c, "2", true)
	headline(c, "3", true)
	var wait sync.WaitGroup
	wait.Go(func() { c.Follow() })
	for i := 4; i < 10; i++ {
		headline(c, fmt.Sprint(i), true)
	}
	wait.Wait()
	c.Follow()
	wantHeadlines(c, "9", many+1)
	if following := c.Service.Engine.Following(); following.Changed != 0 {
		t.Errorf("%+v follows in the end", following)
	}
}

// TestDependantsThatAreLarge: what a call writes is bounded in bytes, too.
func TestDependantsThatAreLarge(t *testing.T) { service.EachStore(t, testDependantsThatAreLarge) }

func testDependantsThatAreLarge(t *testing.T, fresh service.NewStore) {
	process.SkipCoveredBy(t, "TestDependantsFollow")
	process.SkipSequential(t)
	c := service.Converse(t, fresh)
	libraryCreative(c, 1, "")
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
		c.Send("POST", "/api/v1/creatives?context=main", "["+strings.Join(list, ",")+"]", 200, "")
	}
	fixed := func(n int) {
		t.Helper()
		c.Send("GET", "/api/v1/creatives?context=main&pageSize=1&where=dimensionType=FIXED&fields=id", "", 200, fmt.Sprintf(`{"totalCount": %d}`, n))
	}
	wantFollowing(c, c.Send("POST", "/api/v1/librarycreatives/lib?context=main", `{"dimensionType": "FIXED", "width": 1, "height": 1}`, 200, ""), true)
	fixed(0)
	c.Follow()
	fixed(21)
}

// TestDependantsThatAreRefused: a creative that cannot take the values of its
// library creative keeps none of the others from following, and is named in the
// log. Whoever corrects it has it take them.
func TestDependantsThatAreRefused(t *testing.T) {
	service.EachStoreTwice(t, testDependantsThatAreRefused)
}

func testDependantsThatAreRefused(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	c := service.Converse(t, fresh)
	const many = 1100
	libraryCreative(c, many, "")
	// They override what they lack, once it is demanded of them.
	refused := []string{"c00000", "c00001", "c00500", "c01099"}
	for _, id := range refused {
		c.Send("POST", "/api/v1/creatives/"+id+"?context=main", `{"overrideFields": ["width", "height"]}`, 200, "")
	}
	a := c.Send("POST", "/api/v1/librarycreatives/lib?context=main", `{"dimensionType": "FIXED", "width": 1, "height": 1}`, 200, "")
	wantFollowing(c, a, true)
	log := c.Follow()
	if n := strings.Count(log, "level=WARN"); n != len(refused) {
		t.Errorf("%d warnings in the log: %s", n, log)
	}
	for _, id := range refused {
		process.Wants(t, log, " id="+id+" ")
	}
	process.Wants(t, log, fmt.Sprintf("objects=%d", many), fmt.Sprintf("refused=%d", len(refused)))
	c.Send("GET", "/api/v1/creatives?context=main&pageSize=1&where=dimensionType=FIXED", "", 200, fmt.Sprintf(`{"totalCount": %d}`, many-len(refused)))
	c.Send("POST", "/api/v1/creatives/c00500?context=main", `{"width": 2, "height": 2}`, 200, `{"dimensionType": "FIXED", "width": 2}`)
}

// TestDependantsOfDependants: line items that gain or lose creatives beyond what
// a call writes follow, and so does what a layout changes of creatives.
func TestDependantsOfDependants(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testDependantsOfDependants)
}

func testDependantsOfDependants(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	c := service.Converse(t, fresh)
	c.LineItemParts()
	const many = 1000
	var from, to, creatives, moved []string
	for i := range many {
		from = append(from, service.Well(fmt.Sprintf("from%05d", i), ""))
		to = append(to, service.Well(fmt.Sprintf("to%05d", i), ""))
		creatives = append(creatives, service.Creative(fmt.Sprintf("c%05d", i), fmt.Sprintf("from%05d", i)))
		moved = append(moved, fmt.Sprintf(`{"id": "c%05d", "lineItem": "to%05d"}`, i, i))
	}
	for _, list := range [][]string{from, to} {
		c.Send("POST", "/api/v1/lineitems?context=main", "["+strings.Join(list, ",")+"]", 200, "")
	}
	a := c.Send("POST", "/api/v1/creatives?context=main", "["+strings.Join(creatives, ",")+"]", 200, "")
	wantFollowing(c, a, false)
	if all, warned := lineItemsWith(c, "order=o"); all != 2*many || warned != many {
		t.Fatalf("%d of %d line items are warned", warned, all)
	}
	a = c.Send("POST", "/api/v1/creatives?context=main", "["+strings.Join(moved, ",")+"]", 200, "")
	if got := a.Header.Get("Warning"); !strings.Contains(got, "More lineitems depend") {
		t.Errorf("the answer warns %q", got)
	}
	c.Follow()
	if _, warned := lineItemsWith(c, "order=o"); warned != many {
		t.Errorf("%d line items are warned", warned)
	}
	for id, want := range map[string][]string{"from00000": {"no.creative"}, "from00999": {"no.creative"}, "to00000": nil, "to00999": nil} {
		if got := warned(c, id); !slices.Equal(got, want) {
			t.Errorf("%s: %v", id, got)
		}
	}
	// The layout of one creative more than are written.
	c.Send("POST", "/api/v1/creatives?context=main", service.Creative("more", "to00000"), 200, "")
	wantFollowing(c, c.Send("POST", "/api/v1/layouts/plain?context=main", `{"objectState": "INACTIVE"}`, 200, ""), true)
	c.Follow()
	c.Send("GET", "/api/v1/creatives?context=main&pageSize=1&excludeInvalid=true", "", 200, `{"totalCount": 0}`)
}

// TestDependantsThroughServers: what one server leaves is done by all of them,
// also by those that were not notified.
func TestDependantsThroughServers(t *testing.T) {
	t.Parallel()
	servers, token := service.NewServers(t, 2)
	c := &service.Conversation{T: t, Service: servers[0], Token: token}
	many := manyDependants()
	libraryCreative(c, many, "")
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	await := func(text string) {
		t.Helper()
		const where = "/api/v1/creatives?context=main&pageSize=1&where=layoutParameters.headline"
		// To find one that has not followed costs little beside the work.
		for deadline := time.Now().Add(service.Patience); !strings.Contains(string(servers[1].Ask(token, "GET", where+"!="+text+"&count=false", "", nil).Body), `"results":[]`); <-time.After(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("not all creatives have the headline %s", text)
			}
		}
		if a := servers[1].Ask(token, "GET", where+"="+text, "", nil); !strings.Contains(string(a.Body), fmt.Sprintf(`"totalCount":%d`, many)) {
			t.Fatalf("with the headline %s: %s", text, a.Body)
		}
	}
	// Only the other one works at first.
	running.Go(func() { servers[1].Engine.FollowUp(ctx, slog.New(slog.DiscardHandler)) })
	headline(c, "1", true)
	await("1")
	running.Go(func() { servers[0].Engine.FollowUp(ctx, slog.New(slog.DiscardHandler)) })
	for i := range 6 {
		a := servers[i%2].Ask(token, "POST", "/api/v1/librarycreatives/lib?context=main", fmt.Sprintf(`{"layoutParameters": {"headline": "%d"}}`, i+2), nil)
		if a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	await("7")
}

// TestNotesOfAnEarlierVersion: what an earlier version has noted, and not come to,
// is followed.
func TestNotesOfAnEarlierVersion(t *testing.T) { service.EachStore(t, testNotesOfAnEarlierVersion) }

func testNotesOfAnEarlierVersion(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	c.LineItemParts()
	c.Send("POST", "/api/v1/tiers/t?context=main", `{"objectState": "INACTIVE"}`, 200, "")
	// It refers to the tier, and has not seen what became of it.
	plant(c, "main", "stale", c.Service.Clock.Now().Add(time.Hour), map[string]any{"tier": "t", "endDate": nil})
	now := c.Service.Clock.Now().UTC()
	err := c.Service.Store.Write(t.Context(), func(tx store.Tx) error {
		return tx.Put(t.Context(), "review_notes", []store.Write{{Record: store.Record{Key: store.Key{ID: `["tiers","main","t"]`}, State: "ACTIVE",
			CreateTime: now, UpdateTime: now, Document: document.Append(nil, map[string]any{"id": "t", "network": "main", "type": "tiers"})}}})
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Service.Pass(); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(warned(c, "stale"), "tier.not.active") {
		t.Errorf("it is warned of %v", warned(c, "stale"))
	}
}
