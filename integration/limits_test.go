package integration

import (
	"fmt"
	"strings"
	"testing"

	"marquee/integration/service"
)

// TestLimitsHold sends what is just within the limits; TestHostile sends what
// is just beyond.
func TestLimitsHold(t *testing.T) { service.EachStore(t, testLimitsHold) }

func testLimitsHold(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	c.Send("POST", "/api/v1/contextserviceconnections?context=main", "[]", 200, `{"totalCount": 0}`)
	// 64 levels, of which the free-form part is dropped as an unknown property.
	c.Send("POST", "/api/v1/teams/deep?context=main", `{"name": "a", "x": `+strings.Repeat("[", 63)+strings.Repeat("]", 63)+"}", 201, `{"name": "a"}`)
	c.Send("POST", service.Collection, "["+strings.Repeat(`{"name": "a"},`, 999)+`{"name": "a"}]`, 200, `{"totalCount": 1000}`)
	// An object of 1 MiB to the byte.
	before, after := `{"name": "a", "x": "`, `"}`
	whole := before + strings.Repeat("x", 1<<20-len(before)-len(after)) + after
	c.Send("POST", "/api/v1/teams/large?context=main", whole, 201, `{"x": "<absent>"}`)
	// A body of 16 MiB to the byte.
	body := "[" + whole + strings.Repeat(","+whole, 14) + "]"
	body += strings.Repeat(" ", 16<<20-len(body))
	c.Send("POST", service.Collection, body, 200, `{"totalCount": 15}`)
	c.Send("GET", service.Collection+"&id="+ids(1000), "", 200, `{"totalCount": 0}`)
	// An id of 256 bytes that need escapes.
	id := strings.Repeat("%C3%A5", 128)
	c.Send("POST", "/api/v1/teams/"+id+"?context=main", `{"name": "a"}`, 201, `{"id": "`+strings.Repeat("å", 128)+`"}`)
}

// TestManyNames sends an object with tens of thousands of unknown names: 20
// are named.
func TestManyNames(t *testing.T) { service.EachStore(t, testManyNames) }

func testManyNames(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	var b strings.Builder
	b.WriteString(`{"name": "a"`)
	for i := range 80_000 {
		fmt.Fprintf(&b, `,"n%d":0`, i)
	}
	b.WriteString("}")
	a := c.Send("POST", service.Object, b.String(), 201, `{"name": "a"}`)
	if n := len(a.Header.Values("Warning")); n != 20 {
		t.Errorf("%d names are shown", n)
	}
	a = c.Send("POST", service.Object+"&fieldValidation=Strict", b.String(), 422, "")
	c.Faults(a, 100)
}

// TestFaultsAreBounded sends more faults than an answer lists.
func TestFaultsAreBounded(t *testing.T) { service.EachStore(t, testFaultsAreBounded) }

func testFaultsAreBounded(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	objects := "[" + strings.Repeat(`{"labels": [""]},`, 999) + `{"labels": [""]}]`
	c.Faults(c.Send("POST", service.Collection, objects, 422, ""), 100)
	references := `{"name": "a", "notes": [` + strings.Repeat(`"x",`, 5000) + `"y"]}`
	c.Faults(c.Send("POST", "/api/v1/orders/o?context=main", references, 422, ""), 100)
}

// TestPagesAreComplete walks a thousand objects of one moment by cursor and by
// page, in both directions.
func TestPagesAreComplete(t *testing.T) { service.EachStore(t, testPagesAreComplete) }

func testPagesAreComplete(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	var objects []string
	for i := range 1000 {
		objects = append(objects, fmt.Sprintf(`{"id": "t%03d", "name": "n%d"}`, i, i%3))
	}
	c.Send("POST", service.Collection, "["+strings.Join(objects, ",")+"]", 200, "")
	for _, order := range []string{"", "&orderBy=name", "&orderBy=name&orderByDirection=DESCENDING", "&orderBy=id&orderByDirection=DESCENDING", "&where=name%20in%20n1,n2"} {
		byCursor, byPage := walkPages(c, order, true), walkPages(c, order, false)
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

// walkPages reads all pages of a list of teams.
func walkPages(c *service.Conversation, order string, byCursor bool) []string {
	c.Helper()
	var found []string
	position := ""
	for page := 0; ; page++ {
		a := c.Send("GET", service.Collection+"&pageSize=97&fields=id"+order+position, "", 200, "")
		list, _ := a.JSON().(map[string]any)
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
