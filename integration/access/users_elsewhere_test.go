package access

import (
	"net/http"
	"testing"
	"time"

	"marquee/integration/service"
)

// TestUsersElsewhere asks two services that differ only in what the roles of users are,
// and have been, in a network that the caller does not see: the answers are the same.
func TestUsersElsewhere(t *testing.T) { service.EachStore(t, testUsersElsewhere) }

// userWrite is a write to both services; second is what the second one is sent in its
// place, and "-" is nothing.
type userWrite struct{ path, first, second string }

var userWrites = []userWrite{
	{"/api/v1/networks/other", `{"name": "Other"}`, ""},
	{"/api/v1/roles/reader?context=other", `{"name": "Reader", "scope": "NETWORK"}`, ""},
	{"/api/v1/roles/boss?context=main", `{"name": "Boss", "scope": "NETWORK", "permissions": ["MANAGE_SYSTEM"]}`, ""},
	{"/api/v1/roles/reader?context=main", `{"name": "Reader", "scope": "NETWORK"}`, ""},
	{"/api/v1/users/eva", userWith("eva", `{"network": "main", "roles": [{"role": "boss"}]}`), ""},
	{"/api/v1/users/rita", userWith("rita", `{"network": "main", "roles": [{"role": "reader"}]}`), ""},
	{"/api/v1/users/mats", userWith("mats", `{"network": "main", "roles": [{"role": "reader"}]}`), ""},
	{"/api/v1/users/kari", userWith("kari", `{"network": "main", "roles": [{"role": "reader"}]}`), ""},
	{"/api/v1/users/ola", userWith("ola", `{"network": "main", "roles": [{"role": "reader"}]}`),
		userWith("ola", `{"network": "other", "roles": [{"role": "reader"}]}, {"network": "main", "roles": [{"role": "reader"}]}`)},
	{"/api/v1/users/kari", "-", `{"userRoles": {"rolesByNetwork": [{"network": "other", "roles": [{"role": "reader"}]}, {"network": "main", "roles": [{"role": "reader"}]}]}}`},
	{"/api/v1/users/ola", "-", `{"userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "reader"}]}]}}`},
	{"/api/v1/users/kari", `{"displayName": "Kari"}`, ""},
	{"/api/v1/users/kari", `{"userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "boss"}]}]}}`,
		`{"userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "boss"}]}, {"network": "other", "roles": []}]}}`},
	{"/api/v1/users/mats", "-", `{"userRoles": {"rolesByNetwork": [{"network": "other", "roles": [{"role": "reader"}]}, {"network": "main", "roles": [{"role": "reader"}]}]}}`},
	{"/api/v1/users/kari", "-", `{"userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "boss"}]}, {"network": "other", "roles": [{"role": "reader"}]}]}}`},
}

func userWith(name, entries string) string {
	return `{"username": "` + name + `", "password": "a password to test with", "userRoles": {"rolesByNetwork": [` + entries + `]}}`
}

