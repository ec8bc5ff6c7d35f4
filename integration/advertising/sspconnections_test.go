package advertising

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestSSPConnections imports connections with every field, updates one, and
// reads them back over HTTP, where they are read-only.
func TestSSPConnections(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testSSPConnections)
}

func testSSPConnections(t *testing.T, fresh service.NewStore) {
	uri := process.ImportMade(t, fresh)
	const path = "/api/v1/sspconnections"
	imported := func(code int, report string, lines ...string) {
		t.Helper()
		process.ImportRun(t, code, uri, "sspconnections", process.ImportFile(t, lines...), "--context", "main", "--field-validation", "Strict", "--rejected", report)
	}
	report := filepath.Join(t.TempDir(), "report")
	imported(0, report,
		`{"id": "one", "name": "One", "ssp": "EXAMPLE_SSP", "publisherId": "pub-1", "apiKey": "key of one", "ssp_icon": "https://cdn.example.com/one.svg"}`,
		`{"id": "two", "name": "Two", "ssp": "OTHER_2", "publisherId": "pub-2", "apiKey": "key of two", "ssp_icon": "https://cdn.example.com/two.svg", "objectState": "HIDDEN"}`)
	imported(0, report, `{"id": "one", "name": "Uno", "ssp": "THIRD", "publisherId": "pub-3", "apiKey": "new key of one", "ssp_icon": null}`)
	imported(3, report,
		`{"id": "x"}`,
		`{"id": "y", "name": "", "ssp": "no identifier", "publisherId": 5, "apiKey": 5, "ssp_icon": 5}`,
		`{"id": "z", "name": 5, "ssp": 5}`)
	refused := map[int][]string{
		1: {"error.property.required /name", "error.property.required /ssp"},
		2: {"error.value.too.short /name", "error.value.pattern /ssp", "error.value.type /publisherId", "error.value.type /apiKey", "error.value.type /ssp_icon"},
		3: {"error.value.type /name", "error.value.type /ssp"},
	}
	for line, r := range process.ReadReport(t, report) {
		var got []string
		for _, m := range r.Messages {
			field, _ := m.Params["field"].(string)
			got = append(got, m.Code+" "+field)
		}
		for _, want := range refused[line] {
			if !strings.Contains(strings.Join(got, "\n")+"\n", want+"\n") {
				t.Errorf("line %d is refused with %q, not with %s", line, got, want)
			}
		}
		if len(got) != len(refused[line]) {
			t.Errorf("line %d is refused with %q", line, got)
		}
		delete(refused, line)
	}
	if len(refused) > 0 {
		t.Errorf("these were not refused: %v", refused)
	}
	p := process.Serve(t, uri)
	p.SignIn("admin", process.Password)
	shows := func(path, pattern string) {
		t.Helper()
		expected, err := service.Decode([]byte(pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, wrong := range service.Match(expected, p.Ask(http.StatusOK, http.MethodGet, path, "").JSON(), "", map[string]string{}) {
			t.Errorf("%s: %s", path, wrong)
		}
	}
	one := `{"<only>": true, "id": "one", "url": "/api/v1/sspconnections/one?context=main", "network": {"id": "main", "name": "main", "url": "/api/v1/networks/main"}, "objectState": "ACTIVE",
		"createTime": "<time>", "updateTime": "<time>", "validationWarnings": [], "name": "Uno", "ssp": "THIRD", "publisherId": "pub-3", "apiKey": "new key of one"}`
	shows(path+"/one?context=main", one)
	shows(path+"?context=main", `{"<only>": true, "totalCount": 1, "results": [`+one+`]}`)
	shows(path+"?context=main&includeHidden=true&orderBy=name", `{"totalCount": 2, "results": [{"id": "two", "name": "Two", "ssp": "OTHER_2", "publisherId": "pub-2", "apiKey": "key of two", "ssp_icon": "https://cdn.example.com/two.svg", "objectState": "HIDDEN"}, {"id": "one"}]}`)
	p.Ask(http.StatusOK, http.MethodHead, path+"/two?context=main", "")
	p.Ask(http.StatusNotFound, http.MethodHead, path+"/three?context=main", "")
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch} {
		for _, at := range []string{path, path + "/one"} {
			if a := p.Ask(http.StatusMethodNotAllowed, method, at+"?context=main", "{}"); a.Header.Get("Allow") != "GET, HEAD, OPTIONS" {
				t.Errorf("%s %s allows %q", method, at, a.Header.Get("Allow"))
			}
		}
	}
	// The key is for those who manage the system.
	p.Ask(http.StatusOK, http.MethodPost, "/api/v1/batch?context=main", `{"operations": [
		{"type": "roles", "object": {"id": "business", "name": "Business", "scope": "NETWORK", "permissions": ["MANAGE_BUSINESS"]}},
		{"type": "users", "object": {"id": "kari", "username": "kari", "password": "a password to test with", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "business"}]}]}}}]}`)
	p.SignIn("kari", "a password to test with")
	shows(path+"/one?context=main", `{"name": "Uno", "publisherId": "pub-3", "apiKey": "<absent>"}`)
	shows(path+"?context=main", `{"results": [{"apiKey": "<absent>"}]}`)
	p.Stop()
}
