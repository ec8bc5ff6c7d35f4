package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// conversation sends requests as the administrator.
type conversation struct {
	*testing.T
	s     *service
	token string
}

func converse(t *testing.T, fresh newStore) *conversation {
	t.Helper()
	return converseWith(t, newService(t, fresh))
}

// converseWith speaks with a service as its administrator.
func converseWith(t *testing.T, s *service) *conversation {
	t.Helper()
	token, err := s.signIn(admin)
	if err != nil {
		t.Fatal(err)
	}
	return &conversation{t, s, token}
}

// patiently restarts the service with a deadline that only a call that hangs exceeds,
// for large calls on a busy machine.
func (c *conversation) patiently() {
	c.s.stop()
	c.s.deadline = 10 * time.Minute
	c.s.start()
}

// send expects a status and a pattern of the body ("" is any).
func (c *conversation) send(method, path, body string, status int, pattern string) *answer {
	c.Helper()
	a, err := c.s.send(method, path, http.Header{"Authorization": {"Bearer " + c.token}}, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	if a.status != status {
		c.Fatalf("%s %.80s: status is %d, not %d: %.500s\n%s", method, path, a.status, status, a.body, c.s.errors)
	}
	for _, wrong := range a.promises(false) {
		c.Error(wrong)
	}
	if pattern == "" {
		return a
	}
	expected, err := decode([]byte(pattern))
	if err != nil {
		c.Fatal(err)
	}
	for _, wrong := range match(expected, a.json(), "", map[string]string{}) {
		c.Errorf("%s %.80s: %s", method, path, wrong)
	}
	return a
}

// TestLimitsHold sends what is just within the limits; TestHostile sends what
// is just beyond.
func TestLimitsHold(t *testing.T) { eachStore(t, testLimitsHold) }

func testLimitsHold(t *testing.T, fresh newStore) {
	c := converse(t, fresh)
	c.send("POST", "/api/v1/contextserviceconnections?context=main", "[]", 200, `{"totalCount": 0}`)
	// 64 levels, of which the free-form part is dropped as an unknown property.
	c.send("POST", "/api/v1/teams/deep?context=main", `{"name": "a", "x": `+strings.Repeat("[", 63)+strings.Repeat("]", 63)+"}", 201, `{"name": "a"}`)
	c.send("POST", collection, "["+strings.Repeat(`{"name": "a"},`, 999)+`{"name": "a"}]`, 200, `{"totalCount": 1000}`)
	// An object of 1 MiB to the byte.
	before, after := `{"name": "a", "x": "`, `"}`
	whole := before + strings.Repeat("x", 1<<20-len(before)-len(after)) + after
	c.send("POST", "/api/v1/teams/large?context=main", whole, 201, `{"x": "<absent>"}`)
	// A body of 16 MiB to the byte.
	body := "[" + whole + strings.Repeat(","+whole, 14) + "]"
	body += strings.Repeat(" ", 16<<20-len(body))
	c.send("POST", collection, body, 200, `{"totalCount": 15}`)
	c.send("GET", collection+"&id="+ids(1000), "", 200, `{"totalCount": 0}`)
	// An id of 256 bytes that need escapes.
	id := strings.Repeat("%C3%A5", 128)
	c.send("POST", "/api/v1/teams/"+id+"?context=main", `{"name": "a"}`, 201, `{"id": "`+strings.Repeat("å", 128)+`"}`)
}

// TestManyNames sends an object with tens of thousands of unknown names: 20
// are named.
func TestManyNames(t *testing.T) { eachStore(t, testManyNames) }

func testManyNames(t *testing.T, fresh newStore) {
	c := converse(t, fresh)
	var b strings.Builder
	b.WriteString(`{"name": "a"`)
	for i := range 80_000 {
		fmt.Fprintf(&b, `,"n%d":0`, i)
	}
	b.WriteString("}")
	a := c.send("POST", object, b.String(), 201, `{"name": "a"}`)
	if n := len(a.header.Values("Warning")); n != 20 {
		t.Errorf("%d names are shown", n)
	}
	a = c.send("POST", object+"&fieldValidation=Strict", b.String(), 422, "")
	c.faults(a, 100)
}

// faults counts the messages of a problem.
func (c *conversation) faults(a *answer, n int) {
	c.Helper()
	problem, _ := a.json().(map[string]any)
	messages, _ := problem["messages"].([]any)
	if len(messages) != n {
		c.Errorf("there are %d messages, not %d", len(messages), n)
	}
}

// TestFaultsAreBounded sends more faults than an answer lists.
func TestFaultsAreBounded(t *testing.T) { eachStore(t, testFaultsAreBounded) }

func testFaultsAreBounded(t *testing.T, fresh newStore) {
	c := converse(t, fresh)
	objects := "[" + strings.Repeat(`{"labels": [""]},`, 999) + `{"labels": [""]}]`
	c.faults(c.send("POST", collection, objects, 422, ""), 100)
	references := `{"name": "a", "notes": [` + strings.Repeat(`"x",`, 5000) + `"y"]}`
	c.faults(c.send("POST", "/api/v1/orders/o?context=main", references, 422, ""), 100)
}

// TestPagesAreComplete walks a thousand objects of one moment by cursor and by
// page, in both directions.
func TestPagesAreComplete(t *testing.T) { eachStore(t, testPagesAreComplete) }

func testPagesAreComplete(t *testing.T, fresh newStore) {
	c := converse(t, fresh)
	var objects []string
	for i := range 1000 {
		objects = append(objects, fmt.Sprintf(`{"id": "t%03d", "name": "n%d"}`, i, i%3))
	}
	c.send("POST", collection, "["+strings.Join(objects, ",")+"]", 200, "")
	for _, order := range []string{"", "&orderBy=name", "&orderBy=name&orderByDirection=DESCENDING", "&orderBy=id&orderByDirection=DESCENDING", "&where=name%20in%20n1,n2"} {
		byCursor, byPage := c.walk(order, true), c.walk(order, false)
		if len(byCursor) != len(byPage) {
			t.Fatalf("%s: %d objects by cursor, %d by page", order, len(byCursor), len(byPage))
		}
		seen := map[string]bool{}
		for i, id := range byCursor {
			if id != byPage[i] || seen[id] {
				t.Fatalf("%s: object %d is %s by cursor, %s by page", order, i, id, byPage[i])
			}
			seen[id] = true
		}
		want := 1000
		if strings.Contains(order, "where") {
			want = 666
		}
		if len(seen) != want {
			t.Errorf("%s: %d objects of %d", order, len(seen), want)
		}
	}
}

// walk reads all pages of a list of teams.
func (c *conversation) walk(order string, byCursor bool) []string {
	c.Helper()
	var found []string
	position := ""
	for page := 0; ; page++ {
		a := c.send("GET", collection+"&pageSize=97&fields=id"+order+position, "", 200, "")
		list, _ := a.json().(map[string]any)
		results, _ := list["results"].([]any)
		for _, entry := range results {
			object, _ := entry.(map[string]any)
			id, _ := object["id"].(string)
			found = append(found, id)
		}
		next, more := list["nextCursor"].(string)
		switch {
		case len(results) == 0 || byCursor && !more:
			return found
		case byCursor:
			position = "&cursor=" + next
		default:
			position = fmt.Sprintf("&page=%d", page+1)
		}
	}
}
