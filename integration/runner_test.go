package integration

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"marquee/integration/service"
)

// TestRunnerRefuses shows each kind of assertion fail: a case that cannot fail
// proves nothing.
func TestRunnerRefuses(t *testing.T) { service.EachStore(t, testRunnerRefuses) }

func testRunnerRefuses(t *testing.T, fresh service.NewStore) {
	const request = "GET /api/v1/networks/main\n\n"
	const write = "POST /api/v1/teams/north?context=main\n\n{\"name\": \"North\", \"labels\": [\"a\", \"b\"]}\n\n"
	for name, c := range map[string]struct{ step, want string }{
		"status":           {request + "=> 201", "want status 201, got 200"},
		"header":           {request + "=> 200\nContent-Type: text/html", "header Content-Type"},
		"header there":     {request + "=> 200\nContent-Type: <absent>", "header Content-Type"},
		"header missing":   {request + "=> 200\nLocation: <any>", "header Location"},
		"member":           {request + "=> 200\n\n{\"name\": \"other\"}", `at "/name"`},
		"member missing":   {request + "=> 200\n\n{\"nowhere\": \"<any>\"}", `at "/nowhere"`},
		"member there":     {request + "=> 200\n\n{\"name\": \"<absent>\"}", `at "/name"`},
		"nested":           {request + "=> 200\n\n{\"createUser\": {\"name\": \"eve\"}}", `at "/createUser/name"`},
		"only":             {request + "=> 200\n\n{\"<only>\": true, \"id\": \"main\"}", "which nothing says"},
		"time":             {request + "=> 200\n\n{\"name\": \"<time>\"}", `at "/name"`},
		"id":               {request + "=> 200\n\n{\"id\": \"<id>\"}", `at "/id"`},
		"number":           {request + "=> 200\n\n{\"id\": \"<number>\"}", `at "/id"`},
		"like":             {request + "=> 200\n\n{\"id\": \"<~ ^x>\"}", `at "/id"`},
		"etag":             {request + "=> 200\nContent-Type: <etag>", "header Content-Type"},
		"null":             {request + "=> 200\n\n{\"id\": null}", `at "/id"`},
		"array shorter":    {write + "=> 201\n\n{\"labels\": [\"a\"]}", `at "/labels"`},
		"array order":      {write + "=> 201\n\n{\"labels\": [\"b\", \"a\"]}", `at "/labels/0"`},
		"array some":       {write + "=> 201\n\n{\"labels\": [\"<some>\", \"c\"]}", `at "/labels"`},
		"array some twice": {write + "=> 201\n\n{\"labels\": [\"<some>\", \"a\", \"a\"]}", `at "/labels"`},
		"array any order":  {write + "=> 201\n\n{\"labels\": [\"<any order>\", \"b\"]}", "there is also"},
		"array kind":       {write + "=> 201\n\n{\"labels\": {}}", `at "/labels"`},
		"empty":            {request + "=> 200\n\n<empty>", "has a body"},
		"store unchanged":  {write + "=> 201\nStore: unchanged", "the store has changed"},
		"store changed":    {request + "=> 200\nStore: changed", "the store has not changed"},
		"variable":         {"GET /api/v1/networks/${nobody}\n\n=> 404", "nothing is called ${nobody}"},
		"pattern":          {request + "=> 200\n\n{", "no JSON"},
		"no answer":        {request, "line that begins with =>"},
		"user":             {"GET /api/v1/networks/main\nAs: eve\n\n=> 200", "eve cannot sign in"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			archive := &txtar.Archive{Files: []txtar.File{{Name: "application", Data: []byte("none")}, {Name: "01 step.http", Data: []byte(c.step)}}}
			failures := strings.Join(runFixture(t, fresh, archive), "\n")
			if !strings.Contains(failures, c.want) {
				t.Errorf("want a failure that says %q, got %q", c.want, failures)
			}
		})
	}
	for name, archive := range map[string]*txtar.Archive{
		"unknown step": {Files: []txtar.File{{Name: "step"}}},
		"no step":      {},
	} {
		if len(runFixture(t, fresh, archive)) == 0 {
			t.Errorf("%s: the case was taken", name)
		}
	}
}
