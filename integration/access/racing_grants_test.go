package access

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"marquee/engine/store"
	"marquee/integration/service"
)

// heldStore stops a transaction that has written everything, before it commits.
type heldStore struct {
	store.Store
	next atomic.Pointer[heldWrite]
}

type heldWrite struct{ begun, proceed chan struct{} }

func (s *heldStore) Write(ctx context.Context, fn func(store.Tx) error) error {
	held := s.next.Swap(nil)
	return s.Store.Write(ctx, func(tx store.Tx) error {
		if err := fn(tx); err != nil || held == nil {
			return err
		}
		close(held.begun)
		<-held.proceed
		held = nil
		return nil
	})
}

// TestRacingGrants adds a permission, which the caller holds for a team alone, to a role
// while another caller, who does not hold it, gives that role to a member of another team:
// one of them is refused.
func TestRacingGrants(t *testing.T) { service.EachStore(t, testRacingGrants) }

func testRacingGrants(t *testing.T, fresh service.NewStore) {
	held := &heldStore{}
	c := service.ConverseWith(t, service.StartNew(&service.Service{TB: t, URI: fresh(t), Wrap: func(s store.Store) store.Store {
		held.Store = s
		return held
	}}))
	user := func(id string, roles ...string) string {
		return fmt.Sprintf(`{"type": "users", "object": {"id": "%s", "username": "%[1]s", "password": "a password to test with",
			"userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "%s"}]}]}}}`, id, strings.Join(roles, `"}, {"role": "`))
	}
	c.Send("POST", "/api/v1/batch?context=main", `{"operations": [
		{"type": "roles", "object": {"id": "boss", "name": "Boss", "scope": "NETWORK", "permissions": ["MANAGE_SYSTEM"]}},
		{"type": "roles", "object": {"id": "seller", "name": "Seller", "permissions": ["MANAGE_BUSINESS"]}},
		{"type": "roles", "object": {"id": "plain", "name": "Plain"}},
		`+user("zoe", "boss", "seller")+`, `+user("mia", "boss")+`,
		{"type": "teams", "object": {"id": "ours", "name": "Ours", "users": ["zoe"]}},
		{"type": "teams", "object": {"id": "theirs", "name": "Theirs", "users": ["mia"]}}]}`, 200, "")
	as := map[string]*service.Conversation{}
	for _, name := range []string{"zoe", "mia"} {
		token, err := c.Service.SignIn(name)
		if err != nil {
			t.Fatal(err)
		}
		as[name] = &service.Conversation{T: t, Service: c.Service, Token: token}
	}
	type request struct{ user, path, body string }
	n := 0
	for _, schedule := range []struct{ name, prepare, path, body string }{
		{"a user is given the role", user("per{n}", "plain") + `, {"type": "teams", "object": {"id": "team{n}", "name": "T", "users": ["per{n}"]}}`,
			"/api/v1/users/per{n}", `{"userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "role{n}"}]}]}}`},
		{"a user of the role joins a team", user("per{n}", "role{n}") + `, {"type": "teams", "object": {"id": "team{n}", "name": "T"}}`,
			"/api/v1/teams/team{n}?context=main", `{"users": ["per{n}"]}`},
		{"an API token is given the role", `{"type": "teams", "object": {"id": "team{n}", "name": "T"}}`,
			"/api/v1/tokens/token{n}?context=main", `{"name": "T", "role": "role{n}"}`},
	} {
		for _, first := range []string{"zoe", "mia"} {
			n++
			numbered := func(text string) string { return strings.ReplaceAll(text, "{n}", fmt.Sprint(n)) }
			c.Send("POST", "/api/v1/batch?context=main", numbered(`{"operations": [{"type": "roles", "object": {"id": "role{n}", "name": "R"}}, `+schedule.prepare+`]}`), 200, "")
			requests := []request{
				{"zoe", numbered("/api/v1/roles/role{n}?context=main"), `{"permissions": ["MANAGE_BUSINESS"]}`},
				{"mia", numbered(schedule.path), numbered(schedule.body)},
			}
			if first == "mia" {
				requests[0], requests[1] = requests[1], requests[0]
			}
			answers := make(chan *service.Answer, 2)
			send := func(r request) {
				answers <- as[r.user].Service.Ask(as[r.user].Token, "PUT", r.path, r.body, nil)
			}
			write := &heldWrite{make(chan struct{}), make(chan struct{})}
			held.next.Store(write)
			go send(requests[0])
			<-write.begun
			done := make(chan struct{})
			go func() {
				send(requests[1])
				close(done)
			}()
			select {
			case <-done:
			case <-time.After(300 * time.Millisecond): // it waits for the first
			}
			close(write.proceed)
			statuses := map[int]int{}
			for range requests {
				a := <-answers
				if a.Status == 201 {
					a.Status = 200
				}
				statuses[a.Status]++
			}
			if statuses[200] != 1 || statuses[403] != 1 {
				t.Errorf("%s, and %s is first: %v", schedule.name, first, statuses)
			}
		}
	}
}
