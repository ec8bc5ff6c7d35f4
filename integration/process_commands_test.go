package integration

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"marquee/integration/mongodb"
)

// procCommands are the commands of the program.
var procCommands = []string{"serve", "init", "health", "import", "export", "check", "schema lint", "openapi", "init-replica-set", "help", "version"}

// procAnswer runs a command and returns what it prints to standard output and
// to standard error.
func procAnswer(t *testing.T, code int, env []string, args ...string) (out, said string) {
	t.Helper()
	p := procLaunch(t, procCommand(t, env, args...))
	p.ends(code)
	return p.stdout.String(), p.stderr.String()
}

// TestUsage: a command line that is wrong is explained on standard error, and
// ends with 2.
func TestUsage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := procFile(t, filepath.Join(dir, "file"), "")
	for _, c := range []struct {
		says []string
		args []string
	}{
		{[]string{"marquee: name a command", "serve", "import", "version"}, nil},
		{[]string{"marquee: unexpected argument server", `"marquee --help"`}, []string{"server"}},
		{[]string{"marquee: unknown flag --x", "Usage: marquee serve", `"marquee serve --help"`}, []string{"serve", "--x"}},
		{[]string{"marquee: ", "<type-or-file>"}, []string{"import"}},
		{[]string{"marquee: name a command", "lint"}, []string{"schema"}},
		{[]string{"<dir>"}, []string{"schema", "lint"}},
		{[]string{"there is no folder " + dir + "/none"}, []string{"schema", "lint", dir + "/none"}},
		{[]string{file + " is not a folder"}, []string{"schema", "lint", file}},
		{[]string{"there is no folder none"}, []string{"serve", "--schemas", "none"}},
		{[]string{"--log-format", `"json"`, `"xml"`}, []string{"serve", "--log-format", "xml"}},
		{[]string{"--context and --all-networks"}, []string{"export", "--context", "a", "--all-networks"}},
		{[]string{"--chunk 0"}, []string{"import", "notes", file, "--chunk", "0"}},
		{[]string{"--clock-interval"}, []string{"serve", "--clock-interval", "0s"}},
		{[]string{`--addr must be a host and a port, such as 127.0.0.1:8080 or :8080, not "nowhere"`}, []string{"serve", "--addr", "nowhere"}},
		{[]string{`--store: the store "mysql://…" has an unknown scheme`}, []string{"export", "--all-networks", "--store", "mysql://host/marquee"}},
		{[]string{"--max-asset-size"}, []string{"serve", "--max-asset-size", "0"}},
		{[]string{"--embeddings-url"}, []string{"serve", "--embeddings-model", "m"}},
		{[]string{"missing.json"}, []string{"serve", "--config", dir + "/missing.json"}},
		{[]string{"unexpected argument nothing"}, []string{"help", "nothing"}},
	} {
		out, said := procAnswer(t, 2, nil, c.args...)
		procWants(t, said, c.says...)
		if out != "" {
			t.Errorf("%v prints to standard output: %s", c.args, out)
		}
	}
}

// TestHelp: each command has help with examples and defaults, on standard
// output.
func TestHelp(t *testing.T) {
	t.Parallel()
	all, _ := procAnswer(t, 0, nil, "help")
	procWants(t, all, "Examples:\n\n    marquee serve\n")
	for _, command := range procCommands {
		procWants(t, all, "\n  "+command)
		args := strings.Fields(command)
		out, said := procAnswer(t, 0, nil, append([]string{"help"}, args...)...)
		flag, _ := procAnswer(t, 0, nil, append(args, "--help")...)
		if said != "" || flag != out {
			t.Errorf("help %s says %s%s\ninstead of\n%s", command, out, said, flag)
		}
		procWants(t, out, "Usage: marquee "+command, "Example", "\n    marquee "+command)
	}
	for command, defaults := range map[string][]string{
		"serve":  {"(default 127.0.0.1:8080,", "(default sqlite:./marquee-data/marquee.db,", "(default info,", "(default 20971520,"},
		"import": {"(default 1000,", "By default, the schema decides"},
	} {
		out, _ := procAnswer(t, 0, []string{"COLUMNS=500"}, "help", command)
		procWants(t, strings.Join(strings.Fields(out), " "), defaults...)
	}
	version, _ := procAnswer(t, 0, nil, "version")
	flag, _ := procAnswer(t, 0, nil, "--version")
	if version != flag || strings.Count(version, "\n") != 1 {
		t.Errorf("the version is %q and %q", version, flag)
	}
}

