package program

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestRefusedSettings: settings that are refused are all named, and in one form,
// whatever is wrong with them.
func TestRefusedSettings(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	for wants, args := range map[string][]string{
		"--clock-interval must be greater than 0; --max-connections must be at least 1":      {"--clock-interval", "0s", "--max-connections", "0"},
		`--read-timeout must be a time such as 30s, 15m or 2h, not "soon"`:                   {"--read-timeout", "soon"},
		"--min-password-length must be from 8 to 64; --max-sessions must be from 1 to 1000":  {"--min-password-length=3", "--max-sessions=0"},
		"--write-timeout must not be less than 0":                                            {"--write-timeout=-1s"},
		"--min-password-length must be from 8 to 64":                                         {"--min-password-length", "0"},
		"--store: the MongoDB store cannot be used: its connection string names no database": {"--store", "mongodb://127.0.0.1/"},
		`--store: the store "…" has an unknown scheme`:                                       {"--store", "marquee.db"},
		"--embeddings-url: the URL of the embeddings service must begin":                     {"--embeddings-url", "x"},
		"--secret-key: the secret key must be base64":                                        {"--secret-key", "x"},
		"--tls-cert and --tls-key: the certificate cannot be used":                           {"--tls-cert", "no.pem", "--tls-key", "no.pem"},
		"unknown flag --no-such-flag":                                                        {"--no-such-flag"},
	} {
		if !strings.HasPrefix(wants, "--store") { // config does not open the store
			p := process.Launch(t, process.Command(t, nil, append([]string{"config"}, args...)...))
			p.Ends(2)
			process.Wants(t, p.Stderr.String(), "marquee: "+wants)
		}
		args = append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)
		p := process.Launch(t, process.Command(t, nil, args...))
		p.Ends(2)
		if out := withoutSteps(p.Stderr.String()); !strings.HasPrefix(out, "marquee: "+wants) || !strings.Contains(out, "\nUsage: marquee serve") || strings.Contains(out, "level=") {
			t.Errorf("%v:\n%s", args, out)
		}
		p = process.Launch(t, process.Command(t, []string{"MARQUEE_LOG_FORMAT=json"}, args...))
		p.Ends(2)
		lines := strings.Split(strings.TrimSpace(withoutSteps(p.Stderr.String())), "\n")
		entry := service.Entry(lines[0])
		if reason, _ := entry["reason"].(string); len(lines) != 1 || entry["msg"] != "marquee serve ended" || !strings.HasPrefix(reason, wants) {
			t.Errorf("%v:\n%s", args, p.Stderr)
		}
	}
}

// startingLine matches what a start logs that takes longer than a moment.
var startingLine = regexp.MustCompile(`(?m)^.*"?msg"?[=:]"?starting"?.*\n`)

// withoutSteps leaves out what a slow start has logged.
func withoutSteps(text string) string { return startingLine.ReplaceAllString(text, "") }

// TestOpenFiles: a limit of open files that has no room for the connections is named,
// and lowers their number.
func TestOpenFiles(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	cmd := process.Command(t, nil, "serve", "--addr", "127.0.0.1:0", "--log-format", "json", "--store", service.NewSQLite(t))
	cmd.Args = append([]string{"sh", "-c", `ulimit -n 128 && exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	p := process.Launch(t, cmd)
	p.Listens()
	entry := service.Entry(p.Stderr.Await(t, 0, func(line string) bool { return strings.Contains(line, "--max-connections") }))
	if entry["level"] != "WARN" || entry["openFiles"] != 128.0 || entry["used"] != 96.0 {
		t.Errorf("%v", entry)
	}
	for range 110 { // more than are used, each of which may be closed for the next
		dial(p)
	}
	p.Ask(http.StatusOK, http.MethodGet, "/healthz", "")
	p.Stop()
	process.Shuns(t, p.Stderr.String(), "too many open files")
}
