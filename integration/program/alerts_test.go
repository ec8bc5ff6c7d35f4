package program

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"marquee/integration/installed"
	"marquee/integration/process"
	"marquee/integration/service"
)

// alertsFile has the rules, and broken, for each of them, series that make it fire.
const alertsFile = "../../deploy/prometheus/alerts.yml"

var broken = map[string]map[string]string{
	"MarqueeDown":               {`up{job="marquee",instance="here"}`: "0x60"},
	"MarqueeStarting":           {"marquee_started": "0x60"},
	"MarqueeRestarting":         {"process_start_time_seconds": "1+1x60"},
	"MarqueeErrors":             {`marquee_requests_total{operation="write",status="5xx"`: "0+60x60"},
	"MarqueeNotReady":           {`marquee_requests_total{operation="health",status="5xx"`: "0+6x60"},
	"MarqueeClockWrong":         {"marquee_time_seconds": "600+60x60"},
	"MarqueeCertificateExpires": {"marquee_tls_certificate_expiry_timestamp_seconds": "100000x60"},
	"MarqueeCallersLimited":     {`marquee_rate_limited_total{limit="caller"`: "0+120x60"},
	"MarqueeSlow":               {`marquee_request_duration_seconds_bucket{operation="list",le="+Inf"`: "0+600x60"},
	"MarqueeMemoryRefused":      {"marquee_memory_budget_refused_total": "0+1x60"},
	"MarqueeSpoolRefused":       {"marquee_spool_refused_total": "0+1x60"},
	"MarqueeConnectionsRefused": {"marquee_connections_refused_total": "0+1x60"},
	"MarqueeWritesWait":         {`marquee_store_write_wait_seconds_bucket{le="+Inf"`: "0+600x60"},
	"MarqueeLogGrows":           {"marquee_sqlite_wal_bytes": "300000000x60"},
	"MarqueeBackupOld":          {"marquee_backup_max_age_seconds": "60x60"},
	"MarqueeReplicationLags":    {"marquee_mongodb_replication_lag_seconds": "60x60"},
	"MarqueeSchemasRefused":     {"marquee_schema_refused": "1x60"},
	"MarqueeQueueStuck":         {"marquee_following_oldest_seconds": "700x60"},
	"MarqueeSignInsRefused":     {`marquee_sign_ins_total{result="limited"`: "0+120x60"},
}

type alert struct {
	Alert       string
	Labels      map[string]string
	Annotations map[string]string
}

// TestAlerts: promtool accepts the metrics and the rules. None of them fires on the metrics
// of a server that has served some requests, and each fires when its metric says so.
func TestAlerts(t *testing.T) { service.EachStore(t, testAlerts) }

