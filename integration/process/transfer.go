package process

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"marquee/integration/service"
)

// ImportEnv is the environment of imports and exports: nothing that the tests
// do not say.
var ImportEnv = []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + Password}

// ImportMade is a store with the network main.
func ImportMade(t *testing.T, fresh service.NewStore) string {
	t.Helper()
	uri := fresh(t)
	Run(t, ImportEnv, "init", "--store", uri)
	return uri
}

// ImportRun runs an import that ends with a code, and returns what it says.
func ImportRun(t *testing.T, code int, uri string, args ...string) string {
	t.Helper()
	defer besideServer(t, uri, args)()
	p := Launch(t, Command(t, ImportEnv, append([]string{"import", "--store", uri}, args...)...))
	p.Ends(code)
	Shuns(t, p.Stdout.String()+p.Stderr.String(), "\r", "\x1b", "goroutine")
	return p.Printed()
}

// ExportRun returns what an export writes to standard output.
func ExportRun(t *testing.T, uri string, args ...string) string {
	t.Helper()
	p := Launch(t, Command(t, ImportEnv, append([]string{"export", "--store", uri}, args...)...))
	p.Ends(0)
	return p.Stdout.String()
}

// ImportFile writes a file of lines of JSON, and returns its path.
func ImportFile(t *testing.T, lines ...string) string {
	t.Helper()
	return File(t, filepath.Join(t.TempDir(), "data.ndjson"), strings.Join(lines, "\n")+"\n")
}

// Rejected is one line of a report.
type Rejected struct {
	Line     int
	Messages []RejectedMessage
	// Text is the line itself, "" when it is left out.
	Text string `json:"-"`
}

// RejectedMessage is a message about a rejected line.
type RejectedMessage struct {
	Code   string
	Params map[string]any
}

// ReadReport reads a file of rejected lines, by the number of the line.
func ReadReport(t *testing.T, path string) map[int]Rejected {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	report, last := map[int]Rejected{}, 0
	for text := range strings.Lines(string(content)) {
		text = strings.TrimSuffix(text, "\n")
		if said, is := strings.CutPrefix(text, "# {"); is {
			var r Rejected
			if err := json.Unmarshal([]byte("{"+said), &r); err != nil {
				t.Fatal(err)
			}
			if _, twice := report[r.Line]; twice {
				t.Errorf("line %d is reported twice", r.Line)
			}
			report[r.Line], last = r, r.Line
		} else if !strings.HasPrefix(text, "# ") {
			r := report[last]
			if r.Text != "" {
				t.Errorf("line %d is followed by %q and %q", last, r.Text, text)
			}
			r.Text = text
			report[last] = r
		}
	}
	return report
}

// Gone checks that an import has left nothing but its file.
func Gone(t *testing.T, file string) {
	t.Helper()
	left, err := filepath.Glob(file + "?*")
	if err != nil || len(left) > 0 {
		t.Errorf("the import left %v %v", left, err)
	}
}
