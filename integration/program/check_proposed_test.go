package program

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// typeFile is the schema of a type with some properties and more of x-resource and of the
// schema, each of which begins with a comma.
func typeFile(path, properties, resource, more string) string {
	return fmt.Sprintf(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": %q, "x-resource": {"path": %q%s},
		"type": "object", "properties": {%s}%s}`, path, path, resource, properties, more)
}

// schemaFolder writes files to a new folder.
func schemaFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	tasksBefore = `"name": {"type": "string"}, "code": {"type": "string"}, "due": {"type": "string"}, "person": {"type": "string"}, "fax": {"type": "string"},
		"phone": {"type": "string"}, "key": {"type": "string", "x-secret": true}, "begin": {"type": "string", "format": "date"}, "end": {"type": "string", "format": "date"},
		"rooms": {"type": "array", "items": {"type": "object", "properties": {"seats": {"type": "integer"}, "key": {"type": "string", "x-secret": true}}}},
		"desk": {"type": "object", "properties": {"legs": {"type": "integer"}, "drawers": {"type": "integer"}, "lock": {"type": "string", "writeOnly": true}}}`
	tasksAfter = `"name": {"type": "string", "maxLength": 3}, "code": {"type": "string"}, "due": {"type": "string"}, "person": {"x-ref": "people"},
		"phone": {"type": "string", "x-secret": true}, "key": {"type": "string"}, "begin": {"type": "string", "format": "date"}, "end": {"type": "string", "format": "date"},
		"rooms": {"type": "array", "items": {"type": "object", "properties": {"seats": {"type": "integer", "maximum": 4}}}},
		"desk": {"type": "object", "properties": {"legs": {"type": "integer"}, "lock": {"type": "string", "writeOnly": true}}}`
	tasksRules = `, "required": ["due"], "x-exclusive": [{"properties": ["code"], "from": "begin", "to": "end"}],
		"x-validations": [{"rule": "!has(self.due) || !has(self.name) || self.due != self.name", "text": "due is not the name.", "code": "error.task.due"}]`
)

var setBefore = map[string]string{"tasks": typeFile("tasks", tasksBefore, "", ""), "people": typeFile("people", `"name": {"type": "string"}`, "", ""),
	"drafts": typeFile("drafts", `"name": {"type": "string"}`, "", "")}

// TestCheckProposed: what a set would do to the stored objects is listed, and nothing is
// changed, whether or not the store is being served.
func TestCheckProposed(t *testing.T) { service.EachStore(t, testCheckProposed) }

func testCheckProposed(t *testing.T, fresh service.NewStore) {
	uri := fresh(t)
	before := schemaFolder(t, setBefore)
	after := schemaFolder(t, map[string]string{"people": setBefore["people"], "tasks": typeFile("tasks", tasksAfter, `, "unique": ["code"]`, tasksRules)})
	p := process.Serve(t, uri, "--schemas", before)
	p.SignIn("admin", process.Password)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/people/p?context=main", `{"name": "P"}`)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/drafts/d?context=main", `{"name": "D"}`)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/tasks/good?context=main", `{"name": "abc", "code": "1", "due": "x", "person": "p", "begin": "2030-01-01", "end": "2030-02-01"}`)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/tasks/poor?context=main", `{"name": "abcd", "code": "1", "person": "nobody", "fax": "12", "phone": "34",
		"key": "top secret", "begin": "2030-01-31", "rooms": [{"seats": 9, "key": "top secret"}, {"seats": 8}], "desk": {"legs": 4, "drawers": 2, "lock": "12"}}`)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/tasks/rule?context=main", `{"name": "abc", "due": "abc"}`)
	sets := process.Run(t, nil, "schema", "history", "--store", uri, "--json")
	check := func(code int, dir string, more ...string) (out, said string) {
		t.Helper()
		return process.Answer(t, code, nil, append([]string{"check", "--store", uri, "--proposed", dir}, more...)...)
	}
	examine := func() {
		t.Helper()
		out, said := check(1, after)
		const poor = "\n  \"poor\" of the network \"main\""
		process.Wants(t, out,
			`drafts: type-removed: the set has no such type: the object can no longer be read: 1 object`+"\n"+`  "d" of the network "main"`+"\n",
			`tasks/name: error.value.too.long: /name is too long: the maximum length is 3.: 1 object`+poor+"\n",
			`tasks/due: error.property.required: /due `, `: 1 object`+poor+"\n",
			`tasks/rooms/*/seats: error.value.too.large: /rooms/*/seats `, `tasks: error.task.due: due is not the name.: 1 object`+"\n  \"rule\"",
			`tasks/person: reference-dangling: the object of people that it refers to is not there: 1 object`+poor+`: "nobody"`+"\n",
			`tasks/code: value-shared: code would be unique, and another object has the same value: 1 object`+poor+`: "good"`+"\n",
			` would be exclusive, and the interval of another object overlaps: 1 object`+poor+`: "good"`+"\n",
			`tasks/fax: value-hidden: `, `tasks/phone: value-secret: `, `tasks/key: secret-revealed: `,
			`tasks/rooms/*/key: value-hidden: the set does not declare the value, which answers can have until what is around it is written`, `tasks/desk/drawers: value-hidden: `)
		process.Shuns(t, out, "top secret", "tasks/desk/legs", "tasks/desk/lock", "tasks/rooms/*/key: secret-revealed", "abcd", "people:", "tasks/key: value-hidden", "tasks/begin:")
		process.Wants(t, said, "checking tasks: 3", "finding")
		process.Shuns(t, said, "people")
		out, said = check(1, after, "--json", "--quiet")
		process.Wants(t, out, `{"type":"tasks","rule":"value-shared","at":"/code","text":"code would be unique, and another object has the same value","objects":1,"first":[{"network":"main","id":"poor","with":"good"}]}`+"\n")
		process.Shuns(t, said, "checking")
		out, said = check(0, before)
		process.Wants(t, out, "the set suits all stored objects")
		process.Shuns(t, said, "checking")
	}
	examine() // while it is being served
	p.Stop()
	examine()
	if now := process.Run(t, nil, "schema", "history", "--store", uri, "--json"); !strings.HasPrefix(now, sets[:strings.Index(sets, `"servers"`)]) {
		t.Errorf("the sets were %s, and are %s", sets, now)
	}
	// A set with a mistake, and one that is not there.
	_, said := check(2, schemaFolder(t, map[string]string{"tasks": `{"type": 7}`}))
	process.Wants(t, said, "cannot be checked: it has ")
	_, said = check(2, filepath.Join(before, "missing"))
	process.Wants(t, said, "there is no folder")
	_, said = check(2, t.TempDir())
	process.Wants(t, said, "holds no schema")
}

