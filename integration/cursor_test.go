package integration

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"marquee/integration/service"
)

// TestCursorBeyondPages: the number of a page that a cursor leads to is not
// bounded as the parameter page is, so that a list can be followed to its end.
func TestCursorBeyondPages(t *testing.T) {
	t.Parallel()
	s := service.New(t, service.NewSQLite)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		s.Must(token, http.MethodPut, fmt.Sprintf("/api/v1/tiers/t%d?context=main", i), `{"name": "T"}`, http.StatusCreated)
	}
	first := s.Must(token, http.MethodGet, "/api/v1/tiers?context=main&pageSize=1", "", http.StatusOK)
	// A list of a million pages takes too long to make.
	decoded, err := base64.RawURLEncoding.DecodeString(first["nextCursor"].(string))
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(decoded, &members); err != nil {
		t.Fatal(err)
	}
	members["p"] = 1_000_000
	far, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	cursor := base64.RawURLEncoding.EncodeToString(far)
	for want := 1_000_000; want < 1_000_003; want++ {
		answer := s.Must(token, http.MethodGet, "/api/v1/tiers?context=main&pageSize=1&cursor="+cursor, "", http.StatusOK)
		next, more := answer["nextCursor"].(string)
		if fmt.Sprint(answer["page"]) != fmt.Sprint(want) || more != (want < 1_000_002) {
			t.Fatalf("page %v instead of %d, next %q", answer["page"], want, next)
		}
		cursor = next
	}
}
