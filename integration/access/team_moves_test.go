package access

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"marquee/engine/catalog"
	"marquee/engine/query"
	"marquee/engine/store"
	"marquee/integration/mongodb"
	"marquee/integration/process"
	"marquee/integration/service"
)

// teamMembers makes the teams a and b with one member each, anna and bert, and
// objects that belong to an advertiser of team a: an order, a line item and a creative.
func teamMembers(c *service.Conversation) (anna, bert *service.Conversation) {
	c.Helper()
	c.Send("POST", "/api/v1/batch?context=main", `{"operations": [
		{"type": "roles", "object": {"id": "team", "name": "T", "permissions": ["MANAGE_BUSINESS"]}},
		{"type": "users", "object": {"id": "anna", "username": "anna", "password": "a password to test with", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "team"}]}]}}},
		{"type": "users", "object": {"id": "bert", "username": "bert", "password": "a password to test with", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "team"}]}]}}},
		{"type": "teams", "object": {"id": "a", "name": "A", "users": [{"id": "anna"}]}},
		{"type": "teams", "object": {"id": "b", "name": "B", "users": [{"id": "bert"}]}},
		{"type": "layouts", "object": {"id": "l", "name": "L", "html": "<p></p>"}},
		{"type": "advertisers", "object": {"id": "adv", "name": "A", "team": "a"}},
		{"type": "advertisers", "object": {"id": "advb", "name": "B", "team": "b"}},
		{"type": "orders", "object": {"id": "o", "name": "O", "advertiser": "adv"}},
		{"type": "lineitems", "object": {"id": "li", "name": "L", "order": "o"}},
		{"type": "creatives", "object": {"id": "c", "name": "C", "layout": "l", "layoutParameters": {}, "width": 1, "height": 1, "verifiedSafe": true, "lineItem": "li"}}]}`, 200, "")
	as := func(name string) *service.Conversation {
		token, err := c.Service.SignIn(name)
		if err != nil {
			c.Fatal(err)
		}
		return &service.Conversation{T: c.T, Service: c.Service, Token: token}
	}
	return as("anna"), as("bert")
}

// wantSeen expects objects, as paths below the API, to be found one by one and in
// lists, or to be hidden in both.
func wantSeen(c *service.Conversation, seen bool, paths ...string) {
	c.Helper()
	for _, path := range paths {
		status, total := 404, 0
		if seen {
			status, total = 200, 1
		}
		c.Send("GET", "/api/v1/"+path+"?context=main", "", status, "")
		c.Send("HEAD", "/api/v1/"+path+"?context=main", "", status, "")
		name, id, _ := strings.Cut(path, "/")
		c.Send("GET", "/api/v1/"+name+"?context=main&id="+id, "", 200, fmt.Sprintf(`{"totalCount": %d}`, total))
		c.Send("GET", "/api/v1/"+name+"?context=main&pageSize=1000&where=id="+id, "", 200, fmt.Sprintf(`{"totalCount": %d}`, total))
	}
}

// TestTeamMoves changes the team of an object to which others belong, directly and
// through other objects: all of them follow, without a new version or an entry in their
// history.
func TestTeamMoves(t *testing.T) { service.EachStoreTwice(t, testTeamMoves) }

func testTeamMoves(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	anna, bert := teamMembers(c)
	all := []string{"advertisers/adv", "orders/o", "lineitems/li", "creatives/c"}
	wantSeen(anna, true, all...)
	wantSeen(bert, false, all...)
	tag := c.Send("GET", "/api/v1/creatives/c?context=main", "", 200, "").Header.Get("ETag")
	for _, step := range []struct {
		path, body string
		a, b       []string
	}{
		{"advertisers/adv", `{"team": "b"}`, nil, all},
		{"orders/o", `{"team": "a"}`, all[1:], all[:1]},
		{"advertisers/adv", `{"team": "a"}`, all, nil},
		{"orders/o", `{"team": null, "advertiser": "advb"}`, all[:1], all[1:]},
		{"advertisers/advb", `{"team": null}`, all, all[1:]},
		{"orders/o", `{"advertiser": null}`, all, all[1:]},
		{"orders/o", `{"team": "b"}`, all[:1], all[1:]},
		{"lineitems/li", `{"order": null}`, []string{all[0], all[2], all[3]}, all[1:]},
		{"lineitems/li", `{"order": "o"}`, all[:1], all[1:]},
	} {
		c.Send("POST", "/api/v1/"+step.path+"?context=main", step.body, 200, "")
		c.Follow()
		for who, sees := range map[*service.Conversation][]string{anna: step.a, bert: step.b} {
			for _, path := range all {
				wantSeen(who, strings.Contains(" "+strings.Join(sees, " ")+" ", " "+path+" "), path)
			}
		}
		if t.Failed() {
			t.Fatalf("after %s %s", step.path, step.body)
		}
	}
	c.Send("GET", "/api/v1/audit?context=main&type=creatives&id=c", "", 200, `{"totalCount": 1}`)
	if now := c.Send("GET", "/api/v1/creatives/c?context=main", "", 200, "").Header.Get("ETag"); now[:3] != tag[:3] {
		t.Errorf("the version is in %s, and was in %s", now, tag)
	}
}

