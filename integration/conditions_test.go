package integration

import (
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"marquee/integration/service"
)

// accountsService has a type with a balance.
func accountsService(t *testing.T, fresh service.NewStore) (*service.Service, string) {
	t.Helper()
	schema := `{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Account", "x-resource": {"path": "accounts"},
		"type": "object", "properties": {"balance": {"type": "integer"}}}`
	s := service.StartNew(&service.Service{TB: t, URI: fresh(t), Schemas: []fs.FS{fstest.MapFS{"accounts.json": {Data: []byte(schema)}}}})
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	return s, token
}

// TestConditionsGuardWhatStays: an operation with a condition guards its object also if it
// changes nothing of it. Of two withdrawals from different accounts, each allowed by the
// sum of both, one is refused.
func TestConditionsGuardWhatStays(t *testing.T) { service.EachStore(t, testConditionsGuardWhatStays) }

func testConditionsGuardWhatStays(t *testing.T, fresh service.NewStore) {
	s, token := accountsService(t, fresh)
	for round := range 20 {
		var tags [2]string
		for i := range tags {
			a := s.Ask(token, http.MethodPut, fmt.Sprintf("/api/v1/accounts/%d-%d?context=main", round, i), `{"balance": 5}`, nil)
			tags[i] = a.Header.Get("ETag")
		}
		var statuses [2]int
		var clients sync.WaitGroup
		for i := range statuses {
			clients.Go(func() {
				operations := []any{
					map[string]any{"type": "accounts", "object": map[string]any{"id": fmt.Sprintf("%d-%d", round, i), "balance": -5}, "ifMatch": tags[i]},
					map[string]any{"type": "accounts", "object": map[string]any{"id": fmt.Sprintf("%d-%d", round, 1-i)}, "ifMatch": tags[1-i]},
				}
				statuses[i] = s.Ask(token, http.MethodPost, "/api/v1/batch?context=main", service.JSONText(map[string]any{"operations": operations}), nil).Status
			})
		}
		clients.Wait()
		if statuses[0]+statuses[1] != http.StatusOK+http.StatusPreconditionFailed {
			t.Fatalf("round %d: the withdrawals are answered with %v", round, statuses)
		}
	}
}

// TestThousandConditions: of as many conditions as a batch can have, the last one fails.
func TestThousandConditions(t *testing.T) { service.EachStore(t, testThousandConditions) }

func testThousandConditions(t *testing.T, fresh service.NewStore) {
	s, token := accountsService(t, fresh)
	const n = 1000
	batch := func(last, balance string) string {
		var operations []string
		for i := range n {
			tag := "1-x"
			if i == n-1 {
				tag = last
			}
			operations = append(operations, fmt.Sprintf(`{"type": "accounts", "object": {"id": "a%d", "balance": %s}, "ifMatch": %q}`, i, balance, tag))
		}
		return `{"operations": [` + strings.Join(operations, ",") + `]}`
	}
	s.Must(token, http.MethodPost, "/api/v1/accounts?context=main", service.ArrayOf(n, func(i int) string { return fmt.Sprintf(`{"id": "a%d", "balance": 1}`, i) }), http.StatusOK)
	refused := s.Must(token, http.MethodPost, "/api/v1/batch?context=main", batch("2-x", "2"), http.StatusPreconditionFailed)
	message := refused["messages"].([]any)[0].(map[string]any)["params"].(map[string]any)
	if fmt.Sprint(message["index"]) != fmt.Sprint(n-1) {
		t.Errorf("the refusal names %v", message)
	}
	if first := s.Must(token, http.MethodGet, "/api/v1/accounts/a0?context=main", "", http.StatusOK); fmt.Sprint(first["balance"]) != "1" {
		t.Errorf("the first object is stored: %v", first)
	}
	s.Must(token, http.MethodPost, "/api/v1/batch?context=main", batch("1-x", "2"), http.StatusOK)
}
