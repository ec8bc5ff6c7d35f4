package access

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"marquee/integration/service"
	"marquee/resources/asset/assettest"
)

// TestWithdrawnRights takes rights from a user while the user's requests run: in
// the middle of a body, between the pages of a list, among writes that never
// stop. What comes after the answer to that is refused.
func TestWithdrawnRights(t *testing.T) { service.EachStore(t, testWithdrawnRights) }

// withdrawals are ways to take what the user eve may do, with how to give it
// back, and the status that she gets then.
var withdrawals = map[string]struct {
	path, take, give string
	status           int
}{
	"the permission of the role": {"/api/v1/roles/worker?context=main", `{"permissions": []}`, `{"permissions": ["MANAGE_BUSINESS"]}`, 403},
	"the role's state":           {"/api/v1/roles/worker?context=main", `{"objectState": "INACTIVE"}`, `{"objectState": "ACTIVE"}`, 403},
	"the role":                   {"/api/v1/users/eve", `{"userRoles": {"rolesByNetwork": []}}`, `{"userRoles": {"rolesByNetwork": [{"network": "east", "roles": [{"role": "worker"}]}]}}`, 403},
	"the network":                {"/api/v1/networks/east", `{"objectState": "INACTIVE"}`, `{"objectState": "ACTIVE"}`, 403},
	"the user":                   {"/api/v1/users/eve", `{"objectState": "HIDDEN"}`, `{"objectState": "ACTIVE"}`, 401},
	"the password":               {"/api/v1/users/eve", `{"password": "another password to test with"}`, `{"password": "a password to test with"}`, 401},
}

func testWithdrawnRights(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	c.Send("POST", "/api/v1/networks/east", `{"name": "East"}`, 201, "")
	c.Send("POST", "/api/v1/roles/worker?context=east", `{"name": "W", "scope": "NETWORK", "permissions": ["MANAGE_BUSINESS"]}`, 201, "")
	c.Send("POST", "/api/v1/batch?context=east", `{"operations": [{"type": "layouts", "object": {"id": "l", "name": "L", "html": "<p></p>"}},
		{"type": "creatives", "object": {"id": "c", "name": "C", "layout": "l", "dimensionType": "FLEXIBLE", "verifiedSafe": true}},
		{"type": "users", "object": {"id": "eve", "username": "eve", "password": "a password to test with", "userRoles": {"rolesByNetwork": [{"network": "east", "roles": [{"role": "worker"}]}]}}}]}`, 200, "")
	c.Send("POST", "/api/v1/tiers?context=east", `[`+strings.Repeat(`{"name": "T"},`, 9)+`{"name": "T"}]`, 200, "")
	for name, way := range withdrawals {
		t.Run(name, func(t *testing.T) {
			w := &withdrawal{Conversation: c, t: t, path: strings.Replace(way.path, "context=main", "context=east", 1), take: way.take, give: way.give, status: way.status}
			w.bodies()
			w.pages()
			w.race()
		})
	}
}

type withdrawal struct {
	*service.Conversation
	t                *testing.T
	path, take, give string
	status           int
}

func (w *withdrawal) eve() string {
	token, err := w.Service.SignIn("eve")
	if err != nil {
		w.t.Fatal(err)
	}
	return token
}

func (w *withdrawal) set(body string) {
	w.t.Helper()
	w.Service.Must(w.Token, http.MethodPut, w.path, body, http.StatusOK)
}

// bodies are sent by halves, and the right is taken between them.
func (w *withdrawal) bodies() {
	contentType, file := service.Form("a.png", assettest.PNG(3, 3))
	for _, r := range []struct{ path, contentType, body string }{
		{"/api/v1/tiers/late?context=east", "application/json", `{"name": "late"}`},
		{"/api/v1/tiers?context=east", "application/json", `[{"id": "late", "name": "late"}]`},
		{"/api/v1/batch?context=east", "application/json", `{"operations": [{"type": "tiers", "object": {"id": "late", "name": "late"}}]}`},
		{"/api/v1/segments/upload?context=east", "application/json", `[{"segmentId": "late", "name": "late", "dataSource": "ADOBE"}]`},
		{"/api/v1/assets/c/late?context=east", contentType, string(file)},
	} {
		token := w.eve()
		reader, writer := io.Pipe()
		begun := make(chan struct{})
		go func() {
			half := len(r.body) / 2
			io.WriteString(writer, r.body[:half])
			close(begun)
			<-w.taken(begun)
			io.WriteString(writer, r.body[half:])
			writer.Close()
		}()
		a, err := w.Service.Send(http.MethodPut, r.path, http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {r.contentType}}, reader)
		if err != nil {
			w.t.Fatal(err)
		}
		if a.Status != w.status {
			w.t.Errorf("%s, whose sender lost the right in the middle of the body: %d, not %d: %.300s", r.path, a.Status, w.status, a.Body)
		}
		w.set(w.give)
	}
	for _, path := range []string{"/api/v1/tiers/late", "/api/v1/segments/late", "/api/v1/assets/c/late"} {
		w.Service.Must(w.Token, http.MethodGet, path+"?context=east", "", http.StatusNotFound)
	}
}

// taken takes the right once the request has begun.
func (w *withdrawal) taken(begun <-chan struct{}) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		<-begun
		w.set(w.take)
		close(done)
	}()
	return done
}

// pages of a list end where the right to read it does.
func (w *withdrawal) pages() {
	token := w.eve()
	const list = "/api/v1/tiers?context=east&pageSize=2"
	first := w.Service.Must(token, http.MethodGet, list, "", http.StatusOK)
	next := list + "&cursor=" + url.QueryEscape(fmt.Sprint(first["nextCursor"]))
	w.Service.Must(token, http.MethodGet, next, "", http.StatusOK)
	w.set(w.take)
	status := w.status
	if strings.Contains(w.take, "permissions") { // who still has a role reads
		status = http.StatusOK
	}
	w.Service.Must(token, http.MethodGet, next, "", status)
	w.Service.Must(token, http.MethodGet, "/api/v1/audit?context=east&pageSize=2", "", status)
	w.Service.Must(token, http.MethodPut, "/api/v1/tiers/late?context=east", `{"name": "late"}`, w.status)
	w.set(w.give)
}

// race writes without end, and takes the right: no write that begins after the
// answer is done.
func (w *withdrawal) race() {
	token := w.eve()
	var wait sync.WaitGroup
	taken := make(chan struct{})
	for client := range 3 {
		wait.Go(func() {
			for n := 0; ; n++ {
				late := false
				select {
				case <-taken:
					late = true
				default:
				}
				a := w.Service.Ask(token, http.MethodPut, fmt.Sprintf("/api/v1/tiers/race-%d?context=east", client), fmt.Sprintf(`{"name": "%d"}`, n), nil)
				switch {
				case late && a.Status != w.status:
					w.t.Errorf("a write behind the withdrawal: %d, not %d: %s", a.Status, w.status, a.Body)
					return
				case late:
					return
				case a.Status >= 400 && a.Status != w.status:
					w.t.Errorf("%d %s", a.Status, a.Body)
					return
				}
			}
		})
	}
	w.set(w.take)
	close(taken)
	wait.Wait()
	w.set(w.give)
}