// TestManyTeamMoves moves more than a transaction gives other owners: who sees what
// teams own sees none of it until all have followed, and others all of it always.
func TestManyTeamMoves(t *testing.T) {
	process.SkipLong(t)
	service.EachStoreTwice(t, testManyTeamMoves)
}

func testManyTeamMoves(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	c := service.Converse(t, fresh)
	anna, bert := teamMembers(c)
	const many = 1200
	for from := 0; from < many; from += 600 {
		var body strings.Builder
		for i := from; i < from+600; i++ {
			fmt.Fprintf(&body, `,{"id": "m%05d", "name": "M", "order": "o"}`, i)
		}
		c.Send("POST", "/api/v1/lineitems?context=main", "["+body.String()[1:]+"]", 200, "")
	}
	counts := func(a, b int) {
		t.Helper()
		for who, n := range map[*service.Conversation]int{c: many + 1, anna: a, bert: b} {
			who.Send("GET", "/api/v1/lineitems?context=main&pageSize=1", "", 200, fmt.Sprintf(`{"totalCount": %d}`, n))
		}
	}
	counts(many+1, 0)
	c.Send("POST", "/api/v1/advertisers/adv?context=main", `{"team": "b"}`, 200, "")
	counts(0, 0)
	const inDoubt = "warning.owners.in.doubt"
	for who, warned := range map[*service.Conversation]bool{c: false, anna: true, bert: true} {
		for _, path := range []string{"lineitems?context=main", "lineitems/m00000?context=main", "audit?context=main&type=lineitems&id=m00000"} {
			if a := who.Service.Ask(who.Token, "GET", "/api/v1/"+path, "", nil); strings.Contains(a.Header.Get("Warning"), inDoubt) != warned {
				t.Errorf("%s of a caller who may not see it now (%t): %d with the warning %q", path, warned, a.Status, a.Header.Get("Warning"))
			}
		}
		if a := who.Send("GET", "/api/v1/tiers?context=main", "", 200, ""); a.Header.Get("Warning") != "" {
			t.Errorf("a type that belongs to nobody has the warning %q", a.Header.Get("Warning"))
		}
	}
	wantSeen(anna, false, "lineitems/m00000", "lineitems/m01199", "creatives/c", "orders/o")
	wantSeen(bert, false, "lineitems/m01199")
	// Objects that do not belong to it are seen meanwhile, and what is written is right.
	c.Send("POST", "/api/v1/lineitems/free?context=main", `{"name": "F"}`, 201, "")
	wantSeen(anna, true, "lineitems/free")
	c.Follow()
	if a := bert.Send("GET", "/api/v1/lineitems?context=main", "", 200, ""); a.Header.Get("Warning") != "" {
		t.Errorf("when all have followed, there is the warning %q", a.Header.Get("Warning"))
	}
	wantSeen(bert, true, "lineitems/m00000", "lineitems/m01199", "creatives/c", "orders/o")
	for who, n := range map[*service.Conversation]int{c: many + 2, anna: 1, bert: many + 2} {
		who.Send("GET", "/api/v1/lineitems?context=main&pageSize=1", "", 200, fmt.Sprintf(`{"totalCount": %d}`, n))
	}
}

