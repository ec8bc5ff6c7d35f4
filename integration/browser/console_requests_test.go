package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"marquee"
	"marquee/integration/marqueetest"
	"marquee/resources"
)

// rounds are the requests that a page sends, by what they wait for: those of the first are sent at once, and those of
// another when the answers to the one before have come. No answer comes before all that can be sent without it has been.
func (c *console) rounds(open func()) (found [][]string) {
	c.t.Helper()
	evaluate[string](c.t, c.ctx, `exchanges.length = 0; sessionStorage.setItem("holding", "1"); ""`)
	open()
	for {
		c.settle()
		var round []string
		for _, e := range c.exchanges() {
			round = append(round, c.comparable(e.kind()))
		}
		if len(round) == 0 {
			evaluate[string](c.t, c.ctx, `sessionStorage.removeItem("holding"); ""`)
			return found
		}
		slices.Sort(round)
		found = append(found, round)
		evaluate[string](c.t, c.ctx, `release(); ""`)
	}
}

// follow shows another page of the console without loading the document again, as a link does.
func (c *console) follow(path string) {
	c.t.Helper()
	evaluate[string](c.t, c.ctx, fmt.Sprintf(`history.pushState(null, "", "/console"+%q); dispatchEvent(new PopStateEvent("popstate")); ""`, path))
}

// TestConsoleRequests: a list takes two requests and a form three, and no page has more than two that wait for each
// other, whether a link leads to it or its address is opened, for which the session is continued first. No request is sent
// twice, and a schema that is known is not asked for again.
func TestConsoleRequests(t *testing.T) {
	c := openConsole(t, marquee.Options{Application: resources.New().Application()})
	advertise(c.s)
	orders(c.s, 3)
	asset, me := upload(t, c.s, "picture", "a.png", picture(t, 3, 2)), firstOf(c.s, "users")
	c.record()
	c.show("/", "input[name=username]")
	c.signIn(marqueetest.Password)
	c.visible("main .history")

	type rounds = [][]string
	const changes = "/api/v1/changes" // which are followed from then on
	judge := func(path, how string, got, want rounds) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s %s sends\n%q and not\n%q", path, how, got, want)
		}
	}
	covered := map[string]bool{"home": true, "unknown": true} // the latter sends none
	for _, of := range []struct {
		path string
		want rounds
		// opened is what is sent when the address is opened, if that differs.
		opened rounds
	}{
		{path: "", want: rounds{{"/api/v1/audit", "/api/v1/notifications"}}},
		{path: "history", want: rounds{{"/api/v1/audit"}}},
		{path: "history?type=orders&id=order-000", want: rounds{{"/api/v1/audit"}}},
		{path: "notifications", want: rounds{{"/api/v1/notifications"}}},
		{path: "access", want: rounds{{"/api/schemas/roles", "/api/v1/roles", "/api/v1/teams", "/api/v1/users"}}},
		{path: "health", want: rounds{{"/healthz", "/readyz"}}},
		{path: "account", want: rounds{{"/api/v1/users/ID"}}},
		{path: "list/orders", want: rounds{{"/api/schemas/orders", "/api/v1/orders"}, {changes}}},
		{path: "list/orders?q=order&columns=name", want: rounds{{"/api/schemas/orders", "/api/v1/orders"}, {changes}}},
		{path: "list/orders?where=advertiser%3Dx", want: rounds{{"/api/schemas/orders", "/api/v1/orders"}, {changes}}},
		{path: "list/users", want: rounds{{"/api/schemas/users", "/api/v1/users"}}},
		{path: "list/assets?parent=", want: rounds{{"/api/schemas/assets"}}},
		{path: "list/assets?parent=picture", want: rounds{{"/api/schemas/assets", "/api/v1/assets/picture"}, {changes}}},
		{path: "new/orders", want: rounds{{"/api/schemas/orders"}}},
		{path: "object/orders/order-000", want: rounds{{"/api/schemas/orders", "/api/v1/orders/order-000"}, {changes}}},
		{path: "object/users/" + me, want: rounds{{"/api/schemas/users", "/api/v1/users/ID"}}},
		{path: "object/assets/picture/" + asset, want: rounds{{"/api/schemas/assets", "/api/v1/assets/picture/ID"}, {changes}}},
		{path: "object/creatives/picture", want: rounds{{"/api/schemas/creatives", "/api/v1/creatives/picture"}, {changes}}},
		{path: "type/orders", want: rounds{{"/api/schemas/orders", "/api/v1/orders"}}, opened: rounds{{"/api/schemas/orders"}, {"/api/v1/orders"}}},
		{path: "type/assets", want: rounds{{"/api/schemas/assets"}}},
	} {
		kind, _, _ := strings.Cut(of.path, "/")
		kind, _, _ = strings.Cut(kind, "?")
		covered[map[string]string{"": "overview"}[kind]+kind] = true
		path, elsewhere := strings.TrimSuffix("/networks/main/"+of.path, "/"), "/networks/main/health"
		if of.path == "health" {
			elsewhere = "/networks/main/account"
		}
		opened := append(rounds{{"/api/authenticate"}, {"/api/schemas", "/api/v1/networks", "/api/v1/users/ID"}}, of.opened...)
		if of.opened == nil {
			opened = append(opened, of.want...)
		}
		if len(opened) > 2 { // the menu and the page do not wait for each other
			opened[1] = slices.Sorted(slices.Values(slices.Concat(opened[1], opened[2])))
			opened = slices.Delete(opened, 2, 3)
		}
		judge(path, "by its address", c.rounds(func() { c.run(chromedp.Navigate(c.s.URL + "/console" + path)) }), opened)
		c.run(chromedp.Navigate(c.s.URL + "/console" + elsewhere))
		c.settle()
		judge(path, "by a link", c.rounds(func() { c.follow(path) }), of.want)
		c.follow(elsewhere)
		c.settle()
		again := rounds{}
		for _, round := range of.want {
			if round = slices.DeleteFunc(slices.Clone(round), func(path string) bool { return strings.HasPrefix(path, "/api/schemas/") }); len(round) > 0 {
				again = append(again, round)
			}
		}
		judge(path, "a second time", c.rounds(func() { c.follow(path) }), again)
		if len(of.want) > 2 || len(of.opened) > 2 {
			t.Errorf("%s waits for %d requests", path, len(of.want))
		}
	}
	c.follow("/networks/main/object/creatives/picture")
	c.open("Files") // which stays open
	c.settle()
	c.follow("/networks/main/health")
	c.settle()
	judge("object/creatives/picture", "with its files", c.rounds(func() { c.follow("/networks/main/object/creatives/picture") }), rounds{{"/api/v1/creatives/picture"}, {"/api/v1/assets/picture", changes}})
	first := rounds{{"/api/authenticate"}, {"/api/v1/networks", "/api/v1/users/ID"}, {"/api/schemas", "/api/v1/audit", "/api/v1/notifications"}}
	judge("/", "by its address", c.rounds(func() { c.run(chromedp.Navigate(c.s.URL + "/console/")) }), first)
	for _, kind := range kinds(t) {
		if !covered[kind] {
			t.Errorf("the requests of pages of the kind %s are not counted", kind)
		}
	}
}
