package advertising

import (
	"net/http"
	"testing"

	"marquee/integration/service"
)

// TestServersSharePreviews: each server shows the page of a ticket that another has given, and each
// of them shows it once.
func TestServersSharePreviews(t *testing.T) {
	t.Parallel()
	servers, token := service.NewServers(t, 2)
	here := servers[0]
	here.Must(token, http.MethodPost, "/api/v1/batch?context=main", `{"operations": [
		{"type": "lineitems", "object": {"id": "l", "name": "L"}}, {"type": "layouts", "object": {"id": "text", "name": "Text", "html": "<h1>Hello</h1>"}},
		{"type": "creatives", "object": {"id": "c", "name": "C", "lineItem": "l", "layout": "text", "dimensionType": "FLEXIBLE", "verifiedSafe": true}}]}`, http.StatusOK)
	path := here.Must(token, http.MethodGet, "/api/console/previews/creatives/c?context=main", "", http.StatusOK)["path"].(string)
	for _, s := range servers {
		for _, status := range []int{http.StatusOK, http.StatusNotFound} {
			s.Must("", http.MethodGet, path, "", status)
		}
	}
}