// TestTeamChangeMeetsWrites changes the team of an advertiser while other transactions,
// which do not see that, write objects that belong to it: once the change is answered,
// nobody sees these through the old team.
func TestTeamChangeMeetsWrites(t *testing.T) {
	t.Parallel()
	for n, name := range map[int]string{1: "one server", 2: "two servers"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mongodb.Need(t)
			servers, token := service.NewServers(t, n)
			c := &service.Conversation{T: t, Service: servers[n-1], Token: token}
			testTeamChangeMeetsWrites(c, servers[0])
		})
	}
}

func testTeamChangeMeetsWrites(c *service.Conversation, other *service.Service) {
	anna, bert := teamMembers(c)
	creative := func(id string) map[string]any {
		return map[string]any{"id": id, "name": "C", "layout": "l", "layoutParameters": map[string]any{}, "width": int64(1), "height": int64(1),
			"verifiedSafe": true, "lineItem": "li"}
	}
	for _, schedule := range []struct {
		name string
		held map[string]map[string]any
		move [2]string
		path string
	}{
		{"a new line item", map[string]map[string]any{"lineitems": {"id": "n1", "name": "N", "order": "o"}},
			[2]string{"advertisers/adv", `{"team": "b"}`}, "lineitems/n1"},
		{"a new creative, far below", map[string]map[string]any{"creatives": creative("n2")},
			[2]string{"advertisers/adv", `{"team": "b"}`}, "creatives/n2"},
		{"a new creative, and the order moves", map[string]map[string]any{"creatives": creative("n3")},
			[2]string{"orders/o", `{"advertiser": "advb"}`}, "creatives/n3"},
		{"a line item comes", map[string]map[string]any{"lineitems": {"id": "free", "order": "o"}},
			[2]string{"orders/o", `{"team": "b"}`}, "lineitems/free"},
		{"a chain: a creative comes, its line item comes, and the advertiser moves",
			map[string]map[string]any{"creatives": creative("n4"), "lineitems": {"id": "li", "order": "o2"}},
			[2]string{"advertisers/adv2", `{"team": "b"}`}, "creatives/n4"},
	} {
		c.Send("POST", "/api/v1/batch?context=main", `{"operations": [
			{"type": "advertisers", "object": {"id": "adv", "name": "A", "team": "a"}},
			{"type": "advertisers", "object": {"id": "adv2", "name": "A2", "team": "a"}},
			{"type": "orders", "object": {"id": "o", "name": "O", "advertiser": "adv", "team": null}},
			{"type": "orders", "object": {"id": "o2", "name": "O2", "advertiser": "adv2"}},
			{"type": "lineitems", "object": {"id": "free", "name": "F", "order": null}},
			{"type": "lineitems", "object": {"id": "li", "name": "L", "order": "o"}}]}`, 200, "")
		c.Follow()
		wantSeen(anna, true, "lineitems/li", "creatives/c")
		var release []func()
		for name, object := range schedule.held {
			release = append(release, c.Hold(other, name, object))
		}
		c.Send("POST", "/api/v1/"+schedule.move[0]+"?context=main", schedule.move[1], 200, "")
		for _, now := range release {
			now()
		}
		wantSeen(anna, false, schedule.path)
		c.Send("GET", "/api/v1/"+schedule.path+"?context=main", "", 200, "")
		c.Follow()
		wantSeen(anna, false, schedule.path)
		wantSeen(bert, true, schedule.path)
		if c.Failed() {
			c.Fatal("in the schedule: ", schedule.name)
		}
	}
}

// settleWatch reports each wait for open transactions when it begins, and counts how often
// the queue has been read.
type settleWatch struct {
	store.Store
	begun chan struct{}
	looks atomic.Int64
}

func (s *settleWatch) Settle(ctx context.Context, at time.Time) error {
	s.begun <- struct{}{}
	return s.Store.Settle(ctx, at)
}

func (s *settleWatch) Read(ctx context.Context, fn func(store.Snapshot) error) error {
	var looked atomic.Bool
	err := s.Store.Read(ctx, func(v store.Snapshot) error { return fn(&watchedSnapshot{v, &looked}) })
	if looked.Load() {
		s.looks.Add(1)
	}
	return err
}

type watchedSnapshot struct {
	store.Snapshot
	looked *atomic.Bool
}

func (v *watchedSnapshot) Find(ctx context.Context, q query.Query, yield func(*store.Record) error) error {
	if q.Collection == catalog.FollowUps {
		v.looked.Store(true)
	}
	return v.Snapshot.Find(ctx, q, yield)
}

