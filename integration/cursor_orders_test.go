package integration

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestCursorsOfEveryOrder follows the cursors of each type in each of its orders:
// each is accepted, and the pages are the whole of the list.
func TestCursorsOfEveryOrder(t *testing.T) { service.EachStore(t, testCursorsOfEveryOrder) }

func testCursorsOfEveryOrder(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	s := service.New(t, fresh)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	writeDemo(s)
	s.Must(token, http.MethodPut, "/api/v1/networks/a%20network", `{"name": "å \"quoted\"\\n"}`, http.StatusCreated)
	s.Must(token, http.MethodPost, "/api/v1/users", `[{"username": "ü"}, {"username": "u"}]`, http.StatusOK)
	s.Must(token, http.MethodPost, "/api/v1/tiers?context=main", `[{"name": "\u0001"}, {"name": "🙂", "priority": 9223372036854775807}, {"name": "x", "priority": -5}]`, http.StatusOK)
	lists := 0
	for _, of := range s.Engine.Registry().Types() {
		if of.Parent != "" {
			continue
		}
		orders := append([]string{"id", "createTime", "updateTime", "createUser", "updateUser", "objectState"}, of.Sort...)
		if !of.Global {
			orders = append(orders, "network")
		}
		for _, order := range orders {
			for _, direction := range []string{"ASCENDING", "DESCENDING"} {
				path := fmt.Sprintf("/api/v1/%s?context=main&fields=id&orderBy=%s&orderByDirection=%s", of.Name, order, direction)
				whole := idsIn(s.Must(token, http.MethodGet, path, "", http.StatusOK))
				var paged []string
				for cursor := ""; ; {
					page := s.Must(token, http.MethodGet, path+"&pageSize=1"+cursor, "", http.StatusOK)
					paged = append(paged, idsIn(page)...)
					next, more := page["nextCursor"].(string)
					if !more || len(paged) > len(whole) {
						break
					}
					cursor, lists = "&cursor="+next, lists+1
				}
				if !slices.Equal(paged, whole) {
					t.Errorf("%s: %q, page by page %q", path, whole, paged)
				}
			}
		}
	}
	if lists < 100 {
		t.Errorf("only %d cursors were followed", lists)
	}
}

func idsIn(list map[string]any) []string {
	var ids []string
	results, _ := list["results"].([]any)
	for _, entry := range results {
		object, _ := entry.(map[string]any)
		ids = append(ids, fmt.Sprint(object["id"]))
	}
	return ids
}
