package feed

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"marquee/integration/mongodb"
	"marquee/integration/service"
)

// TestServersFollowForReaders checks that a server follows its store once for all readers, as long as
// there are any, and that readers who come later miss nothing of what was written meanwhile. It looks
// at the goroutines of the process, so that it does not run beside other tests.
func TestServersFollowForReaders(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { testServersFollowForReaders(t, service.NewSQLite) })
	t.Run("mongodb", func(t *testing.T) {
		service.NeedStore(t, "mongodb")
		mongodb.Need(t)
		testServersFollowForReaders(t, service.Reusing(t))
	})
}

func testServersFollowForReaders(t *testing.T, fresh service.NewStore) {
	c := hospital(t, fresh)
	following(t, 0)
	position := positionOf(c, c.Token)
	for round := range 3 {
		var readers []*stream
		for range 3 {
			readers = append(readers, open(t, c.Service, c.Token, "&type=wards", position))
		}
		following(t, 1)
		for _, when := range []string{"before", "while"} {
			id := fmt.Sprintf("%s%d", when, round)
			if when == "while" || round == 0 {
				c.Send("PUT", "/api/v1/wards/"+id+"?context=main", `{}`, 201, "")
			}
			for _, o := range readers {
				e := o.next("change")
				if !strings.Contains(e.Data, `"id":"`+id+`"`) {
					t.Errorf("round %d: instead of %s, there is %s", round, id, e.Data)
				}
				position = e.ID
			}
		}
		following(t, 1)
		for _, o := range readers {
			_ = o.Answer.Body.Close()
		}
		following(t, 0)
		c.Send("PUT", fmt.Sprintf("/api/v1/wards/before%d?context=main", round+1), `{}`, 201, "")
	}
}

// following waits until stores are followed by a number of goroutines.
func following(t *testing.T, want int) {
	t.Helper()
	stacks := make([]byte, 8<<20)
	for begun := time.Now(); ; runtime.Gosched() {
		n := strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "read.(*Reader).follow(")
		if n == want {
			return
		}
		if time.Since(begun) > soon {
			t.Fatalf("%d goroutines follow the store, not %d", n, want)
		}
	}
}
