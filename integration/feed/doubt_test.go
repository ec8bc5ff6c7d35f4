package feed

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"marquee/integration/service"
)

// TestListsInDoubt follows lists that were read while it was not certain who owns their objects,
// which then turns out to be the same as before: no change announces what they left out. Changes
// wait until it is certain.
func TestListsInDoubt(t *testing.T) { service.EachStore(t, testListsInDoubt) }

func testListsInDoubt(t *testing.T, fresh service.NewStore) {
	c := hospital(t, fresh)
	const many = 1100 // more than a transaction gives other owners
	c.Send("POST", "/api/v1/wards?context=main", `[{"id": "w", "team": "north"}, {"id": "v", "team": "north"}]`, http.StatusOK, "")
	c.Send("PUT", "/api/v1/beds/other?context=main", `{"ward": "v"}`, http.StatusCreated, "")
	var beds []string
	for i := range many {
		beds = append(beds, fmt.Sprintf(`{"id": "b%04d", "ward": "w"}`, i))
	}
	for some := range slices.Chunk(beds, 600) {
		c.Send("POST", "/api/v1/beds?context=main", "["+strings.Join(some, ",")+"]", http.StatusOK, "")
	}
	c.Follow()
	as := map[string]string{"admin": c.Token}
	for _, user := range []string{"nora", "sven"} {
		token, err := c.Service.SignIn(user)
		if err != nil {
			t.Fatal(err)
		}
		as[user] = token
	}
	list := func(user, parameters string, n int) (position, cursor string) {
		t.Helper()
		a := c.Service.Ask(as[user], http.MethodGet, "/api/v1/beds?context=main&includeHidden=true&count=false&"+parameters, "", nil)
		page, _ := a.JSON().(map[string]any)
		results, _ := page["results"].([]any)
		if a.Status != http.StatusOK || len(results) != n {
			t.Fatalf("%s has %d and %d objects, want %d: %.300s", user, a.Status, len(results), n, a.Body)
		}
		cursor, _ = page["nextCursor"].(string)
		return a.Header.Get("Marquee-Position"), cursor
	}
	follow := func(user, types, position string) map[string]any {
		t.Helper()
		return c.Service.Must(as[user], http.MethodGet, "/api/v1/changes?context=main&include=none&type="+types+"&after="+url.QueryEscape(position), "", http.StatusOK)
	}
	several := func(user string) string {
		position, _ := c.Service.Must(as[user], http.MethodGet, "/api/v1/changes?context=main&type=beds,wards", "", http.StatusOK)["position"].(string)
		return position
	}
	for _, path := range []string{"beds?position=garbage", "beds?position=" + url.QueryEscape(several("sven"))} {
		refused := c.Service.Ask(as["nora"], http.MethodGet, "/api/v1/"+path+"&context=main", "", nil)
		if refused.Status != http.StatusBadRequest || !strings.Contains(string(refused.Body), `"error.position.invalid"`) {
			t.Errorf("%s has %d: %.300s", path, refused.Status, refused.Body)
		}
	}

	before := map[string]string{}
	for _, user := range []string{"admin", "nora"} {
		before[user], _ = list(user, "position=true&pageSize=1000", 1000)
	}
	begun, cursor := list("nora", "position=true&pageSize=500", 500)
	manyTypes := several("nora")
	for _, team := range []string{"south", "north"} {
		c.Send("POST", "/api/v1/wards/w?context=main", `{"team": "`+team+`"}`, http.StatusOK, "")
	}
	positions := map[string]string{}
	for user, n := range map[string]int{"admin": 1000, "nora": 1, "sven": 0} {
		positions[user], _ = list(user, "position=true&pageSize=1000", n)
	}
	if waits := follow("nora", "beds", positions["nora"]); waits["reset"] != nil {
		t.Errorf("while owners are in doubt, there is %v", waits)
	}
	c.Send("DELETE", "/api/v1/beds/other?context=main", "", http.StatusNoContent, "")
	if removed := follow("nora", "beds", positions["nora"])["results"]; !strings.Contains(service.JSONText(removed), `"deleted"`) {
		t.Errorf("of an object whose owners are certain, there is %v", removed)
	}
	c.Send("POST", "/api/v1/beds/b0000?context=main", `{"text": "new"}`, http.StatusOK, "")
	if events := follow("admin", "beds", before["admin"]); len(events["results"].([]any)) != 2 {
		t.Errorf("who sees all has %v", events)
	}
	waits := follow("nora", "beds", before["nora"])
	if len(waits["results"].([]any)) != 1 { // that of the removal
		t.Errorf("while owners are in doubt, the changes of their objects are shown: %v", waits)
	}
	repeated, _ := list("nora", "pageSize=500&position="+url.QueryEscape(positions["nora"]), 0)
	continued, _ := list("nora", "pageSize=500&position="+url.QueryEscape(begun)+"&cursor="+url.QueryEscape(cursor), 0)
	manyTypes, _ = list("nora", "pageSize=500&position="+url.QueryEscape(manyTypes), 0)
	c.Follow()

	for name, at := range map[string]struct {
		user, types, position string
		reset                 any
	}{
		"everything":            {"admin", "beds", positions["admin"], nil},
		"nothing hidden":        {"sven", "beds", positions["sven"], nil},
		"hidden":                {"nora", "beds", positions["nora"], "OWNERS_IN_DOUBT"},
		"listed before":         {"nora", "beds", before["nora"], nil},
		"the first page":        {"nora", "beds", begun, nil},
		"a later page":          {"nora", "beds", continued, "OWNERS_IN_DOUBT"},
		"pages in doubt":        {"nora", "beds", repeated, "OWNERS_IN_DOUBT"},
		"one of several types":  {"nora", "beds,wards", manyTypes, "OWNERS_IN_DOUBT"},
		"a position after this": {"nora", "beds", fmt.Sprint(follow("nora", "beds", positions["nora"])["position"]), nil},
	} {
		if page := follow(at.user, at.types, at.position); page["reset"] != at.reset {
			t.Errorf("%s: reset %v, want %v", name, page["reset"], at.reset)
		}
	}
	if events := follow("nora", "beds", fmt.Sprint(waits["position"])); len(events["results"].([]any)) != 1 {
		t.Errorf("instead of the change that has waited there is %v", events)
	}
	for stream := range open(t, c.Service, as["nora"], "&type=beds", positions["nora"]).Events {
		if stream.Name != "bookmark" {
			if stream.Name != "reset" || !strings.Contains(stream.Data, "OWNERS_IN_DOUBT") {
				t.Errorf("the stream has %v", stream)
			}
			break
		}
	}
	list("nora", "position=true&pageSize=1000", 1000)
}