// TestCheckProposedOfOwners: the objects are listed that would belong to other teams and users.
func TestCheckProposedOfOwners(t *testing.T) { service.EachStore(t, testCheckProposedOfOwners) }

func testCheckProposedOfOwners(t *testing.T, fresh service.NewStore) {
	uri := fresh(t)
	set := func(resource string) string {
		return schemaFolder(t, map[string]string{
			"venues": typeFile("venues", `"team": {"x-ref": "teams"}, "user": {"x-ref": "users"}`, "", ""),
			"halls":  typeFile("halls", `"team": {"x-ref": "teams"}, "user": {"x-ref": "users"}, "venue": {"x-ref": "venues"}`, resource, "")})
	}
	p := process.Serve(t, uri, "--schemas", set(`, "team": "team", "owner": "user"`))
	p.SignIn("admin", process.Password)
	for _, o := range []string{"teams/t1", "teams/t2", "venues/v"} {
		p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/"+o+"?context=main", `{"name": "N"}`)
	}
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/users/anna?context=main", `{"username": "anna"}`)
	p.Ask(http.StatusOK, http.MethodPut, "/api/v1/venues/v?context=main", `{"team": "t2", "user": "anna"}`)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/halls/a?context=main", `{"team": "t1", "venue": "v"}`)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/halls/b?context=main", `{"team": "t2", "user": "anna", "venue": "v"}`)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/halls/c?context=main", `{"venue": "v"}`)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/halls/d?context=main", `{"team": "t1"}`)
	const main = ` of the network "main"`
	nobody := "halls: owner-gained: each role of the scope TEAM would show the object, which would belong to no team: "
	team, user := "halls: owner-gained: the object would belong to another team: ", "halls: owner-gained: the object would belong to another user: "
	for resource, want := range map[string]string{
		`, "team": "team", "owner": ["user"]`:               "",
		`, "team": "team"`:                                  "",
		`, "owner": "user"`:                                 nobody + "3 objects\n  \"a\"" + main + "\n  \"b\"" + main + "\n  \"d\"" + main + "\n",
		`, "team": ["venue.team", "team"], "owner": "user"`: team + "1 object\n  \"a\"" + main + ": \"t2\"\n",
		`, "team": "venue.team", "owner": "user"`:           nobody + "1 object\n  \"d\"" + main + "\n" + team + "1 object\n  \"a\"" + main + ": \"t2\"\n",
		`, "team": "team", "owner": "venue.user"`:           user + "2 objects\n  \"a\"" + main + ": \"anna\"\n  \"c\"" + main + ": \"anna\"\n",
	} {
		status := 1
		if want == "" {
			status = 0
		}
		out, _ := process.Answer(t, status, nil, "check", "--store", uri, "--proposed", set(resource))
		if want != "" && out != want || want == "" && strings.Contains(out, "owner-gained") {
			t.Errorf("%s: %s\nwant: %s", resource, out, want)
		}
	}
}