func testAlerts(t *testing.T, fresh service.NewStore) {
	const suite = installed.Suite("promtool")
	suite.Need(t, "install the package prometheus of Debian", "promtool")
	p, private := privately(t, fresh(t))
	before := scrape(t, p, private)
	p.SignIn("admin", process.Password)
	for i := range 50 {
		p.Ask(http.StatusCreated, http.MethodPost, fmt.Sprintf("/api/v1/tiers/t%d?context=main", i), `{"name": "T"}`)
		p.Ask(http.StatusOK, http.MethodGet, "/api/v1/tiers?context=main", "")
	}
	p.Ask(http.StatusOK, http.MethodGet, "/readyz", "")
	after := scrape(t, p, private)
	p.Stop()
	promtool(t, []byte(after), "check", "metrics")
	promtool(t, nil, "check", "rules", alertsFile)

	healthy := map[string]string{`up{job="marquee",instance="here"}`: "1x60"}
	values := seriesOf(before)
	for name, last := range seriesOf(after) {
		first, known := values[name]
		if !known || !regexp.MustCompile(`^\w+_(total|bucket|count|sum)\b`).MatchString(name) {
			first = last
		}
		// The same load again each minute.
		healthy[labelled(name)] = fmt.Sprintf("%.9f+%.9fx60", first, last-first)
	}
	healthy[labelled("marquee_time_seconds")] = "0+60x60" // the tests begin in 1970
	var rules struct {
		Groups []struct{ Rules []alert }
	}
	text, err := os.ReadFile(alertsFile)
	if err == nil {
		err = yaml.Unmarshal(text, &rules)
	}
	if err != nil {
		t.Fatal(err)
	}
	all := rules.Groups[0].Rules
	if len(all) != len(broken) {
		t.Errorf("there are %d alerts, of which %d are tried", len(all), len(broken))
	}
	steady := slices.DeleteFunc(slices.Clone(all), func(a alert) bool { return a.Alert == "MarqueeSlow" || a.Alert == "MarqueeWritesWait" })
	tests := []map[string]any{unit(healthy, steady, "")} // how long requests take depends on the machine
	for _, rule := range all {
		changed := map[string]string{}
		for name, values := range healthy {
			changed[name] = values
		}
		tried := false
		for name := range changed {
			for prefix, values := range broken[rule.Alert] {
				if name == prefix || strings.HasPrefix(name, strings.TrimSuffix(labelled(prefix), "}")) {
					changed[name], tried = values, true
				}
			}
		}
		if tried {
			tests = append(tests, unit(changed, []alert{rule}, rule.Alert))
		} else if !slices.Contains(ofOtherStore(after), rule.Alert) {
			t.Errorf("no series makes %s fire", rule.Alert)
		}
	}
	absolute, err := filepath.Abs(alertsFile)
	if err != nil {
		t.Fatal(err)
	}
	document, err := yaml.Marshal(map[string]any{"rule_files": []string{absolute}, "evaluation_interval": "1m", "tests": tests})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tests.yml")
	process.File(t, file, string(document))
	promtool(t, nil, "test", "rules", file)
}

// ofOtherStore returns the alerts about a store of another kind than that of a server.
func ofOtherStore(metrics string) []string {
	if strings.Contains(metrics, "marquee_sqlite_") {
		return []string{"MarqueeReplicationLags"}
	}
	return []string{"MarqueeLogGrows", "MarqueeBackupOld"}
}

// scrape returns the metrics.
func scrape(t testing.TB, p *process.Process, private string) string {
	t.Helper()
	status, text := asked(t, p.Client, http.MethodGet, private+"/metrics")
	if status != http.StatusOK {
		t.Fatal(status, text)
	}
	return text
}

// seriesOf returns the values of a text with metrics, by their series.
func seriesOf(text string) map[string]float64 {
	all := map[string]float64{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if at := strings.LastIndexByte(line, ' '); at > 0 && !strings.HasPrefix(line, "#") {
			all[line[:at]], _ = strconv.ParseFloat(line[at+1:], 64)
		}
	}
	return all
}

// labelled adds the labels of a target to a series.
func labelled(name string) string {
	metric, labels, any := strings.Cut(name, "{")
	if !any {
		return metric + `{job="marquee",instance="here"}`
	}
	return metric + `{job="marquee",instance="here",` + labels
}

// unit returns a unit test of promtool, in which one alert fires, or none.
func unit(series map[string]string, rules []alert, fires string) map[string]any {
	var input, expected []map[string]any
	for name, values := range series {
		input = append(input, map[string]any{"series": name, "values": values})
	}
	for _, rule := range rules {
		test := map[string]any{"eval_time": "50m", "alertname": rule.Alert}
		if rule.Alert == fires {
			labels := map[string]string{"instance": "here"}
			for name, value := range rule.Labels {
				labels[name] = value
			}
			test["exp_alerts"] = []map[string]any{{"exp_labels": labels, "exp_annotations": rule.Annotations}}
		}
		expected = append(expected, test)
	}
	return map[string]any{"interval": "1m", "input_series": input, "alert_rule_test": expected}
}

// promtool runs a command of promtool.
func promtool(t *testing.T, input []byte, args ...string) {
	t.Helper()
	cmd := exec.Command("promtool", args...)
	cmd.Stdin = bytes.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("promtool %v: %v\n%s", args, err, out)
	}
}
