package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"marquee/integration/service"
)

// TestReturnedURLsAnswer follows every url that lists, single reads, the history
// and notifications show: each answers the user who got it, unchanged.
func TestReturnedURLsAnswer(t *testing.T) { service.EachStore(t, testReturnedURLsAnswer) }

func testReturnedURLsAnswer(t *testing.T, fresh service.NewStore) {
	s := service.New(t, fresh)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	writeDemo(s)
	s.Must(token, http.MethodPost, "/api/v1/batch?context=main", `{"operations": [
		{"type": "users", "object": {"id": "ola", "username": "ola", "password": "a password to test with",
			"userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "reader"}]}]}}},
		{"type": "teams", "object": {"id": "a team", "name": "T", "users": ["ola", "`+s.UserID+`"]}}]}`, http.StatusOK)
	reader, err := s.SignIn("ola")
	if err != nil {
		t.Fatal(err)
	}
	for who, token := range map[string]string{service.Admin: token, "ola": reader} {
		u := urls{t: t, s: s, who: who, token: token, seen: map[string]bool{}}
		for _, of := range s.Engine.Registry().Types() {
			if of.Parent == "" {
				u.follow("/api/v1/" + of.Name + "?context=main&includeHidden=true")
			}
		}
		u.follow("/api/v1/users")
		u.follow("/api/v1/audit?context=main")
		u.follow("/api/v1/notifications?context=main")
		if len(u.seen) < 30 {
			t.Errorf("%s got only %d urls", who, len(u.seen))
		}
	}
}

// urls requests each URL that a user is shown.
type urls struct {
	t          *testing.T
	s          *service.Service
	who, token string
	seen       map[string]bool
}

func (u *urls) follow(path string) {
	if u.seen[path] {
		return
	}
	u.seen[path] = true
	a := u.s.Ask(u.token, http.MethodGet, path, "", nil)
	if a.Status != http.StatusOK {
		u.t.Errorf("%s gets %d from %s: %.300s", u.who, a.Status, path, a.Body)
	}
	u.walk(path, a.JSON())
}

func (u *urls) walk(from string, value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			u.walk(from, item)
		}
	case map[string]any:
		for name, member := range v {
			if url := fmt.Sprint(member); name == "url" && strings.HasPrefix(url, "/api/v1/") {
				global := strings.HasPrefix(url, "/api/v1/users/") || strings.HasPrefix(url, "/api/v1/networks/")
				_, context, some := strings.Cut(url, "?context=")
				if global == some || some && context != "main" && context != "coast-radio" {
					u.t.Errorf("%s shows the url %s", from, url)
				}
				u.follow(url)
				continue
			}
			u.walk(from, member)
		}
	}
}
