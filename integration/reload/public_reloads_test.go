package reload

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"marquee/engine"
	"marquee/engine/query"
	"marquee/engine/read"
	"marquee/integration/process"
	"marquee/integration/service"
)

// offers is a folder with offers that anybody can read in some states.
func offers(states []string) fs.FS {
	resource := `, "permission": "MANAGE_BUSINESS", "sort": ["state"]`
	if len(states) > 0 {
		resource += `, "public": {"when": {"properties": {"state": {"enum": ` + service.JSONText(states) + `}}, "required": ["state"]}}`
	}
	return service.TypeWith("offers", resource, `"state": {"type": "string"}, "name": {"type": "string"}`)
}

var offerStates = []string{"A", "B", "C"}

// TestPublicBesideReloads changes which offers are public again and again, while they are
// written and read without a token: no answer has an offer that is public neither by the
// schemas before nor by those after, and none that was withdrawn before it was asked for.
func TestPublicBesideReloads(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, func(t *testing.T, fresh service.NewStore) {
		testPublicBesideReloads(t, []*service.Service{service.NewPlain(t, fresh, offers(nil))})
	})
}

// TestServersReloadPublic does the same through two servers, of which the second always
// follows the first.
func TestServersReloadPublic(t *testing.T) {
	t.Parallel()
	servers, _ := service.NewPlainServers(t, 2, offers(nil))
	testPublicBesideReloads(t, servers)
}

func testPublicBesideReloads(t *testing.T, servers []*service.Service) {
	token, err := servers[0].SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	seed := service.TestSeed(t)
	const all = 40
	state := func(random *rand.Rand) string { return offerStates[random.IntN(len(offerStates))] }
	random := rand.New(rand.NewPCG(seed, 0))
	var body strings.Builder
	for i := range all {
		fmt.Fprintf(&body, `,{"id": "o%02d", "state": %q}`, i, state(random))
	}
	servers[0].Must(token, http.MethodPost, "/api/v1/offers?context=main", "["+body.String()[1:]+"]", http.StatusOK)

	// may holds the states that each server may show: those of the schemas that it serves,
	// and while it is reloaded, those of the next ones.
	may, steps := make([]atomic.Pointer[[]string], len(servers)), make([]atomic.Int64, len(servers))
	allow := func(i int, states []string) {
		may[i].Store(&states)
		steps[i].Add(1)
	}
	for i := range may {
		allow(i, nil)
	}
	var done atomic.Bool
	var shown atomic.Int64
	var wait sync.WaitGroup
	for w := range 2 {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(w)+1))
			for n := 0; !done.Load() && !t.Failed(); n++ {
				// One writer has the first half of the offers, the other one the second.
				path := fmt.Sprintf("/api/v1/offers/o%02d?context=main", w*all/2+random.IntN(all/2))
				if a := servers[random.IntN(len(servers))].Ask(token, http.MethodPut, path, fmt.Sprintf(`{"state": %q, "name": "N%d"}`, state(random), n), nil); a.Status != http.StatusOK {
					t.Errorf("PUT %s: %d %.300s", path, a.Status, a.Body)
				}
			}
		})
	}
	for i, s := range servers {
		wait.Go(func() {
			for !done.Load() && !t.Failed() {
				step, before := steps[i].Load(), *may[i].Load()
				a, err := s.Send(http.MethodGet, "/api/v1/offers?context=main&pageSize=1000", http.Header{}, strings.NewReader(""))
				if err != nil {
					t.Error(err)
					return
				}
				after := *may[i].Load()
				if steps[i].Load() > step+1 { // it took so long that others were allowed meanwhile
					continue
				}
				for _, shownState := range statesOf(a) {
					if shown.Add(1); !slices.Contains(before, shownState) && !slices.Contains(after, shownState) {
						t.Errorf("an offer in state %s is shown, and may be in %v or %v: %.300s", shownState, before, after, a.Body)
						return
					}
				}
			}
		})
	}
	var now []string
	for range 14 {
		var next []string
		for _, state := range offerStates {
			if random.IntN(2) == 0 {
				next = append(next, state)
			}
		}
		both := slices.Concat(now, next)
		for i, s := range servers {
			allow(i, both)
			if err := s.Swap(s.Engine, offers(next)); err != nil {
				t.Fatal(err)
			}
			allow(i, next)
		}
		now = next
	}
	now = offerStates[:2]
	for i, s := range servers {
		allow(i, offerStates)
		if err := s.Swap(s.Engine, offers(now)); err != nil {
			t.Fatal(err)
		}
	}
	done.Store(true)
	wait.Wait()
	if shown.Load() < 50 {
		t.Errorf("only %d offers were shown", shown.Load())
	}
	for _, s := range servers {
		want := map[string]int{}
		for state, n := range countStates(t, s, token) {
			if slices.Contains(now, state) {
				want[state] = n
			}
		}
		if got := countStates(t, s, ""); !maps.Equal(got, want) {
			t.Errorf("in the end, anybody sees %v, not %v", got, want)
		}
	}
}

// TestPublicBeforeReload lists objects for a request that began before its type was no longer
// public, and reads one: what has been stored since is not shown.
func TestPublicBeforeReload(t *testing.T) { service.EachStore(t, testPublicBeforeReload) }

func testPublicBeforeReload(t *testing.T, fresh service.NewStore) {
	s := service.NewPlain(t, fresh, offers(offerStates))
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	s.Must(token, http.MethodPut, "/api/v1/offers/o?context=main", `{"state": "A"}`, http.StatusCreated)
	began, err := s.Engine.Type("offers")
	if err != nil {
		t.Fatal(err)
	}
	nobody := &engine.Caller{Anonymous: true, Public: "main"}
	for _, states := range [][]string{offerStates, {"B"}, nil} {
		if err := s.Swap(s.Engine, offers(states)); err != nil {
			t.Fatal(err)
		}
		s.Must(token, http.MethodPut, "/api/v1/offers/o?context=main", service.JSONText(map[string]any{"name": fmt.Sprint(states)}), http.StatusOK)
		want := 0
		if slices.Contains(states, "A") {
			want = 1
		}
		listing := engine.Listing{List: query.List{Paging: query.Paging{PageSize: 10}, Order: query.Order{Field: query.Field{System: query.ID, Kind: query.String}}}}
		if page, err := s.Engine.List(t.Context(), nobody, began, "main", listing); !errors.Is(err, read.ErrOvertaken) {
			t.Errorf("public in %v: a list that began before shows %d offers (%v): %s", states, page.Items, err, page.Body)
		}
		_, err = s.Engine.Get(t.Context(), nobody, began, "main", "o", nil)
		if (err == nil) != (want == 1) {
			t.Errorf("public in %v: a request for the offer that began before is answered with %v", states, err)
		}
	}
}

// statesOf returns the states of the offers in an answer.
func statesOf(a *service.Answer) (states []string) {
	page, _ := a.JSON().(map[string]any)
	results, _ := page["results"].([]any)
	for _, result := range results {
		object, _ := result.(map[string]any)
		states = append(states, fmt.Sprint(object["state"]))
	}
	return states
}

// countStates counts the offers that are shown with a token, or without one, by their states.
func countStates(t *testing.T, s *service.Service, token string) map[string]int {
	t.Helper()
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	a, err := s.Send(http.MethodGet, "/api/v1/offers?context=main&pageSize=1000", header, strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, state := range statesOf(a) {
		counts[state]++
	}
	return counts
}
