// Package alerts evaluates the alert rules and the dashboard of deploy/prometheus on metrics of
// the program, with promtool. Begin with Rules and Evaluate.
package alerts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"marquee/integration/installed"
)

// File has the rules, as seen from a suite.
const File = "../../deploy/prometheus/alerts.yml"

// Rule is an alert.
type Rule struct {
	Alert       string
	Labels      map[string]string
	Annotations map[string]string
}

// Need skips a test where there is no promtool.
func Need(t *testing.T) {
	t.Helper()
	installed.Suite("promtool").Need(t, "install the package prometheus of Debian", "promtool")
}

// Rules returns all alerts.
func Rules(t *testing.T) []Rule {
	t.Helper()
	var rules struct {
		Groups []struct{ Rules []Rule }
	}
	text, err := os.ReadFile(File)
	if err == nil {
		err = yaml.Unmarshal(text, &rules)
	}
	if err != nil {
		t.Fatal(err)
	}
	return rules.Groups[0].Rules
}

// SeriesOf returns the values of a text with metrics, by their series.
func SeriesOf(text string) map[string]float64 {
	all := map[string]float64{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if at := strings.LastIndexByte(line, ' '); at > 0 && !strings.HasPrefix(line, "#") {
			all[line[:at]], _ = strconv.ParseFloat(line[at+1:], 64)
		}
	}
	return all
}

var counted = regexp.MustCompile(`^\w+_(total|bucket|count|sum)\b`)

// Steady returns the series of a server that does each minute, for an hour, what it has done
// between two texts with its metrics.
func Steady(before, after string) map[string]string {
	series := map[string]string{`up{job="marquee",instance="here"}`: "1x60"}
	values := SeriesOf(before)
	for name, last := range SeriesOf(after) {
		first, known := values[name]
		if !known || !counted.MatchString(name) {
			first = last
		}
		series[Labelled(name)] = fmt.Sprintf("%.9f+%.9fx60", first, last-first)
	}
	series[Labelled("marquee_time_seconds")] = "0+60x60" // promtool begins in 1970
	return series
}

// Labelled adds the labels of a target to a series.
func Labelled(name string) string {
	metric, labels, any := strings.Cut(name, "{")
	if !any {
		return metric + `{job="marquee",instance="here"}`
	}
	return metric + `{job="marquee",instance="here",` + labels
}

// Case is a case of promtool: series with a value for each minute, and the rules of which, at a
// time such as 50m, one fires, or none.
type Case struct {
	Series map[string]string
	At     string
	Rules  []Rule
	Fires  string
}

// Evaluate fails the test unless all cases are as they say.
func Evaluate(t *testing.T, cases ...Case) {
	t.Helper()
	absolute, err := filepath.Abs(File)
	if err != nil {
		t.Fatal(err)
	}
	evaluate(t, absolute, cases...)
}

// ShowPanels fails the test unless each panel of the dashboard shows something of series that
// Steady has returned, but for those of the other kind of store.
func ShowPanels(t *testing.T, series map[string]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(filepath.Dir(File), "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	other := "marquee_mongodb_"
	if _, clustered := series[Labelled("marquee_mongodb_connections")]; clustered {
		other = "marquee_sqlite_"
	}
	variables := strings.NewReplacer("$instance", ".*", "$__rate_interval", "5m")
	var rules []map[string]any
	c := Case{Series: series, At: "50m"}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			if strings.Contains(target.Expr, other) {
				continue
			}
			query := variables.Replace(target.Expr)
			name := "no result of " + query
			rules = append(rules, map[string]any{"alert": name, "expr": "absent(" + query + ")"})
			c.Rules = append(c.Rules, Rule{Alert: name})
		}
	}
	evaluate(t, write(t, "panels.yml", map[string]any{"groups": []map[string]any{{"name": "panels", "rules": rules}}}), c)
}

// evaluate is Evaluate for the rules of a file. Promtool gets the series that they name.
func evaluate(t *testing.T, rules string, cases ...Case) {
	t.Helper()
	text, err := os.ReadFile(rules)
	if err != nil {
		t.Fatal(err)
	}
	var tests []map[string]any
	for _, c := range cases {
		var input, expected []map[string]any
		for name, values := range c.Series {
			if metric, _, _ := strings.Cut(name, "{"); !bytes.Contains(text, []byte(metric)) {
				continue
			}
			input = append(input, map[string]any{"series": name, "values": values})
		}
		for _, rule := range c.Rules {
			test := map[string]any{"eval_time": c.At, "alertname": rule.Alert}
			if rule.Alert == c.Fires {
				labels := map[string]string{"instance": "here"}
				for name, value := range rule.Labels {
					labels[name] = value
				}
				test["exp_alerts"] = []map[string]any{{"exp_labels": labels, "exp_annotations": rule.Annotations}}
			}
			expected = append(expected, test)
		}
		tests = append(tests, map[string]any{"interval": "1m", "input_series": input, "alert_rule_test": expected})
	}
	Promtool(t, nil, "test", "rules", write(t, "tests.yml", map[string]any{"rule_files": []string{rules}, "evaluation_interval": "1m", "tests": tests}))
}

// write writes a document for promtool.
func write(t *testing.T, name string, document any) (path string) {
	t.Helper()
	text, err := yaml.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Promtool runs a command of promtool.
func Promtool(t *testing.T, input []byte, args ...string) {
	t.Helper()
	cmd := exec.Command("promtool", args...)
	cmd.Stdin = bytes.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("promtool %v: %v\n%s", args, err, out)
	}
}