// watched starts a server with members of teams and n more advertisers, adv0 and so on,
// each with an order, o0 and so on. Follow starts to work on the queue.
func watched(t *testing.T, n int) (c, bert *service.Conversation, watch *settleWatch, follow func()) {
	t.Helper()
	mongodb.Need(t)
	watch = &settleWatch{begun: make(chan struct{}, 100)}
	s := service.StartNew(&service.Service{TB: t, URI: service.Reusing(t)(t), Wrap: func(s store.Store) store.Store {
		watch.Store = s
		return watch
	}})
	c = service.ConverseWith(t, s)
	_, bert = teamMembers(c)
	var operations []string
	for i := range n {
		operations = append(operations, fmt.Sprintf(`{"type": "advertisers", "object": {"id": "adv%[1]d", "name": "A", "team": "a"}},
			{"type": "orders", "object": {"id": "o%[1]d", "name": "O", "advertiser": "adv%[1]d"}}`, i))
	}
	c.Send("POST", "/api/v1/batch?context=main", `{"operations": [`+strings.Join(operations, ",")+`]}`, 200, "")
	c.Follow()
	for len(watch.begun) > 0 {
		<-watch.begun
	}
	return c, bert, watch, func() {
		ctx, cancel := context.WithCancel(t.Context())
		var following sync.WaitGroup
		following.Go(func() { s.Engine.FollowUp(ctx, slog.New(slog.DiscardHandler)) })
		t.Cleanup(following.Wait)
		t.Cleanup(cancel)
	}
}

// move gives an advertiser to team b.
func move(c *service.Conversation, i int) {
	c.Helper()
	c.Send("POST", fmt.Sprintf("/api/v1/advertisers/adv%d?context=main", i), `{"team": "b"}`, 200, "")
}

// moveWaits moves an advertiser, and returns when its own wait has begun.
func (w *settleWatch) moveWaits(c *service.Conversation, i int) {
	c.Helper()
	move(c, i)
	select {
	case <-w.begun:
	case <-time.After(service.Patience / 4):
		c.Fatalf("nobody waits for the transactions that may concern the move of adv%d", i)
	}
}

// TestTeamMovesWaitApart moves an object while the wait for the transactions that may
// concern an earlier move goes on: its own wait begins at once, so that it is not for
// transactions that begin later.
func TestTeamMovesWaitApart(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	c, bert, watch, follow := watched(t, 2)
	release := c.Hold(c.Service, "lineitems", map[string]any{"id": "n1", "name": "N", "order": "o0"})
	follow()
	watch.moveWaits(c, 0)
	watch.moveWaits(c, 1)
	release()
	for _, path := range []string{"orders/o0", "orders/o1", "lineitems/n1"} {
		eventually(bert, path)
	}
}

// TestTeamMovesWaitForNoLaterWrite moves more objects, one after the other, than there are
// waits at a time: none of them waits for a transaction that has begun after its move.
func TestTeamMovesWaitForNoLaterWrite(t *testing.T) {
	t.Parallel()
	c, bert, watch, follow := watched(t, 5)
	earlier := c.Hold(c.Service, "lineitems", map[string]any{"id": "n1", "name": "N", "order": "o0"})
	follow()
	for i := range 4 {
		watch.moveWaits(c, i)
	}
	move(c, 4)
	for looks := watch.looks.Load(); watch.looks.Load() < looks+3; { // the last but one has met it
		select {
		case <-t.Context().Done():
			t.Fatal("the queue is not read")
		case <-time.After(10 * time.Millisecond):
		}
	}
	later := c.Hold(c.Service, "lineitems", map[string]any{"id": "n2", "name": "N", "order": "o1"})
	earlier()
	eventually(bert, "orders/o4")
	later()
}

// eventually waits until an object is seen.
func eventually(c *service.Conversation, path string) {
	c.Helper()
	for deadline := time.Now().Add(service.Patience); ; <-time.After(20 * time.Millisecond) {
		a := c.Service.Ask(c.Token, "GET", "/api/v1/"+path+"?context=main", "", nil)
		if a.Status == 200 {
			return
		}
		if time.Now().After(deadline) {
			c.Fatalf("%s: %d %s", path, a.Status, a.Body)
		}
	}
}
