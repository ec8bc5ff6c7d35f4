package integration

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"

	"marquee/engine"
	"marquee/integration/process"
	"marquee/integration/service"
	"marquee/resources/asset/assettest"
)

// TestCallsCostNoMoreThanTheirShare measures what calls keep in memory, and
// compares it with the share of the memory budget that they take.
func TestCallsCostNoMoreThanTheirShare(t *testing.T) {
	process.SkipCoveredBy(t, "TestCallsAreBoundedByWhatTheyChange")
	if service.RaceDetector {
		t.Skip("the race detector takes memory of its own")
	}
	// One after the other, and beside no other test: the memory is that of the process.
	t.Run("sqlite", func(t *testing.T) { testCallsCost(t, service.NewSQLite) })
	t.Run("mongodb", func(t *testing.T) {
		service.NeedStore(t, "mongodb")
		testCallsCost(t, service.Reusing(t))
	})
}

func testCallsCost(t *testing.T, fresh service.NewStore) {
	s := service.New(t, fresh)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	shapes := shapes()
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		shape := shapes[name]
		for _, run := range []string{"created", "unchanged", "changed"} {
			changed := strings.ReplaceAll(shape.body, shape.from, shape.to)
			bodies := map[string][]string{"created": {shape.body}, "unchanged": {shape.body, shape.body, shape.body},
				"changed": {changed, shape.body, changed}}[run]
			t.Run(name+" "+run, func(t *testing.T) {
				var w engine.Weight
				_, _ = w.Write([]byte(bodies[0]))
				costs(s, t, token, http.MethodPost, shape.path, bodies, w.Cost())
			})
		}
	}
	t.Run("merge patch", func(t *testing.T) { testPatchCost(t, s, token) })
	t.Run("delivery", func(t *testing.T) { testDeliveryCost(t, s, token) })
}

// testDeliveryCost measures the first delivery of a file of a bundle of as many files as
// are taken, with the longest paths.
func testDeliveryCost(t *testing.T, s *service.Service, token string) {
	c := service.AddCreative(&service.Conversation{T: t, Service: s, Token: token})
	entries := []assettest.Entry{{Name: "index.html"}}
	for i := range 999 {
		entries = append(entries, assettest.Entry{Name: fmt.Sprintf("%s%03d.css", strings.Repeat(`"`, 248), i), Content: fmt.Sprint(i)})
	}
	place := c.CDNID(c.Upload("a", "a.zip", assettest.ZIP(entries...), http.StatusCreated, ""))
	costs(s, t, token, http.MethodGet, place, []string{""}, 4<<20)
}

// testPatchCost measures a merge patch of a large object with as much in it, of which the
// values are merged in the transaction.
func testPatchCost(t *testing.T, s *service.Service, token string) {
	path := "/api/v1/lineitems/patched?context=main"
	members := func(value string) string {
		return fmt.Sprintf(`{"name":"lorem","targeting":{"keyValueTargets":[{"entries":%s}]}}`, strings.ReplaceAll(entries(20_000), "lorem", value))
	}
	s.Must(token, http.MethodPost, path, members("lorem"), http.StatusCreated)
	bodies := []string{members("loram"), members("lorem"), members("loram")}
	var w engine.Weight
	_, _ = w.Write([]byte(bodies[0]))
	costs(s, t, token, http.MethodPatch, path, bodies, w.Cost())
	small := []string{`{"targeting":{"categoryTargets":[{"categories":["a"]}]}}`, `{"targeting":{"categoryTargets":null}}`, `{"targeting":{"categoryTargets":[{"categories":["c"]}]}}`}
	costs(s, t, token, http.MethodPatch, path, small, w.Cost())
}

// costs sends a request and checks that it keeps no more in memory than a share.
// What a call allocates while the collector marks counts as kept, and on a busy
// machine that lasts longer: the least of several measurements is the nearest.
func costs(s *service.Service, t *testing.T, token, method, path string, bodies []string, share int64) {
	t.Helper()
	least := int64(math.MaxInt64)
	for _, body := range bodies {
		took := keeps(s, t, token, method, path, body)
		t.Logf("%s: %d KiB sent: %d KiB of %d KiB (%d%%)", t.Name(), len(body)>>10, took>>10, share>>10, 100*took/share)
		if least = min(least, took); least <= share {
			return
		}
	}
	t.Errorf("the call took more than its share")
}