// TestValuesInAnyCase: the case of an enumerated value does not matter, in flags,
// the environment and files.
func TestValuesInAnyCase(t *testing.T) {
	t.Parallel()
	config := procFile(t, filepath.Join(t.TempDir(), "config.json"), `{"log_format": "JSON"}`)
	cmd := procCommand(t, []string{"MARQUEE_LOG_LEVEL=Debug", "MARQUEE_DEMO=TRUE", "MARQUEE_BOOTSTRAP_PASSWORD=" + procPassword},
		"serve", "--config", config, "--addr", "127.0.0.1:0", "--store", newSQLite(t))
	p := procLaunch(t, cmd)
	p.listens() // by its log in JSON
	p.stop()
	uri := importMade(t, newSQLite)
	file := importFile(t, `{"id": "a", "text": "A", "colour": "red"}`)
	procWants(t, importRun(t, 3, uri, "notes", file, "--context", "main", "--field-validation", "STRICT"), "/colour")
}

// TestInterrupted: a command that a signal ends before it is done has the
// status of shells for that.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	uri := importMade(t, newSQLite)
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for sent, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		p := procLaunch(t, procCommand(t, nil, "import", "notes", fifo, "--context", "main", "--store", uri))
		lines, err := os.OpenFile(fifo, os.O_WRONLY, 0) // which waits for the import to open it
		if err != nil {
			t.Fatal(err)
		}
		if err := p.cmd.Process.Signal(sent); err != nil {
			t.Fatal(err)
		}
		p.ends(code)
		procWants(t, p.stderr.String(), "interrupted")
		lines.Close()
	}

	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	cmd := procCommand(t, nil, "import", "notes", "-", "--context", "main", "--store", uri, "--chunk", "1")
	cmd.Stdin = read
	p := procLaunch(t, cmd)
	read.Close()
	// More than a pipe holds: when it is written, the import reads.
	if _, err := io.Copy(write, bytes.NewReader([]byte(strings.Repeat(`{"text": "A"}`+"\n", 20_000)))); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	p.ends(130)
	procWants(t, p.stderr.String(), "interrupted", "objects written so far are kept")
}

// TestDatabaseIsWaitedFor checks that a command which waits for a database says
// so early, and again.
func TestDatabaseIsWaitedFor(t *testing.T) {
	t.Parallel()
	const uri = "mongodb://marquee:hunter2secret@127.0.0.1:1/marquee"
	p := procLaunch(t, procCommand(t, nil, "serve", "--addr", "127.0.0.1:0", "--log-format", "json", "--store", uri+"?serverSelectionTimeoutMS=60000"))
	from, before := 0, time.Duration(0)
	for range 2 {
		entry := procEntry(p.stderr.await(t, from, procSays("the database does not answer; waiting for it")))
		from = p.stderr.mark()
		waited, err := time.ParseDuration(entry["waited"].(string))
		if err != nil || waited <= before {
			t.Errorf("it is logged after %v: %v", entry, err)
		}
		before = waited
		procWants(t, entry["store"].(string), "mongodb://127.0.0.1:1/marquee")
	}
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	p.ends(130)
	procWants(t, p.stderr.String(), `"reason":"interrupted"`)
	procShuns(t, p.stderr.String(), "hunter2secret")

	for _, args := range [][]string{{"init"}, {"export", "--all-networks"}, {"import", importFile(t)}} {
		p := procLaunch(t, procCommand(t, nil, append(args, "--store", uri+"?serverSelectionTimeoutMS=3000")...))
		p.ends(1)
		procWants(t, p.stderr.String(), "marquee: mongodb://127.0.0.1:1/marquee does not answer; waiting for it", "no server of MongoDB can be reached")
		procShuns(t, p.stderr.String(), "hunter2secret")
	}

	// One that answers is not said to be waited for.
	q := procServe(t, mongodb.URI(t))
	q.stop()
	procShuns(t, q.stderr.String(), "waiting for it")
}
