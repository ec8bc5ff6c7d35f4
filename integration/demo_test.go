package integration

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"marquee"
	"marquee/engine"
	"marquee/integration/service"
	"marquee/resources"
)

// demo returns the steps of the demonstration data for the first network.
func demo(s *service.Service) []marquee.DemoStep {
	s.TB.Helper()
	steps, err := resources.Demo(marquee.DemoOptions{Types: s.Engine.Registry(), Password: service.AdminPassword, Now: time.Now(),
		First: marquee.First{Network: service.Network, UserID: s.UserID, RoleID: "administrator"}})
	if err != nil {
		s.TB.Fatal(err)
	}
	return steps
}

// writeDemo writes the demonstration data.
func writeDemo(s *service.Service) {
	s.TB.Helper()
	for _, step := range demo(s) {
		_, err := s.Engine.Write(context.Background(), &engine.Caller{System: true, User: cmp.Or(step.User, s.UserID)},
			engine.Batch{Network: cmp.Or(step.Network, service.Network), FieldValidation: engine.Strict, Time: step.Time, Operations: step.Operations})
		if err != nil {
			s.TB.Fatal(err)
		}
	}
}

// TestDemoIsAlive looks at the demonstration data as somebody does who has just started
// the service: campaigns that run, have ended and are to come, creatives with pictures,
// a week of changes, another network, and a user who only reads.
func TestDemoIsAlive(t *testing.T) { service.EachStore(t, testDemoIsAlive) }

func testDemoIsAlive(t *testing.T, fresh service.NewStore) {
	s := service.New(t, fresh)
	writeDemo(s)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	get := func(token, path string) map[string]any {
		t.Helper()
		return s.Must(token, http.MethodGet, path, "", http.StatusOK)
	}
	now := time.Now().UTC().Format(time.RFC3339)
	kinds := map[string]int{}
	for _, item := range get(token, "/api/v1/lineitems?context=main")["results"].([]any) {
		lineItem := item.(map[string]any)
		start, _ := lineItem["startDate"].(string)
		end, _ := lineItem["endDate"].(string)
		switch {
		case lineItem["userState"] == "PAUSED":
			kinds["paused"]++
		case start > now:
			kinds["to come"]++
		case end != "" && end < now:
			kinds["ended"]++
		default:
			kinds["running"]++
		}
		if warnings, _ := lineItem["validationWarnings"].([]any); (len(warnings) > 0) != (lineItem["id"] == "market-announcement") {
			t.Errorf("%v has the warnings %v", lineItem["id"], warnings) // only the one to come lacks a creative
		}
	}
	for _, kind := range []string{"running", "paused", "ended", "to come"} {
		if kinds[kind] == 0 {
			t.Errorf("no line item is %s: %v", kind, kinds)
		}
	}

	for _, item := range get(token, "/api/v1/creatives?context=main")["results"].([]any) {
		creative := item.(map[string]any)
		html, _ := creative["renderedHtml"].(string)
		_, place, _ := strings.Cut(html, `src="`)
		place, _, _ = strings.Cut(place, `"`)
		a, err := s.Send(http.MethodGet, place, http.Header{}, nil)
		if err != nil || a.Status != http.StatusOK || !strings.Contains(string(a.Body), "<svg") {
			t.Errorf("%v shows %q: %v %.100s", creative["id"], place, err, a.Body)
		}
	}

	days, authors := map[string]bool{}, map[string]bool{}
	audit := get(token, "/api/v1/audit?context=main&pageSize=1000")["results"].([]any)
	last := "9999"
	for _, item := range audit {
		change := item.(map[string]any)
		at := change["time"].(string)
		if at > last && at[:10] != now[:10] { // The first network is made today.
			t.Errorf("%s follows %s in the history", last, at)
		}
		last = at
		days[at[:10]] = true
		user, _ := change["user"].(map[string]any)
		authors[fmt.Sprint(user["name"])] = true
	}
	if len(days) < 7 || !authors["kari"] || !authors[service.Admin] {
		t.Errorf("the history has %d days, and the authors %v", len(days), authors)
	}

	for _, name := range []string{"segments", "rulesets", "products", "sites", "adunits", "coupons"} {
		if n := get(token, "/api/v1/"+name+"?context=main")["totalCount"]; n == json.Number("0") {
			t.Errorf("there are no %s", name)
		}
	}
	if n := len(get(token, "/api/v1/articles?context=main")["results"].([]any)); n < 12 {
		t.Errorf("there are %d articles", n)
	}
	if n := len(get(token, "/api/v1/lineitems?context=coast-radio")["results"].([]any)); n == 0 {
		t.Error("the other network has no line items")
	}

	reader, err := s.SignIn("reader")
	if err != nil {
		t.Fatal(err)
	}
	get(reader, "/api/v1/lineitems?context=main")
	s.Must(reader, http.MethodPost, "/api/v1/orders?context=main", `{"name": "Mine"}`, http.StatusForbidden)
	s.Must(reader, http.MethodGet, "/api/v1/lineitems?context=coast-radio", "", http.StatusForbidden)
}
