package program

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestOptionsOfTheServer: a request for the options of the server as a whole (RFC 9110
// section 9.3.7) is answered like any other path that does not exist, with the headers of
// every response.
func TestOptionsOfTheServer(t *testing.T) {
	t.Parallel()
	p := process.Serve(t, service.NewSQLite(t))
	request := &http.Request{Method: http.MethodOptions, URL: &url.URL{Scheme: "http", Host: strings.TrimPrefix(p.URL, "http://"), Opaque: "*"}}
	response, err := p.Client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusNotFound || response.Header.Get("X-Content-Type-Options") != "nosniff" || response.Header.Get("X-Request-Id") == "" {
		t.Errorf("OPTIONS * is answered with %s and %v", response.Status, response.Header)
	}
}

// TestConsoleSetting: the console is served unless it is switched off.
func TestConsoleSetting(t *testing.T) {
	t.Parallel()
	for setting, status := range map[string]int{"on": http.StatusOK, "off": http.StatusNotFound} {
		p := process.Serve(t, service.NewSQLite(t), "--console="+setting, "--application=none")
		p.Ask(status, http.MethodGet, "/console/", "")
	}
	process.Wants(t, process.Fails(t, nil, "serve", "--console=maybe"), "--console")
}
