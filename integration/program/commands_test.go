package program

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
	"marquee/integration/process"
	"marquee/integration/service"
)

// procCommands are the commands of the program.
var procCommands = []string{"serve", "init", "health", "import", "export", "check", "schema lint", "openapi", "init-replica-set", "help", "version"}

// TestUsage: a command line that is wrong is explained on standard error, and
// ends with 2.
func TestUsage(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	dir := t.TempDir()
	file := process.File(t, filepath.Join(dir, "file"), "")
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
		out, said := process.Answer(t, 2, nil, c.args...)
		process.Wants(t, said, c.says...)
		if out != "" {
			t.Errorf("%v prints to standard output: %s", c.args, out)
		}
	}
}

// TestHelp: each command has help with examples and defaults, on standard
// output.
func TestHelp(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	all, _ := process.Answer(t, 0, nil, "help")
	process.Wants(t, all, "Examples:\n\n    marquee serve\n")
	for _, command := range procCommands {
		process.Wants(t, all, "\n  "+command)
		args := strings.Fields(command)
		out, said := process.Answer(t, 0, nil, append([]string{"help"}, args...)...)
		flag, _ := process.Answer(t, 0, nil, append(args, "--help")...)
		if said != "" || flag != out {
			t.Errorf("help %s says %s%s\ninstead of\n%s", command, out, said, flag)
		}
		process.Wants(t, out, "Usage: marquee "+command, "Example", "\n    marquee "+command)
	}
	for command, defaults := range map[string][]string{
		"serve":  {"(default 127.0.0.1:8080,", "(default sqlite:./marquee-data/marquee.db,", "(default info,", "(default 20971520,"},
		"import": {"(default 1000,", "By default, the schema decides"},
	} {
		out, _ := process.Answer(t, 0, []string{"COLUMNS=500"}, "help", command)
		process.Wants(t, strings.Join(strings.Fields(out), " "), defaults...)
	}
	version, _ := process.Answer(t, 0, nil, "version")
	flag, _ := process.Answer(t, 0, nil, "--version")
	if version != flag || strings.Count(version, "\n") != 1 {
		t.Errorf("the version is %q and %q", version, flag)
	}
}

// TestValuesInAnyCase: the case of an enumerated value does not matter, in flags,
// the environment and files.
func TestValuesInAnyCase(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	config := process.File(t, filepath.Join(t.TempDir(), "config.json"), `{"log_format": "JSON"}`)
	cmd := process.Command(t, []string{"MARQUEE_LOG_LEVEL=Debug", "MARQUEE_DEMO=TRUE", "MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password},
		"serve", "--config", config, "--addr", "127.0.0.1:0", "--store", service.NewSQLite(t))
	p := process.Launch(t, cmd)
	p.Listens() // by its log in JSON
	p.Stop()
	uri := process.ImportMade(t, service.NewSQLite)
	file := process.ImportFile(t, `{"id": "a", "text": "A", "colour": "red"}`)
	process.Wants(t, process.ImportRun(t, 3, uri, "notes", file, "--context", "main", "--field-validation", "STRICT"), "/colour")
}

// TestInterrupted: a command that a signal ends before it is done has the
// status of shells for that.
func TestInterrupted(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	uri := process.ImportMade(t, service.NewSQLite)
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for sent, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		p := process.Launch(t, process.Command(t, nil, "import", "notes", fifo, "--context", "main", "--store", uri))
		lines, err := os.OpenFile(fifo, os.O_WRONLY, 0) // which waits for the import to open it
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Cmd.Process.Signal(sent); err != nil {
			t.Fatal(err)
		}
		p.Ends(code)
		process.Wants(t, p.Stderr.String(), "interrupted")
		lines.Close()
	}

	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	cmd := process.Command(t, nil, "import", "notes", "-", "--context", "main", "--store", uri, "--chunk", "1")
	cmd.Stdin = read
	p := process.Launch(t, cmd)
	read.Close()
	// More than a pipe holds: when it is written, the import reads.
	if _, err := io.Copy(write, bytes.NewReader([]byte(strings.Repeat(`{"text": "A"}`+"\n", 20_000)))); err != nil {
		t.Fatal(err)
	}
	if err := p.Cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	p.Ends(130)
	process.Wants(t, p.Stderr.String(), "interrupted", "objects written so far are kept")
}

// TestDatabaseIsWaitedFor checks that a command which waits for a database says
// so early, and again.
func TestDatabaseIsWaitedFor(t *testing.T) {
	t.Parallel()
	const uri = "mongodb://marquee:hunter2secret@127.0.0.1:1/marquee"
	p := process.Launch(t, process.Command(t, nil, "serve", "--addr", "127.0.0.1:0", "--log-format", "json", "--store", uri+"?serverSelectionTimeoutMS=60000"))
	from, before := 0, time.Duration(0)
	for range 2 {
		entry := service.Entry(p.Stderr.Await(t, from, service.Says("the database does not answer; waiting for it")))
		from = p.Stderr.Mark()
		waited, err := time.ParseDuration(entry["waited"].(string))
		if err != nil || waited <= before {
			t.Errorf("it is logged after %v: %v", entry, err)
		}
		before = waited
		process.Wants(t, entry["store"].(string), "mongodb://127.0.0.1:1/marquee")
	}
	if err := p.Cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	p.Ends(130)
	process.Wants(t, p.Stderr.String(), `"reason":"interrupted"`)
	process.Shuns(t, p.Stderr.String(), "hunter2secret")

	// What a command waits for is reported a second time ten seconds later: first, it may be reading
	// the schemas still.
	var commands []*process.Process
	for _, args := range [][]string{{"init"}, {"export", "--all-networks"}, {"import", process.ImportFile(t)}} {
		commands = append(commands, process.Launch(t, process.Command(t, nil, append(args, "--store", uri+"?serverSelectionTimeoutMS=15000")...)))
	}
	for _, p := range commands {
		p.Ends(1)
		process.Wants(t, p.Stderr.String(), "marquee: mongodb://127.0.0.1:1/marquee does not answer; waiting for it", "no server of MongoDB can be reached")
		process.Shuns(t, p.Stderr.String(), "hunter2secret")
	}

	// One that answers is not said to be waited for.
	q := process.Serve(t, mongodb.URI(t))
	q.Stop()
	process.Shuns(t, q.Stderr.String(), "waiting for it")
}