// userRequests are what a caller asks who sees one of the networks. {etag} and {cursor}
// are those of the last answer.
func userRequests() []programmed {
	var requests []programmed
	read := func(paths ...string) {
		for _, path := range paths {
			requests = append(requests, programmed{method: http.MethodGet, path: path})
		}
	}
	with := func(method, path, header, value, body string) {
		requests = append(requests, programmed{method: method, path: path, header: map[string]string{header: value}, body: body})
	}
	all := func() {
		read("/api/v1/users?context=main", "/api/v1/users", "/api/v1/users?context=main&orderBy=updateTime", "/api/v1/users?context=main&orderBy=updateTime&orderByDirection=DESCENDING",
			"/api/v1/users?orderBy=updateUser", "/api/v1/users?where=updateTime>2031-03-01T12:00:05Z", "/api/v1/users?where=updateTime%3C2031-03-01T12:00:09Z",
			"/api/v1/users?filterBy=updateUser&filterByValue=administrator", "/api/v1/users?fields=id,userRoles&pageSize=2", "/api/v1/users?fields=id,userRoles&pageSize=2&cursor={cursor}",
			"/api/v1/users?context=other", "/api/v1/users?excludeIfMissing=userRoles")
		for _, id := range []string{"kari", "ola", "mats"} {
			path, history := "/api/v1/users/"+id, "/api/v1/audit?context=main&type=users&id="+id
			read(history, history+"&pageSize=1", history+"&pageSize=1&cursor={cursor}", history+"&pageSize=1&cursor={cursor}", history+"&pageSize=2&page=1", history+"&pageSize=3&page=9",
				"/api/v1/audit?context=other&type=users&id="+id, path)
			with(http.MethodGet, path, "If-None-Match", "{etag}", "")
			with(http.MethodHead, path, "If-Match", "{etag}", "")
			with(http.MethodPut, path+"?validateOnly=true", "If-Match", "{etag}", `{"userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "reader"}, {"role": "boss"}]}]}}`)
			with(http.MethodPut, path+"?validateOnly=true", "If-None-Match", "{etag}", `{}`)
			with(http.MethodPut, path+"?validateOnly=true", "If-Match", `"4-0"`, `{}`)
		}
	}
	write := func(id, entries string) {
		requests = append(requests, programmed{method: http.MethodPut, path: "/api/v1/users/" + id, body: `{"userRoles": {"rolesByNetwork": [` + entries + `]}}`})
	}
	all()
	write("kari", `{"network": "main", "roles": [{"role": "boss"}]}`) // as it is
	write("kari", `{"network": "main", "roles": [{"role": "reader"}]}`)
	write("kari", `{"network": "main", "roles": [{"role": "reader"}]}, {"network": "other", "roles": [{"role": "reader"}]}`) // a guess
	write("kari", `{"network": "main", "roles": [{"role": "reader"}]}, {"network": "other", "roles": []}`)
	write("kari", `{"network": "other"}`)
	write("kari", `{"network": "main", "roles": [{"role": "reader"}]}`)
	write("ola", `{"network": "other", "roles": [{"role": "reader"}]}`)
	write("ola", `{"network": "main", "roles": [{"role": "boss"}]}, {"network": "other", "roles": []}`)
	all()
	write("kari", `{"network": "main", "roles": []}`)
	write("mats", "")
	all()
	return requests
}

func testUsersElsewhere(t *testing.T, fresh service.NewStore) {
	p := &twins{tb: t, now: time.Date(2031, 3, 1, 12, 0, 0, 0, time.UTC)}
	for i := range p.worlds {
		s := &service.Service{TB: t, URI: fresh(t), Clock: &service.Clock{}, UserID: "administrator"}
		s.Clock.Stop(p.now)
		p.worlds[i] = &twin{Service: service.StartNew(s)}
		token, err := s.SignIn(service.Admin)
		if err != nil {
			t.Fatal(err)
		}
		for n, w := range userWrites {
			s.Clock.Stop(p.now.Add(time.Duration(n) * time.Second))
			body := w.first
			if i == 1 && w.second != "" {
				body = w.second
			}
			if body == "-" {
				continue
			}
			if a := s.Ask(token, http.MethodPut, w.path, body, nil); a.Status != http.StatusOK && a.Status != http.StatusCreated {
				t.Fatalf("%s %s: %d %s", w.path, body, a.Status, a.Body)
			}
		}
	}
	p.now = p.now.Add(time.Minute)
	for _, caller := range []string{"rita", "eva"} {
		for _, w := range p.worlds {
			w.Clock.Stop(p.now)
			var err error
			if w.token, err = w.SignIn(caller); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range userRequests() {
			difference, status := p.ask(r)
			if difference != "" {
				t.Fatalf("as %s: %s\n%s", caller, r.curl(), difference)
			}
			if status >= 500 {
				t.Fatalf("as %s: %s: %d", caller, r.curl(), status)
			}
		}
	}
}
