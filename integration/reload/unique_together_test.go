package reload

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"marquee/engine"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/integration/process"
	"marquee/integration/service"
)

// tickets is a folder with one type, whose x-resource and rules are given.
func tickets(unique, rules string) fs.FS {
	return fstest.MapFS{"tickets.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Ticket",
		"x-resource": {"path": "tickets", "unique": [` + unique + `]}, "type": "object", "properties": {
		"show": {"type": "string"}, "seat": {"type": "string"}, "valid": {"type": "boolean", "default": true},
		"begin": {"type": "integer"}, "end": {"type": "integer"}}` + rules + `}`)}}
}

const (
	seatOfShow  = `["show", "seat"]`
	validTicket = `{"properties": ["show", "seat"], "when": {"properties": {"valid": {"const": true}}, "required": ["valid"]}}`
)

// contest lets 64 clients write what only one of them can have, and returns how many
// succeed. The others must be told why.
func contest(t *testing.T, s *service.Service, token, code string, body func(client int) string) (succeeded int) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	begin := time.Now()
	for client := range service.WriterCount {
		all.Go(func() {
			a := s.Ask(token, http.MethodPost, "/api/v1/tickets?context=main", body(client), nil)
			mu.Lock()
			defer mu.Unlock()
			if a.Status == http.StatusOK {
				succeeded++
			} else if wrong := service.Expect(a, http.StatusUnprocessableEntity, code); wrong != "" {
				t.Errorf("client %d: %s", client, wrong)
			}
		})
	}
	all.Wait()
	t.Logf("%s: %d clients take %v", code, service.WriterCount, time.Since(begin))
	return succeeded
}

// serveTickets serves tickets of which nothing is unique. Post writes some, and checks the
// status of the answer.
func serveTickets(t *testing.T, fresh service.NewStore) (s *service.Service, e *engine.Engine, token string, post func(body string, status int)) {
	t.Helper()
	s = service.NewPlain(t, fresh)
	s.Stop()
	s.Schemas = []fs.FS{tickets("", "")}
	e = s.Start()
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	return s, e, token, func(body string, status int) {
		t.Helper()
		s.Must(token, http.MethodPost, "/api/v1/tickets?context=main", body, status)
	}
}

// TestTogetherContested: of 64 clients that want a pair of values, one gets it, alone and
// as part of a batch.
func TestTogetherContested(t *testing.T) { service.EachStore(t, testTogetherContested) }

func testTogetherContested(t *testing.T, fresh service.NewStore) {
	s := service.NewPlain(t, fresh, tickets(validTicket, ""))
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		n := contest(t, s, token, "error.values.not.unique", func(client int) string {
			return fmt.Sprintf(`{"id": "t%d-%d", "show": "s%d", "seat": "a"}`, round, client, round)
		})
		if n != 1 {
			t.Errorf("%d clients have the same pair", n)
		}
		n = contest(t, s, token, "error.values.not.unique", func(client int) string {
			return fmt.Sprintf(`[{"show": "b%d", "seat": "own%d"}, {"show": "b%d", "seat": "shared"}]`, round, client, round)
		})
		if n != 1 {
			t.Errorf("%d batches have the same pair", n)
		}
	}
	if list := s.Must(token, http.MethodGet, "/api/v1/tickets?context=main", "", http.StatusOK); fmt.Sprint(list["totalCount"]) != "9" {
		t.Errorf("%v tickets are stored", list["totalCount"])
	}
}

// TestTogetherOverLiveData makes pairs of values unique while objects are stored: what
// clashes is listed, and a condition that changes is filled in anew.
func TestTogetherOverLiveData(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testTogetherOverLiveData)
}

func testTogetherOverLiveData(t *testing.T, fresh service.NewStore) {
	s, e, _, post := serveTickets(t, fresh)
	post(`[{"id": "a", "show": "s", "seat": "1"}, {"id": "b", "show": "s", "seat": "1"}, {"id": "c", "show": "s", "seat": "2", "valid": false},
		{"id": "d", "show": "s", "seat": "2"}, {"id": "e", "show": "s"}, {"id": "f", "show": "s"}]`, http.StatusOK)
	refused := func(unique string, groups ...string) {
		t.Helper()
		err := s.Swap(e, tickets(unique, ""))
		var problems schema.Problems
		if !errors.As(err, &problems) || len(problems) != 1 || !problems.Passing() || fmt.Sprint(problems[0].Objects) != fmt.Sprint(groups) ||
			problems[0].Text != "seat and show cannot be unique: stored objects have the same values" {
			t.Fatalf("%s: %v", unique, err)
		}
	}
	refused(seatOfShow, `"a" and "b" (network "main")`, `"c" and "d" (network "main")`)
	refused(validTicket, `"a" and "b" (network "main")`)
	refused(validTicket, `"a" and "b" (network "main")`)
	post(`{"id": "b", "valid": false}`, http.StatusOK)
	if err := s.Swap(e, tickets(validTicket, "")); err != nil {
		t.Fatal(err)
	}
	post(`{"id": "b", "valid": true}`, http.StatusUnprocessableEntity)
	post(`{"id": "g", "show": "s", "seat": "1", "valid": false}`, http.StatusOK)

	// Another condition: those that are not valid count now, and the others no longer do.
	invalid := strings.Replace(validTicket, "true", "false", 1)
	refused(invalid, `"b" and "g" (network "main")`)
	post(`{"id": "b", "valid": true}`, http.StatusUnprocessableEntity) // as before
	post(`{"id": "g", "seat": "3"}`, http.StatusOK)
	if err := s.Swap(e, tickets(invalid, "")); err != nil {
		t.Fatal(err)
	}
	post(`{"id": "h", "show": "s", "seat": "1"}`, http.StatusOK)
	post(`{"id": "i", "show": "s", "seat": "1", "valid": false}`, http.StatusUnprocessableEntity)

	// And the first one again.
	refused(validTicket, `"a" and "h" (network "main")`)
	post(`{"id": "h", "seat": null}`, http.StatusOK)
	if err := s.Swap(e, tickets(validTicket, "")); err != nil {
		t.Fatal(err)
	}
	post(`{"id": "i", "show": "s", "seat": "1", "valid": false}`, http.StatusOK)
	post(`{"id": "h", "seat": "1"}`, http.StatusUnprocessableEntity)
}

const exclusiveTickets = `, "x-exclusive": [{"properties": ["show"], "from": "begin", "to": "end", "when": {"properties": {"valid": {"const": true}}}}]`

// TestIntervalsContested: of 64 clients that want overlapping intervals, one gets its own,
// alone and as part of a batch, and clients that want adjacent ones all do.
func TestIntervalsContested(t *testing.T) { service.EachStore(t, testIntervalsContested) }

func testIntervalsContested(t *testing.T, fresh service.NewStore) {
	s := service.NewPlain(t, fresh, tickets("", exclusiveTickets))
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	const code = "error.interval.overlaps"
	for round := range 3 {
		n := contest(t, s, token, code, func(client int) string {
			return fmt.Sprintf(`{"show": "s%d", "begin": %d, "end": %d}`, round, client, client+service.WriterCount)
		})
		if n != 1 {
			t.Errorf("%d clients have overlapping intervals", n)
		}
		n = contest(t, s, token, code, func(client int) string {
			return fmt.Sprintf(`[{"show": "own%d-%d", "begin": 1, "end": 2}, {"show": "b%d", "begin": %d, "end": 1000}]`, round, client, round, client)
		})
		if n != 1 {
			t.Errorf("%d batches have overlapping intervals", n)
		}
		n = contest(t, s, token, code, func(client int) string {
			return fmt.Sprintf(`{"show": "c%d", "begin": %d, "end": %d}`, round, client, client+1)
		})
		if n != service.WriterCount {
			t.Errorf("%d of %d clients have adjacent intervals", n, service.WriterCount)
		}
	}
}

// TestIntervalsOverLiveData makes intervals exclusive while objects are stored: what
// overlaps is listed.
func TestIntervalsOverLiveData(t *testing.T) { service.EachStore(t, testIntervalsOverLiveData) }

func testIntervalsOverLiveData(t *testing.T, fresh service.NewStore) {
	s, e, _, post := serveTickets(t, fresh)
	post(`[{"id": "a", "show": "s", "begin": 1, "end": 5}, {"id": "b", "show": "s", "begin": 4, "end": 8}, {"id": "c", "show": "s", "begin": 7, "end": 9},
		{"id": "d", "show": "s", "begin": 0, "end": 100, "valid": false}, {"id": "e", "show": "s", "begin": 9, "end": 3}, {"id": "f", "begin": 1}, {"id": "g", "show": "t"},
		{"id": "h", "show": "t", "begin": 7}]`, http.StatusOK)
	refused := func(groups ...string) {
		t.Helper()
		err := s.Swap(e, tickets("", exclusiveTickets))
		var problems schema.Problems
		if !errors.As(err, &problems) || len(problems) != 1 || !problems.Passing() || fmt.Sprint(problems[0].Objects) != fmt.Sprint(groups) ||
			problems[0].Pointer != "/x-exclusive" || problems[0].Text != "show from begin to end cannot be exclusive: the intervals of stored objects overlap" {
			t.Fatal(err)
		}
	}
	refused(`"a" and "b" (network "main")`, `"g" and "h" (network "main")`)
	refused(`"a" and "b" (network "main")`, `"g" and "h" (network "main")`)
	post(`{"id": "g", "end": 7}`, http.StatusOK)
	refused(`"a" and "b" (network "main")`)
	post(`{"id": "a", "end": 4}`, http.StatusOK)
	refused(`"b" and "c" (network "main")`)
	post(`{"id": "c", "begin": 8}`, http.StatusOK)
	if err := s.Swap(e, tickets("", exclusiveTickets)); err != nil {
		t.Fatal(err)
	}
	post(`{"id": "i", "show": "s", "begin": 3, "end": 4}`, http.StatusUnprocessableEntity)
	post(`{"id": "d", "valid": true}`, http.StatusUnprocessableEntity)
	post(`{"id": "i", "show": "s", "begin": 9, "end": 10}`, http.StatusOK)
	post(`{"id": "i", "show": "t"}`, http.StatusUnprocessableEntity)

	// Without the rule, all is free again.
	if err := s.Swap(e, tickets("", "")); err != nil {
		t.Fatal(err)
	}
	post(`{"id": "d", "valid": true}`, http.StatusOK)
}

// indexingBegins is a progress that calls a function when objects begin to be indexed.
type indexingBegins struct {
	once sync.Once
	do   func()
}

func (b *indexingBegins) Step(text string) {
	if strings.HasPrefix(text, "indexing") {
		b.once.Do(b.do)
	}
}
func (*indexingBegins) Advance(int) {}

// TestIntervalsWhileWriting writes a booking that overlaps a stored one while intervals
// become exclusive: either the write is refused, or the rule.
func TestIntervalsWhileWriting(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testIntervalsWhileWriting)
}

func testIntervalsWhileWriting(t *testing.T, fresh service.NewStore) {
	s, e, token, _ := serveTickets(t, fresh)
	exclusive, err := s.Load(tickets("", exclusiveTickets))
	if err != nil {
		t.Fatal(err)
	}
	const stored = 500
	var list []string
	for i := range stored {
		list = append(list, fmt.Sprintf(`{"id": "t%03d", "show": "s", "begin": %d, "end": %d}`, i, 10*i, 10*i+5))
	}
	s.Must(token, http.MethodPost, "/api/v1/tickets?context=main", "["+strings.Join(list, ",")+"]", http.StatusOK)
	served := 0
	const rounds = 10
	for round := range rounds {
		var all sync.WaitGroup
		var late *service.Answer
		begins := &indexingBegins{do: func() {
			all.Go(func() {
				begin := 10*(round*stored/rounds) + 3
				late = s.Ask(token, http.MethodPost, "/api/v1/tickets?context=main", fmt.Sprintf(`{"id": "late", "show": "s", "begin": %d, "end": %d}`, begin, begin+1), nil)
			})
		}}
		refused := e.Migrate(store.WithProgress(t.Context(), begins), exclusive)
		all.Wait()
		if refused == nil {
			served++
		}
		if stored := late.Status == http.StatusOK; stored != (refused != nil) {
			t.Errorf("round %d: the rule is refused: %v, and the write has %d %s", round, refused, late.Status, late.Body)
		}
		if err := s.Swap(e, tickets("", "")); err != nil {
			t.Fatal(err)
		}
		if a := s.Ask(token, http.MethodPost, "/api/v1/tickets?context=main", `{"id": "late", "show": null}`, nil); a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	t.Logf("the rule was served %d times", served)
}
