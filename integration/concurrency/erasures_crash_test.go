package concurrency

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"marquee/integration/process"
	"marquee/integration/service"
)

const (
	// erasurePersons are the persons that are erased in a round, each of which has had
	// erasureVersions names: the history takes more than one step.
	erasurePersons, erasureVersions = 3, 110
)

// TestErasuresOfCrashes kills the process while it erases persons who are written at the
// same time. After the next start, an erasure is completed without another request, or
// nothing of it has happened: then the person has the last name, and the history all of
// them.
func TestErasuresOfCrashes(t *testing.T) { service.EachStore(t, testErasuresOfCrashes) }

func testErasuresOfCrashes(t *testing.T, fresh service.NewStore) {
	process.SkipCoveredBy(t, "'make crash'")
	rounds := 4
	if testing.Short() {
		rounds = 2
	}
	rounds = min(process.Number(t, "MARQUEE_CRASHES", rounds), 30)
	seed := process.Number(t, "MARQUEE_CRASH_SEED", int(time.Now().UnixNano()))
	t.Logf("MARQUEE_CRASH_SEED=%d", seed)
	e := &erasuresOfCrashes{T: t, random: rand.New(rand.NewPCG(uint64(seed), 4)), store: process.CrashStore(t, fresh), schemas: t.TempDir()}
	process.File(t, filepath.Join(e.schemas, "persons.json"), `{"$schema": "https://json-schema.org/draft/2020-12/schema",
		"x-resource": {"path": "persons", "search": ["name"], "unique": ["name"], "sort": ["name"]}, "type": "object",
		"properties": {"name": {"type": "string", "x-personal": true}, "n": {"type": "integer"}}}`)
	e.serve()
	for e.round = range rounds {
		e.fill()
		e.crash()
		process.EndTransactions(t, e.store)
		if e.round > 0 {
			process.EndLease(t, e.store)
		}
		e.serve()
		for i := range erasurePersons {
			e.check(e.person(i))
		}
		if t.Failed() {
			return
		}
	}
	e.p.Stop()
	if at := bytes.Index(service.AtRest(t, e.store), []byte("geheim")); at >= 0 {
		t.Error("a name is left")
	}
	t.Logf("%d erasures went on after a start, %d were complete, and %d had not begun", e.continued, e.complete, e.none)
}

// erasuresOfCrashes is a server that is killed again and again.
type erasuresOfCrashes struct {
	*testing.T
	random         *rand.Rand
	store, schemas string
	p              *process.Process
	token          string
	round          int
	// statuses are the answers to the erasures of the round, by person.
	mu       sync.Mutex
	statuses map[string]int
	// The rest counts how the erasures were found after a start.
	continued, complete, none int
}

func (e *erasuresOfCrashes) serve() {
	e.Helper()
	e.p = process.Serve(e.T, e.store, "--application", "none", "--schemas", e.schemas, "--clock-interval", "1s")
	if e.p.Token = e.token; e.token == "" {
		e.p.SignIn("admin", process.Password)
		e.token = e.p.Token
	}
}

func (e *erasuresOfCrashes) person(i int) string { return fmt.Sprintf("r%d-%d", e.round, i) }

// name is a name of a person, which no other person has.
func (e *erasuresOfCrashes) name(person string, version int) string {
	return fmt.Sprintf("geheim %s %d", person, version)
}

func (e *erasuresOfCrashes) fill() {
	for version := range erasureVersions {
		e.p.Ask(http.StatusOK, http.MethodPost, "/api/v1/persons?context=main", service.ArrayOf(erasurePersons, func(i int) string {
			return fmt.Sprintf(`{"id": %q, "name": %q}`, e.person(i), e.name(e.person(i), version))
		}))
	}
}

// crash erases the persons while others write them, and kills the process.
func (e *erasuresOfCrashes) crash() {
	e.statuses = map[string]int{}
	var clients sync.WaitGroup
	begun := make(chan struct{}, erasurePersons)
	for i := range erasurePersons {
		person := e.person(i)
		clients.Go(func() {
			for n := 0; ; n++ {
				if _, err := e.p.Send(http.MethodPatch, "/api/v1/persons/"+person+"?context=main", nil, fmt.Appendf(nil, `{"n": %d}`, n)); err != nil {
					return
				}
			}
		})
		clients.Go(func() {
			begun <- struct{}{}
			if a, err := e.p.Send(http.MethodPost, "/api/v1/persons/"+person+"/erase?context=main", nil, nil); err == nil {
				e.mu.Lock()
				e.statuses[person] = a.Status
				e.mu.Unlock()
			}
		})
	}
	later := time.Duration(e.random.Int64N(int64(150 * time.Millisecond)))
	<-begun
	<-time.After(later)
	e.p.Kill()
	clients.Wait()
}

// check looks at a person after the start.
func (e *erasuresOfCrashes) check(person string) {
	e.Helper()
	names := []byte("geheim " + person + " ")
	object, _ := e.p.Ask(http.StatusOK, http.MethodGet, "/api/v1/persons/"+person+"?context=main", "").JSON().(map[string]any)
	status, answered := e.statuses[person]
	if answered && status != http.StatusOK && status != http.StatusAccepted && status != http.StatusConflict && status != http.StatusServiceUnavailable {
		e.Errorf("%s: %d", person, status)
	}
	if object["objectState"] != "HIDDEN" {
		if e.none++; status == http.StatusOK || status == http.StatusAccepted {
			e.Errorf("%s is not erased, and the answer was %d", person, status)
		}
		e.untouched(person, object)
		e.p.Ask(http.StatusOK, http.MethodPost, "/api/v1/persons/"+person+"/erase?context=main", "")
	} else if object["name"] != nil {
		e.Errorf("%s is hidden and has a name: %v", person, object)
	} else if status == http.StatusOK {
		if e.complete++; bytes.Contains(service.AtRest(e.T, e.store), names) {
			e.Errorf("the names of %s are left, and the answer was that the erasure is complete", person)
		}
	} else {
		e.continued++
	}
	e.p.Eventually("the erasure of "+person+" does not go on", func() bool { return !bytes.Contains(service.AtRest(e.T, e.store), names) })
}

// untouched expects of a person who was not erased the last name, and all of them in the
// history.
func (e *erasuresOfCrashes) untouched(person string, object map[string]any) {
	e.Helper()
	if want := e.name(person, erasureVersions-1); object["name"] != want {
		e.Errorf("the name is %v, not %s", object["name"], want)
	}
	names := map[any]bool{}
	for cursor := ""; ; {
		var page struct {
			Results    []auditEntry
			NextCursor string
		}
		a := e.p.Ask(http.StatusOK, http.MethodGet, "/api/v1/audit?context=main&type=persons&id="+person+"&pageSize=1000"+cursor, "")
		if err := json.Unmarshal(a.Body, &page); err != nil {
			e.Fatal(err)
		}
		for _, entry := range page.Results {
			if name, _ := entry.to("/name").(string); strings.HasPrefix(name, "geheim ") {
				names[name] = true
			}
		}
		if page.NextCursor == "" {
			break
		}
		cursor = "&cursor=" + page.NextCursor
	}
	if len(names) != erasureVersions {
		e.Errorf("the history of %s has %d names of %d", person, len(names), erasureVersions)
	}
}
