package integration

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"marquee/engine/store"
)

// TestBusyWriter keeps the embedded store's one writer: a write that waits for
// it is refused at its own deadline and does not happen later, nor does one whose
// client has gone, and reads are answered meanwhile.
func TestBusyWriter(t *testing.T) {
	t.Parallel()
	c := converse(t, newSQLite)
	c.send("POST", "/api/v1/advertisers/there?context=main", `{"name": "There"}`, http.StatusCreated, "")
	c.s.stop()
	c.s.deadline = time.Second
	c.s.start()
	began, end, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		ended <- c.s.store.Write(context.Background(), func(store.Tx) error {
			close(began)
			<-end
			return nil
		})
	}()
	<-began
	gone, leave := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer leave()
	r, err := http.NewRequestWithContext(gone, "POST", c.s.server.URL+"/api/v1/advertisers/gone?context=main", strings.NewReader(`{"name": "Gone"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	if a, err := c.s.client.Do(r); err == nil {
		t.Errorf("a write was answered with %d while another one had not ended", a.StatusCode)
	}
	for _, body := range []string{`{"name": "Late"}`, `[{"id": "late", "name": "Late"}]`} {
		path := "/api/v1/advertisers/late?context=main"
		if body[0] == '[' {
			path = "/api/v1/advertisers?context=main"
		}
		a := c.send("POST", path, body, http.StatusServiceUnavailable, `{"messages": [{"code": "error.server.busy"}]}`)
		if a.header.Get("Retry-After") == "" {
			t.Error("the refusal of a late write does not say when to try again")
		}
	}
	c.send("GET", "/api/v1/advertisers/there?context=main", "", http.StatusOK, "")
	close(end)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	c.send("POST", "/api/v1/advertisers/next?context=main", `{"name": "Next"}`, http.StatusCreated, "")
	c.send("GET", "/api/v1/advertisers?context=main&fields=id&orderBy=id", "", http.StatusOK, `{"totalCount": 2, "results": [{"id": "next"}, {"id": "there"}]}`)
}