// TestCheckProposedOfMany: of a rule that all objects break, all are counted and the first ones
// named.
func TestCheckProposedOfMany(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testCheckProposedOfMany)
}

func testCheckProposedOfMany(t *testing.T, fresh service.NewStore) {
	uri := fresh(t)
	properties := `"name": {"type": "string"}, "code": {"type": "string"}`
	p := process.Serve(t, uri, "--schemas", schemaFolder(t, map[string]string{"tasks": typeFile("tasks", properties, "", "")}))
	p.SignIn("admin", process.Password)
	const objects = 2000
	for begin := 0; begin < objects; begin += 1000 {
		var many []string
		for i := begin; i < begin+1000; i++ {
			many = append(many, fmt.Sprintf(`{"id": "t%04d", "name": "n", "code": "%d"}`, i, i%(objects-2)))
		}
		p.Ask(http.StatusOK, http.MethodPost, "/api/v1/tasks?context=main", "["+strings.Join(many, ",")+"]")
	}
	p.Ask(http.StatusNotFound, http.MethodPost, "/operator/check", "") // which is for the operator alone
	after := schemaFolder(t, map[string]string{"tasks": typeFile("tasks", `"name": {"type": "string", "minLength": 2}, "code": {"type": "string"}`, `, "unique": ["name", "code"]`, "")})
	for _, served := range []bool{true, false} {
		if !served {
			p.Stop()
		}
		out, said := process.Answer(t, 1, nil, "check", "--store", uri, "--proposed", after)
		process.Wants(t, out, "tasks/name: error.value.too.short: /name is too short: the minimum length is 2.: 2,000 objects\n  \"t0000\"", "  and 1,980 more\n",
			"another object has the same value: 1,999 objects\n  \"t0001\" of the network \"main\": \"t0000\"\n", "  and 1,979 more\n",
			"another object has the same value: 2 objects\n", "  \"t1998\" of the network \"main\": \"t0000\"\n", "  \"t1999\" of the network \"main\": \"t0001\"\n")
		if n := strings.Count(out, "\n"); n != 3+20+1+20+1+2 {
			t.Errorf("%d lines are printed", n)
		}
		process.Wants(t, said, "checking tasks: ", "3 findings")
	}
}

