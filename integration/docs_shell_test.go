package integration

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"marquee/integration/mongodb"
	"marquee/integration/process"
	"marquee/integration/service"
)

// pageBlocks are the indented blocks of a page.
func pageBlocks(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return indentedBlocks(string(text))
}

// shellBlocks are the indented blocks between two headings of a page.
func shellBlocks(t *testing.T, page, from string) []string {
	t.Helper()
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut("\n"+string(text), "\n"+from+"\n")
	if !found {
		t.Fatalf("%s has no %q", page, from)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	return indentedBlocks(section)
}

func indentedBlocks(text string) (blocks []string) {
	inside := false
	for line := range strings.Lines(text) {
		code, indented := strings.CutPrefix(line, "    ")
		switch {
		case indented && inside:
			blocks[len(blocks)-1] += code
		case indented:
			blocks = append(blocks, code)
		}
		inside = indented || inside && line == "\n" && strings.HasPrefix(code, "    ")
	}
	return blocks
}

func needPrograms(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("there is no %s", name)
		}
	}
}

// shellIn runs a script in a folder, as the shell of a user does.
func shellIn(t *testing.T, dir, script string, env ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + filepath.Dir(process.Binary(t)) + ":" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + os.TempDir()}, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

const tutorial = "../docs/tutorial/"

// TestFirstTenMinutes runs the commands of the tutorial with another address and
// password.
func TestFirstTenMinutes(t *testing.T) { service.EachStore(t, testFirstTenMinutes) }

func testFirstTenMinutes(t *testing.T, fresh service.NewStore) {
	needPrograms(t, "curl", "sed")
	p := process.ServeWith(t, fresh(t), nil, "--demo")
	blocks := pageBlocks(t, tutorial+"first-ten-minutes.md")[1:] // the first one is make run
	if len(blocks) < 8 {
		t.Fatalf("there are %d blocks", len(blocks))
	}
	first := strings.NewReplacer("http://127.0.0.1:8080", p.URL, "THE PASSWORD", p.MadePassword()).Replace(blocks[0])
	if !strings.Contains(blocks[0], "http://127.0.0.1:8080") || !strings.Contains(blocks[0], "'password=THE PASSWORD'") {
		t.Fatalf("the first block is\n%s", blocks[0])
	}
	const next = "---- next block"
	script := first
	for _, block := range blocks[1:] {
		if !strings.HasPrefix(block, "{") {
			script += "echo; echo '" + next + "'\n" + block
		}
	}
	out, err := shellIn(t, t.TempDir(), script)
	if err != nil {
		t.Fatalf("%s%v", out, err)
	}
	outputs := strings.Split(out, next+"\n")
	for i, n := 1, 0; i < len(blocks); i++ {
		if strings.HasPrefix(blocks[i], "{") { // what the block before prints
			looksLike(t, outputs[n], blocks[i])
			continue
		}
		n++
		answered := i+1 < len(blocks) && strings.HasPrefix(blocks[i+1], "{")
		if !answered && (strings.Contains(outputs[n], `"messages"`) || !strings.Contains(outputs[n], `"id"`)) {
			t.Errorf("%s\nis answered with\n%s", blocks[i], outputs[n])
		}
		if strings.Contains(blocks[i], "curl -i ") && !strings.Contains(outputs[n], "HTTP/1.1 2") {
			t.Errorf("%s\nis answered with\n%s", blocks[i], outputs[n])
		}
	}
	process.Wants(t, out, `"name":"Spring!"`)
}

// looksLike compares what a command prints with an excerpt, in which … stands for what is left
// out.
func looksLike(t *testing.T, whole, excerpt string) {
	t.Helper()
	whole = process.Slow.ReplaceAllString(whole, "")
	dense := regexp.MustCompile(`\s`)
	rest := dense.ReplaceAllString(whole, "")
	for part := range strings.SplitSeq(dense.ReplaceAllString(excerpt, ""), "…") {
		part = strings.Trim(part, ",")
		at := strings.Index(rest, part)
		if at < 0 {
			t.Fatalf("%s is not in %s\nof %s", part, rest, whole)
		}
		rest = rest[at+len(part):]
	}
}

