// Package alerts evaluates the alert rules of deploy/prometheus on metrics of the program, with
// promtool. Begin with Rules and Evaluate.
package alerts

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
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
	var tests []map[string]any
	for _, c := range cases {
		var input, expected []map[string]any
		for name, values := range c.Series {
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
	absolute, err := filepath.Abs(File)
	if err != nil {
		t.Fatal(err)
	}
	document, err := yaml.Marshal(map[string]any{"rule_files": []string{absolute}, "evaluation_interval": "1m", "tests": tests})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tests.yml")
	if err := os.WriteFile(file, document, 0o600); err != nil {
		t.Fatal(err)
	}
	Promtool(t, nil, "test", "rules", file)
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