// keeps sends a request and measures the memory that it keeps besides its answer.
func keeps(s *service.Service, t *testing.T, token, method, path, body string) int64 {
	t.Helper()
	stop, peak := make(chan bool), make(chan int64)
	runtime.GC()
	runtime.GC()
	before := live()
	go func() {
		var most int64
		for {
			select {
			case <-stop:
				peak <- most
				return
			default:
				runtime.GC()
				most = max(most, live())
			}
		}
	}()
	a, err := s.Send(method, path, http.Header{"Authorization": {"Bearer " + token}}, strings.NewReader(body))
	close(stop)
	took := <-peak - before
	if err != nil {
		t.Fatal(err)
	}
	if a.Status >= 300 {
		t.Fatalf("%d %.300s", a.Status, a.Body)
	}
	return took - int64(len(a.Body))*2
}

// live is the number of bytes the last collection found in use.
func live() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

type shape struct{ path, body, from, to string }

// entries is an object of n key values.
func entries(n int) string {
	members := service.ArrayOf(n, func(i int) string { return fmt.Sprintf(`"key%d":["v%d","lorem"]`, i, i) })
	return "{" + members[1:len(members)-1] + "}"
}

func shapes() map[string]shape {
	lorem := strings.Repeat("lorem ipsum ", 820)
	return map[string]shape{
		"long texts": {"/api/v1/notes?context=main", service.ArrayOf(1000, func(i int) string { return fmt.Sprintf(`{"id":"n%d","text":"%s"}`, i, lorem) }), "lorem", "loram"},
		"control characters": {"/api/v1/notes?context=main", service.ArrayOf(250, func(i int) string {
			return fmt.Sprintf(`{"id":"c%d","text":"lorem%s"}`, i, strings.Repeat(`\u0001`, 9000))
		}), "lorem", "loram"},
		"small objects": {"/api/v1/teams?context=main", service.ArrayOf(1000, func(i int) string { return fmt.Sprintf(`{"id":"t%d","name":"lorem %d"}`, i, i) }), "lorem", "loram"},
		"one object":    {"/api/v1/teams?context=main", `[{"id":"one","name":"lorem"}]`, "lorem", "loram"},
		"unknown properties": {"/api/v1/teams?context=main", service.ArrayOf(240, func(i int) string {
			return fmt.Sprintf(`{"id":"u%d","name":"lorem","x":[%s{}]}`, i, strings.Repeat(`{"k":[]},`, 498))
		}), "lorem", "loram"},
		"unknown objects": {"/api/v1/teams?context=main", service.ArrayOf(240, func(i int) string {
			return fmt.Sprintf(`{"id":"w%d","name":"lorem","x":[%s{}]}`, i, strings.Repeat(`{},`, 990))
		}), "lorem", "loram"},
		"unknown arrays": {"/api/v1/teams?context=main", service.ArrayOf(240, func(i int) string {
			return fmt.Sprintf(`{"id":"w%d","name":"lorem","x":[%s[]]}`, i, strings.Repeat(`[],`, 990))
		}), "lorem", "loram"},
		"unknown numbers": {"/api/v1/teams?context=main", service.ArrayOf(240, func(i int) string {
			return fmt.Sprintf(`{"id":"w%d","name":"lorem","x":[%s1]}`, i, strings.Repeat(`1,`, 990))
		}), "lorem", "loram"},
		"labels": {"/api/v1/teams?context=main", service.ArrayOf(100, func(i int) string {
			return fmt.Sprintf(`{"id":"l%d","name":"lorem","labels":%s}`, i, service.ArrayOf(200, func(j int) string { return fmt.Sprintf(`"l%d"`, j) }))
		}), "lorem", "loram"},
		"targeting": {"/api/v1/lineitems?context=main", service.ArrayOf(40, func(i int) string {
			return fmt.Sprintf(`{"id":"k%d","name":"lorem","targeting":{"keyValueTargets":[{"entries":%s}]}}`, i, entries(1000))
		}), "lorem", "loram"},
		"one large object": {"/api/v1/lineitems?context=main", service.ArrayOf(1, func(i int) string {
			return fmt.Sprintf(`{"id":"g%d","name":"lorem","targeting":{"keyValueTargets":[{"entries":%s}]}}`, i, entries(20_000))
		}), "lorem", "loram"},
		"one layout": {"/api/v1/layouts?context=main", `[{"id":"layout","name":"lorem","html":"` + strings.Repeat("lorem ipsum ", 80_000) + `"}]`, "lorem", "loram"},
	}
}
