package integration

import (
	"net/http"
	"testing"

	"marquee/integration/service"
)

// TestContractFindsBreaches checks that answers which the document does not describe
// are found.
func TestContractFindsBreaches(t *testing.T) {
	t.Parallel()
	s := service.New(t, service.NewSQLite)
	c, err := s.ContractOf(s.Engine.Registry())
	if err != nil {
		t.Fatal(err)
	}
	ok := func(status int, body string) *service.Answer {
		return &service.Answer{Method: http.MethodGet, Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body)}
	}
	for name, a := range map[string]*service.Answer{
		"an unknown property":  ok(200, `{"id": "a", "secretLeaked": 1}`),
		"a value of some type": ok(200, `{"id": 1}`),
		"a status":             ok(202, `{"id": "a"}`),
		"text":                 {Method: http.MethodGet, Status: 200, Header: http.Header{"Content-Type": {"text/plain"}}, Body: []byte("a")},
	} {
		if len(c.Breaches(http.MethodGet, "/api/v1/orders/a?context=main", a)) == 0 {
			t.Errorf("%s is not found", name)
		}
	}
	if wrong := c.Breaches(http.MethodGet, "/api/v1/orders/a", ok(200, `{"id": "a", "name": "b"}`)); len(wrong) > 0 {
		t.Errorf("an order: %v", wrong)
	}
	if len(c.Breaches(http.MethodGet, "/api/v1/nothing", ok(200, `{}`))) == 0 {
		t.Error("a path without documentation is not found")
	}
}
