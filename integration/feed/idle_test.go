package feed

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"marquee/engine/store"
	"marquee/integration/service"
)

// TestServersFollowForReaders checks that a server follows its store once for all readers, as long as
// there are any, and that readers who come later miss nothing of what was written meanwhile.
func TestServersFollowForReaders(t *testing.T) { service.EachStore(t, testServersFollowForReaders) }

func testServersFollowForReaders(t *testing.T, fresh service.NewStore) {
	c := hospital(t, fresh)
	followed := &followedStore{read: map[string]int{}}
	c.Service.Stop()
	c.Service.Wrap = func(s store.Store) store.Store {
		followed.Store = s
		return followed
	}
	c.Service.Start()
	following(c, false)
	position := positionOf(c, c.Token)
	write := func(id string) string {
		c.Send("PUT", "/api/v1/wards/"+id+"?context=main", `{}`, 201, "")
		return id
	}
	for round := range 3 {
		id := write(fmt.Sprintf("before%d", round))
		var readers []*stream
		for range 3 {
			readers = append(readers, open(t, c.Service, c.Token, "&type=wards", position))
		}
		following(c, true)
		receive := func() {
			for _, o := range readers {
				e := o.next("change")
				if !strings.Contains(e.Data, `"id":"`+id+`"`) {
					t.Errorf("round %d: instead of %s, there is %s", round, id, e.Data)
				}
				position = e.ID
			}
		}
		receive()
		for n, begun := 0, time.Now(); followed.times(id) == 0; n++ { // which may begin behind some
			if time.Since(begun) > soon {
				t.Fatal("the store is not followed")
			}
			id = write(fmt.Sprintf("while%d-%d", round, n))
			receive()
		}
		following(c, true)
		for _, o := range readers {
			_ = o.Answer.Body.Close()
		}
		following(c, false)
	}
	for id, times := range followed.read {
		if times > 1 {
			t.Errorf("the change of %s was read %d times", id, times)
		}
	}
}

// followedStore counts how often changes were read for those who wait for some.
type followedStore struct {
	store.Store
	mu   sync.Mutex
	read map[string]int // by the id of the object
}

func (s *followedStore) Changes(ctx context.Context, after string, limit int, collections ...string) ([]store.Change, string, error) {
	changes, next, err := s.Store.Changes(ctx, after, limit, collections...)
	if store.EffortOf(ctx).Wait > 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		for i := range changes {
			s.read[changes[i].ID]++
		}
	}
	return changes, next, err
}

func (s *followedStore) times(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read[id]
}

// following waits until the store is followed, or is not.
func following(c *service.Conversation, want bool) {
	c.Helper()
	for begun := time.Now(); c.Service.Marquee.Stats().Following != want; runtime.Gosched() {
		if time.Since(begun) > soon {
			c.Fatalf("that the store is followed is %t", !want)
		}
	}
}