// TestFirstType adds the type of the tutorial, uses it, and changes it, as the
// tutorial does.
func TestFirstType(t *testing.T) {
	t.Parallel()
	p, dir, blocks := servedFirstType(t)
	if len(blocks) != 3 {
		t.Fatalf("there are the blocks %q", blocks)
	}
	session := "URL=" + p.URL + "\nAUTH='Authorization: Bearer " + p.Token + "'\n"
	tried := func(block, want string) {
		t.Helper()
		out, err := shellIn(t, dir, session+block)
		if err != nil || !strings.Contains(out, want) {
			t.Fatalf("%s\nprints\n%s%v", block, out, err)
		}
	}
	tried(blocks[0], `"opened":"2008-04-12T10:00:00.000Z"`)
	tried(blocks[0], `"totalCount":1`)
	from := p.Stderr.Mark()
	tried(blocks[1], "")
	p.Stderr.Await(t, from, service.Says(process.Loaded))
	tried(blocks[2], `"seats":1364`)
	p.Stop()
}

// servedFirstType does what the first block of the tutorial says, in a folder, and returns the
// blocks that follow.
func servedFirstType(t *testing.T, env ...string) (p *process.Process, dir string, blocks []string) {
	t.Helper()
	needPrograms(t, "curl", "sed")
	blocks, dir = pageBlocks(t, tutorial+"first-type.md"), t.TempDir()
	create, serve, found := strings.Cut(strings.ReplaceAll(blocks[0], "go run ./cmd/marquee", "marquee"), "marquee serve ")
	if !found {
		t.Fatalf("it ends without marquee serve:\n%s", blocks[0])
	}
	out, err := shellIn(t, dir, create)
	if err != nil {
		t.Fatalf("%s%v", out, err)
	}
	process.Wants(t, out, "1 schema, no mistakes")
	cmd := process.Command(t, append([]string{"MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password, "MARQUEE_ADDR=127.0.0.1:0", "MARQUEE_LOG_FORMAT=json"}, env...),
		append([]string{"serve"}, strings.Fields(serve)...)...)
	cmd.Dir = dir
	p = process.Launch(t, cmd)
	p.Listens()
	p.SignIn("admin", process.Password)
	return p, dir, blocks[1:]
}

// TestSecondYear follows the tutorial to the letter. A block that begins with no command is what
// the block before it prints.
func TestSecondYear(t *testing.T) { service.EachStore(t, testSecondYear) }

func testSecondYear(t *testing.T, fresh service.NewStore) {
	var env []string
	if uri := fresh(t); !strings.HasPrefix(uri, "sqlite:") {
		process.SkipLong(t)
		env = []string{"MARQUEE_STORE=" + uri, "MARQUEE_SECRET_KEY=" + process.Key}
	}
	p, dir, _ := servedFirstType(t, env...)
	session := "URL=" + p.URL + "\nAUTH='Authorization: Bearer " + p.Token + "'\n"
	printed, compared := "", 0
	for _, block := range pageBlocks(t, tutorial+"second-year.md") {
		if !command.MatchString(block) {
			looksLike(t, printed, block)
			compared++
			continue
		}
		from := p.Stderr.Mark()
		out, err := shellIn(t, dir, session+strings.ReplaceAll(block, "go run ./cmd/marquee", "marquee"), env...)
		if err != nil && !strings.Contains(block, "check --proposed") { // which finds something
			t.Fatalf("%s\nprints\n%s%v", block, out, err)
		}
		if served.MatchString(block) {
			p.Stderr.Await(t, from, service.Says(process.Loaded))
		}
		if strings.Contains(block, "curl -i ") {
			process.Wants(t, out, "HTTP/1.1 200", `"title":"The Opera"`, "Deprecation: @", `Link: </api/v1/halls/opera>; rel="successor-version"`)
		}
		printed = out
	}
	if compared < 10 {
		t.Errorf("%d blocks were compared", compared)
	}
	p.Stop()
}

var (
	// command begins a block that is to be run, and served changes the files that are served.
	command = regexp.MustCompile(`^(cat|cp|curl|go|mkdir|mv|sed) `)
	served  = regexp.MustCompile(`(?m)^(cat > |.* )my-schemas/(venues\.json <<'END')?$`)
)

// TestBackupAsPrinted: the commands that back up an embedded store work while it
// is served and written to, from the folder in which the service was started, and so do
// those that restore it, there and in another place.
func TestBackupAsPrinted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := process.Serve(t, "sqlite:"+filepath.Join(dir, "marquee-data", "marquee.db"))
	p.SignIn("admin", process.Password)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/contextserviceconnections/c?context=main", `{"name": "C", "contextService": "X", "username": "u", "apiKey": "k"}`)
	pages := shellBlocks(t, "../docs/how-to/backup.md", "## The embedded store")
	blocks := shellBlocks(t, "../docs/how-to/import-and-export.md", "# Import and export")
	ended := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-ended:
				return
			default:
			}
			if a, err := p.Send(http.MethodPut, fmt.Sprintf("/api/v1/notes/n%d?context=main", n), nil, []byte(`{"text": "N"}`)); err != nil || a.Status != http.StatusCreated {
				t.Error(err, a)
				return
			}
		}
	})
	run := func(script string) {
		t.Helper()
		if out, err := shellIn(t, dir, script); err != nil {
			t.Fatalf("%s\n%s%v", script, out, err)
		}
	}
	run(blocks[0])
	if text, err := os.ReadFile(filepath.Join(dir, "all.ndjson")); err != nil || !strings.Contains(string(text), "contextserviceconnections") {
		t.Errorf("the export: %s %v", text, err)
	}
	run(pages[0])
	close(ended)
	writing.Wait()
	made, err := filepath.Glob(filepath.Join(dir, "backups", "*.db"))
	if err != nil || len(made) != 1 {
		t.Fatal(made, err)
	}
	const printed = "marquee-20261126T030000.000Z.db"
	for i := range pages {
		pages[i] = strings.ReplaceAll(pages[i], printed, filepath.Base(made[0]))
	}
	run(pages[2]) // the drill
	p.Ask(http.StatusCreated, http.MethodPut, "/api/v1/notes/after?context=main", `{"text": "This is not in the copy."}`)
	p.Stop()
	run(pages[1])
	p = process.Serve(t, "sqlite:"+filepath.Join(dir, "marquee-data", "marquee.db"))
	p.SignIn("admin", process.Password)
	if got := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/contextserviceconnections/c?context=main", ""); !strings.Contains(string(got.Body), `"apiKey":"k"`) {
		t.Errorf("the secret after the restore: %s", got.Body)
	}
	p.Ask(http.StatusOK, http.MethodGet, "/api/v1/notes/n0?context=main", "")
	p.Ask(http.StatusNotFound, http.MethodGet, "/api/v1/notes/after?context=main", "")
	p.Stop()
}