// TestCheckOfServedStore: a server checks the SQLite file that it has open.
func TestCheckOfServedStore(t *testing.T) {
	t.Parallel()
	uri := service.NewSQLite(t)
	p := process.Serve(t, uri, "--schemas", schemaFolder(t, setBefore))
	p.SignIn("admin", process.Password)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/tasks/t?context=main", `{"name": "abc", "key": "top secret"}`)
	out, said := process.Answer(t, 0, nil, "check", "--store", uri)
	process.Wants(t, out, "nothing is wrong")
	process.Wants(t, said, "checking the file", "checking tasks: 1")
	_, said = process.Answer(t, 2, nil, "check", "--store", uri, "--repair")
	process.Wants(t, said, "--repair needs the store for itself: stop the server")
	// The file is moved: what is written to it is lost.
	file := service.SQLiteFile(uri)
	if err := os.Rename(file, file+".moved"); err != nil {
		t.Fatal(err)
	}
	for _, more := range [][]string{{"--json"}, {"--proposed", schemaFolder(t, setBefore)}} {
		_, said = process.Answer(t, 2, nil, append([]string{"check", "--store", uri}, more...)...)
		process.Wants(t, said, "the store's file was moved or deleted while it is open")
	}
	if err := os.Rename(file+".moved", file); err != nil {
		t.Fatal(err)
	}
	p.Stop()
}

// TestCountOfConcerned: after a reload, the log and /readyz have the number of the stored
// objects that the set would refuse, or hide values of.
func TestCountOfConcerned(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testCountOfConcerned)
}

func testCountOfConcerned(t *testing.T, fresh service.NewStore) {
	uri := fresh(t)
	secret := typeFile("files", `"name": {"type": "string"}`, `, "permissions": {"read": "SEE_FILES"}`, "")
	dir := schemaFolder(t, map[string]string{"tasks": setBefore["tasks"], "people": setBefore["people"], "files": secret})
	f := process.Folder{Process: process.Serve(t, uri, "--schemas", dir), Dir: dir}
	f.SignIn("admin", process.Password)
	f.Ask(http.StatusCreated, http.MethodPost, "/api/v1/tasks/a?context=main", `{"name": "abcd", "fax": "12"}`)
	f.Ask(http.StatusCreated, http.MethodPost, "/api/v1/tasks/b?context=main", `{"name": "abc", "fax": "12"}`)
	f.Ask(http.StatusCreated, http.MethodPost, "/api/v1/tasks/c?context=main", `{"name": "abc"}`)
	f.Ask(http.StatusCreated, http.MethodPost, "/api/v1/files/f?context=main", `{"name": "abcd"}`)
	f.Drop("tasks.json", typeFile("tasks", strings.Replace(strings.Replace(tasksBefore, `"fax": {"type": "string"},`, "", 1), `"name": {"type": "string"`, `"name": {"type": "string", "maxLength": 3`, 1), "", ""), process.Loaded)
	const begins, ends = `"stored":"stored objects that the schemas served since 20`, ` would refuse, or hide values of: tasks 2; the log has the details"`
	f.Eventually("the note of /readyz has no count", func() bool { return strings.Contains(f.AwaitReady(http.StatusOK), begins) })
	process.Wants(t, f.AwaitReady(http.StatusOK), ends)
	for _, want := range []string{"/name error.value.too.long 1", "/fax value-hidden 2"} {
		found := false
		for line := range strings.Lines(f.Stderr.String()) {
			if strings.Contains(line, "the schemas concern stored objects") {
				entry := service.Entry(line)
				found = found || fmt.Sprint(entry["at"], " ", entry["rule"], " ", entry["objects"]) == want && entry["type"] == "tasks"
			}
		}
		if !found {
			t.Errorf("the log does not say %s:\n%s", want, f.Stderr)
		}
	}
	// A type that not everybody may know is not named.
	f.Drop("files.json", strings.Replace(secret, `"type": "string"`, `"type": "string", "maxLength": 3`, 1), process.Loaded)
	f.Eventually("the note of /readyz has no count of the next set", func() bool {
		return strings.Contains(f.AwaitReady(http.StatusOK), ` would refuse, or hide values of: others 1; the log`)
	})
	process.Shuns(t, f.AwaitReady(http.StatusOK), "files", "tasks")
	f.Drop("files.json", strings.Replace(secret, `"type": "string"`, `"type": "string", "maxLength": 5`, 1), process.Loaded)
	process.Shuns(t, f.AwaitReady(http.StatusOK), `"stored"`)
}
