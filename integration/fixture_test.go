package integration

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/tools/txtar"
)

// TestFixtures runs the cases of testdata.
func TestFixtures(t *testing.T) { eachStore(t, testFixtures) }

// TestFixturesAgain: what a transaction or a read found in its first run is not
// to be seen when the store has run it again.
func TestFixturesAgain(t *testing.T) {
	t.Parallel()
	testFixtures(t, newAgain)
}

func testFixtures(t *testing.T, fresh newStore) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no cases", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, wrong := range runFixture(t, fresh, archive) {
				t.Error(wrong)
			}
		})
	}
}

// fixture is a case that is running.
type fixture struct {
	service  *service
	captures map[string]string
	tokens   map[string]string
	step     string
	where    string
	failed   bool
	failures []string
}

// stepName is what a step is called: a number, words, and for requests .http.
var stepName = regexp.MustCompile(`^\d+ (?:(restart)|later (\S+)|(pass)|(.*)\.http)$`)

// runFixture runs a case on a new store and lists what is wrong.
func runFixture(tb testing.TB, fresh newStore, archive *txtar.Archive) []string {
	c := &fixture{captures: map[string]string{}, tokens: map[string]string{}}
	folder := fstest.MapFS{}
	var steps []txtar.File
	for _, file := range archive.Files {
		if name, found := strings.CutPrefix(file.Name, "schemas/"); found {
			folder[name] = &fstest.MapFile{Data: file.Data}
			continue
		}
		if !stepName.MatchString(file.Name) {
			return []string{fmt.Sprintf("%q is neither a step nor a schema", file.Name)}
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
	c.service = newService(tb, fresh, more...)
	c.captures["USER"], c.captures["PASSWORD"] = c.service.userID, adminPassword
	token, err := c.token(admin)
	if err != nil {
		return []string{err.Error()}
	}
	c.captures["TOKEN"] = token
	for _, step := range steps {
		c.step = step.Name
		c.run(step)
	}
	return c.failures
}

func (c *fixture) run(step txtar.File) {
	parts := stepName.FindStringSubmatch(step.Name)
	switch {
	case parts[1] != "":
		c.service.stop()
		c.service.start()
	case parts[2] != "":
		d, err := time.ParseDuration(parts[2])
		if err != nil {
			c.fail("%v", err)
			return
		}
		c.service.clock.advance(d)
	case parts[3] != "":
		if err := c.service.pass(); err != nil {
			c.fail("%v", err)
		}
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

// token is the access token of a user, who signs in when he is first needed.
func (c *fixture) token(username string) (string, error) {
	if token, ok := c.tokens[username]; ok {
		return token, nil
	}
	token, err := c.service.signIn(username)
	if err == nil {
		c.tokens[username] = token
	}
	return token, err
}

func (c *fixture) picture() picture {
	picture, err := c.service.camera.picture()
	if err != nil {
		c.fail("the store cannot be looked at: %v", err)
	}
	return picture
}