// TestMovingPage runs the commands of the page about moving to MongoDB, and finds the objects in
// the database.
func TestMovingPage(t *testing.T) {
	t.Parallel()
	service.NeedStore(t, "mongodb")
	mongodb.Need(t)
	dir, database := t.TempDir(), mongodb.URI(t)
	from := "sqlite:" + filepath.Join(dir, "marquee-data", "marquee.db")
	p := process.Serve(t, from, "--demo")
	p.SignIn("admin", process.Password)
	orders := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/orders?context=main", "")
	p.Stop()
	const example = "'mongodb://host1,host2,host3/marquee?replicaSet=rs0'"
	script := pageBlocks(t, "../docs/how-to/moving-to-mongodb.md")[0]
	if strings.Count(script, "\n") != 2 || strings.Count(script, example) != 2 {
		t.Fatalf("the commands are\n%s", script)
	}
	out, err := shellIn(t, dir, strings.ReplaceAll(script, example, "'"+database+"'"))
	if err != nil {
		t.Fatalf("%s%v", out, err)
	}
	process.Wants(t, out, "the digests of both stores agree", "nothing is wrong")
	p = process.ServeWith(t, database, []string{"MARQUEE_SECRET_KEY=", "MARQUEE_SECRET_KEY_FILE=" + filepath.Join(dir, "marquee-data", "marquee.key")})
	p.SignIn("admin", process.Password)
	if moved := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/orders?context=main", ""); string(moved.Body) != string(orders.Body) {
		t.Errorf("%s\ninstead of\n%s", moved.Body, orders.Body)
	}
	p.Stop()
}
