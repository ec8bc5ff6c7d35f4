package integration

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/tools/txtar"

	"marquee"
	"marquee/integration/process"
	"marquee/integration/service"
)

// TestFixtures runs the cases of testdata.
func TestFixtures(t *testing.T) {
	service.EachStore(t, func(t *testing.T, fresh service.NewStore) { testFixtures(t, fresh, 1) })
}

// TestFixturesAgain runs the cases on a store that runs each transaction and each read
// twice: nothing that the first run found has an effect on the second. With -short, it
// runs each fourth case.
func TestFixturesAgain(t *testing.T) {
	t.Parallel()
	each := 1
	if testing.Short() {
		each = 4
	}
	testFixtures(t, service.NewAgain, each)
}

// testFixtures runs one of each so many cases.
func testFixtures(t *testing.T, fresh service.NewStore, each int) {
	process.SkipSequential(t)
	for i, c := range cases(t) {
		if i%each != 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, wrong := range runFixture(t, fresh, c.Archive) {
				t.Error(wrong)
			}
		})
	}
}

// caseFolders are the folders of cases, with the application that each runs on unless
// a case names another.
var caseFolders = map[string]string{
	"testdata": "advertising", "testdata/engine": "hospital",
	"testdata/clinic": "none", "testdata/tickets": "none",
}

// applications are those that cases can run on. The advertising application is nil.
var applications = map[string]*marquee.Application{
	"advertising": nil,
	"hospital":    {Schemas: os.DirFS("testdata/engine/schemas"), Permissions: []string{"READ_CHARTS"}},
	"none":        {},
}

// A testCase is a case of testdata. Its name is that of its file.
type testCase struct {
	name string
	*txtar.Archive
}

// cases reads all cases. Each has the file application.
func cases(t *testing.T) (all []testCase) {
	t.Helper()
	names := map[string]bool{}
	for _, folder := range slices.Sorted(maps.Keys(caseFolders)) {
		files, err := filepath.Glob(folder + "/*.txtar")
		if err != nil || len(files) == 0 {
			t.Fatalf("there are no cases in %s: %v", folder, err)
		}
		for _, file := range files {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimSuffix(filepath.Base(file), ".txtar")
			if names[name] {
				t.Errorf("two cases are called %s", name)
			}
			names[name] = true
			if !slices.ContainsFunc(archive.Files, func(f txtar.File) bool { return f.Name == "application" }) {
				archive.Files = append(archive.Files, txtar.File{Name: "application", Data: []byte(caseFolders[folder])})
			}
			if caseFolders[folder] == "none" {
				archive.Files = append(archive.Files, schemaFiles(t, folder+"/schemas")...)
			}
			all = append(all, testCase{name, archive})
		}
	}
	return all
}

// schemaFiles are the schemas of a folder, as files of a case.
func schemaFiles(t *testing.T, folder string) (files []txtar.File) {
	t.Helper()
	paths, err := filepath.Glob(folder + "/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no schemas in %s: %v", folder, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, txtar.File{Name: "schemas/" + filepath.Base(path), Data: text})
	}
	return files
}

// fixture is a case that is running.
type fixture struct {
	service *service.Service
	// folder has the schemas of the case.
	folder   fstest.MapFS
	captures map[string]string
	tokens   map[string]string
	step     string
	where    string
	failed   bool
	failures []string
}

// stepName matches the names of steps: a number, words, and .http for requests, or a schema
// from now on.
var stepName = regexp.MustCompile(`^\d+ (?:(restart)|later (\S+)|(pass)|(.*)\.http|schemas/(\S+\.json))$`)

