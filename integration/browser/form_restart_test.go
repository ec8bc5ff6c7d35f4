package browser

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// TestFormOutages: whatever happens to a request that saves, the form keeps what was typed and says that it is
// not saved; the next request has the same condition and the same key, so that nothing is written twice.
func TestFormOutages(t *testing.T) {
	x := parcels(t)
	x.s.Do(http.MethodPut, "/api/v1/parcels/a?context=main", `{"name": "Parcel", "note": ""}`, http.StatusCreated)
	x.show("/object/parcels/a")
	for _, outage := range []struct {
		name, said string
		around     func(save func())
	}{
		{"a server that restarts", "The service cannot be reached. What you typed is still here; save again.", func(save func()) { x.s.Restart(save) }},
		{"no network", "The service cannot be reached. What you typed is still here; save again.", func(save func()) {
			x.offline(true)
			save()
			x.offline(false)
		}},
		{"a service that is busy", "The service is busy. Nothing was saved; save again.", func(save func()) {
			evaluate[string](t, x.ctx, `window.send = window.fetch; window.fetch = (path, init) => init.method === "GET" ? send(path, init) :
				(sent.push({method: init.method, path, headers: init.headers, body: init.body}), Promise.resolve(new Response('{"messages": []}', {status: 503, headers: {"Content-Type": "application/json", "Retry-After": "1"}}))); ""`)
			save()
			evaluate[string](t, x.ctx, `window.fetch = send; ""`)
		}},
		{"an answer that is lost", "The service cannot be reached. What you typed is still here; save again.", func(save func()) {
			evaluate[string](t, x.ctx, `window.send = window.fetch; window.fetch = async (path, init) => { const answer = await send(path, init); if (init.method !== "GET") throw new TypeError("lost"); return answer }; ""`)
			save()
			evaluate[string](t, x.ctx, `window.fetch = send; ""`)
		}},
	} {
		x.outage(outage.name, outage.said, outage.around)
	}
}

func (x *screen) outage(name, said string, around func(save func())) {
	x.t.Helper()
	const changes = "/api/v1/audit?context=main&pageSize=1"
	before := x.s.Do(http.MethodGet, changes, "", http.StatusOK)["totalCount"].(int64)
	evaluate[string](x.t, x.ctx, `sent.length = 0; ""`)
	form := x.node(0, "Parcel", "form")
	x.write(x.node(form, "Note", "textbox"), name)
	around(func() {
		x.t.Helper()
		x.press(form, "Save")
		x.await(fmt.Sprintf(`document.querySelector("main [role=alert]")?.innerText.startsWith(%q) && document.querySelector("main form .actions span[role=status]").innerText === "Not saved yet"`, said))
		if note := x.call(x.node(form, "Note", "textbox"), "function() { return this.value }"); note != name {
			x.t.Errorf("%s: what was typed is %q now", name, note)
		}
	})
	x.press(form, "Save")
	x.await(`!document.querySelector("main [role=alert]") && document.querySelector("main form .actions span[role=status]").innerText === "Saved."`)
	x.expectObject("/api/v1/parcels/a?context=main", map[string]any{"note": name})
	if after := x.s.Do(http.MethodGet, changes, "", http.StatusOK)["totalCount"].(int64); after != before+1 {
		x.t.Errorf("%s: %d changes were made", name, after-before)
	}
	sent := x.sent()
	if len(sent) != 2 || sent[0].Body != sent[1].Body || sent[0].Headers["If-Match"] != sent[1].Headers["If-Match"] || sent[0].Headers["Idempotency-Key"] != sent[1].Headers["Idempotency-Key"] || sent[0].Headers["Idempotency-Key"] == "" {
		x.t.Errorf("%s: sent %v", name, sent)
	}
}

// offline takes the network from the page, or gives it back.
func (x *screen) offline(is bool) {
	x.t.Helper()
	if _, err := chromedp.Call(x.ctx, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{{Offline: is, DownloadThroughput: -1, UploadThroughput: -1}}}); err != nil {
		x.t.Fatal(err)
	}
}