// runFixture runs a case on a new store and lists what is wrong.
func runFixture(tb testing.TB, fresh service.NewStore, archive *txtar.Archive) []string {
	c := &fixture{captures: map[string]string{}, tokens: map[string]string{}}
	folder, application := fstest.MapFS{}, "advertising"
	var steps []txtar.File
	var configure func(*marquee.Options)
	for _, file := range archive.Files {
		if name, found := strings.CutPrefix(file.Name, "schemas/"); found {
			folder[name] = &fstest.MapFile{Data: file.Data}
			continue
		}
		if file.Name == "application" {
			application = strings.TrimSpace(string(file.Data))
			continue
		}
		if file.Name == "history-days" {
			days, err := strconv.Atoi(strings.TrimSpace(string(file.Data)))
			if err != nil {
				return []string{err.Error()}
			}
			configure = func(o *marquee.Options) { o.HistoryDays = days }
			continue
		}
		if !stepName.MatchString(file.Name) {
			return []string{fmt.Sprintf("%q is not a step, a schema, the application or history-days", file.Name)}
		}
		steps = append(steps, file)
	}
	if len(steps) == 0 {
		return []string{"there are no steps"}
	}
	var more []fs.FS
	if len(folder) > 0 {
		more = append(more, folder)
	}
	plain, known := applications[application]
	if !known {
		return []string{fmt.Sprintf("there is no application %q", application)}
	}
	c.folder = folder
	c.service = service.StartNew(&service.Service{TB: tb, URI: fresh(tb), Schemas: more, Plain: plain, Configure: configure, Judged: true})
	c.captures["USER"], c.captures["PASSWORD"] = c.service.UserID, service.AdminPassword
	token, err := c.token(service.Admin)
	if err != nil {
		return []string{err.Error()}
	}
	c.captures["TOKEN"] = token
	for i, step := range steps {
		c.step = step.Name
		more := i+1 < len(steps) && isSchema(steps[i+1].Name) && numberOf(steps[i+1].Name) == numberOf(step.Name)
		if isSchema(step.Name) && more {
			c.keep(step)
		} else {
			c.run(step)
		}
	}
	if !testing.Short() || strings.HasPrefix(c.service.URI, "sqlite:") {
		c.sendBack()
	}
	return c.failures
}

func isSchema(step string) bool { return stepName.FindStringSubmatch(step)[5] != "" }

func numberOf(step string) string { return step[:strings.IndexByte(step, ' ')] }

// keep puts the schema of a step in the folder, for the next start.
func (c *fixture) keep(step txtar.File) {
	c.folder[stepName.FindStringSubmatch(step.Name)[5]] = &fstest.MapFile{Data: step.Data}
}

func (c *fixture) run(step txtar.File) {
	parts := stepName.FindStringSubmatch(step.Name)
	switch {
	case parts[1] != "":
		c.service.Stop()
		c.service.Start()
	case parts[2] != "":
		d, err := time.ParseDuration(parts[2])
		if err != nil {
			c.fail("%v", err)
			return
		}
		c.service.Clock.Advance(d)
		if d >= 24*time.Hour { // users sign in again
			clear(c.tokens)
		}
	case parts[3] != "":
		if err := c.service.Pass(); err != nil {
			c.fail("%v", err)
		}
	case parts[5] != "":
		c.service.Stop()
		c.keep(step)
		c.service.Start()
	default:
		exchanges, err := parseExchanges(string(step.Data))
		if err != nil {
			c.fail("%v", err)
		}
		for _, e := range exchanges {
			c.where = e.title
			e.run(c)
		}
	}
}

func (c *fixture) fail(format string, args ...any) {
	c.failed = true
	c.failures = append(c.failures, fmt.Sprintf("%s: %s: ", c.step, c.where)+fmt.Sprintf(format, args...))
}

// token returns the access token of a user, who signs in before the first request.
func (c *fixture) token(username string) (string, error) {
	if token, ok := c.tokens[username]; ok {
		return token, nil
	}
	token, err := c.service.SignIn(username)
	if err == nil {
		c.tokens[username] = token
	}
	return token, err
}

func (c *fixture) picture() service.Picture {
	picture, err := c.service.Camera.Picture()
	if err != nil {
		c.fail("the store cannot be looked at: %v", err)
	}
	return picture
}

// sendBack reads what the case has left, as each of its users, and sends it back.
func (c *fixture) sendBack() {
	c.step, c.where = "at the end", "what was read is sent back"
	if err := c.service.Pass(); err != nil {
		c.fail("%v", err)
	}
	for _, user := range slices.Sorted(maps.Keys(c.tokens)) {
		for _, wrong := range sendBack(c.service, c.tokens[user]) {
			c.fail("as %s: %s", user, wrong)
		}
	}
}
