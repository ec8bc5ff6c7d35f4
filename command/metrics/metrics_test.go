package metrics

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"marquee"
	"marquee/engine/rest"
	"marquee/integration/process"
)

// TestDocumented: the reference has every metric with its kind and its labels, and no other.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented, declared []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(marquee_\\w+)` \\| (\\w+) \\| (.*?) \\|").FindAllStringSubmatch(string(page), -1) {
		documented = append(documented, row[1]+" "+row[2]+" "+strings.ReplaceAll(strings.ReplaceAll(row[3], "`", ""), ", ", ","))
	}
	kinds := map[prometheus.ValueType]string{prometheus.CounterValue: "counter", prometheus.GaugeValue: "gauge", prometheus.UntypedValue: "histogram"}
	described := regexp.MustCompile(`fqName: "(\w+)".*variableLabels: \{(.*?)\}`)
	for _, f := range families {
		found := described.FindStringSubmatch(f.desc.String())
		declared = append(declared, found[1]+" "+kinds[f.kind]+" "+found[2])
	}
	slices.Sort(documented)
	slices.Sort(declared)
	if !slices.Equal(documented, declared) {
		t.Errorf("documented:\n%s\ndeclared:\n%s", strings.Join(documented, "\n"), strings.Join(declared, "\n"))
	}
}

// TestLabels: each metric has series before the store is open, but for those of types, and the
// reference lists the values of their labels.
func TestLabels(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	m, _ := open(t, 0)
	shown, metrics := map[string][]string{}, map[string]bool{"marquee_type_requests_total": true}
	for _, m.cluster = range []bool{false, true} {
		for _, one := range series(t, m) {
			name, labels, _ := strings.Cut(one, "{")
			metrics[name] = true
			for _, label := range regexp.MustCompile(`(\w+)="(.*?)"`).FindAllStringSubmatch(labels, -1) {
				if strings.HasPrefix(name, "marquee_") && name != "marquee_build_info" && label[1] != "le" && !slices.Contains(shown[label[1]], label[2]) {
					shown[label[1]] = append(shown[label[1]], label[2])
				}
			}
		}
	}
	for _, f := range families {
		name, _, _ := strings.Cut(strings.TrimPrefix(f.desc.String(), `Desc{fqName: "`), `"`)
		if !metrics[name] && !metrics[name+"_bucket"] {
			t.Errorf("%s has no series", name)
		}
	}
	for label, values := range shown {
		_, row, _ := strings.Cut(string(page), "\n| `"+label+"` | ")
		row, _, _ = strings.Cut(row, "\n")
		var documented []string
		for _, quoted := range regexp.MustCompile("`([a-z0-9-]+)`").FindAllStringSubmatch(row, -1) {
			documented = append(documented, quoted[1])
		}
		slices.Sort(values)
		slices.Sort(documented)
		if documented = slices.Compact(documented); !slices.Equal(values, documented) {
			t.Errorf("%s: %q, and documented %q", label, values, documented)
		}
	}
}

const testPassword = "a password to test with"

// open returns the metrics of a server with a number of types.
func open(t testing.TB, types int) (*Metrics, *marquee.Server) {
	t.Helper()
	files := fstest.MapFS{}
	for i := range types {
		files[fmt.Sprintf("type%d.json", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, `{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "T", "type": "object",
			"x-resource": {"path": "type%d", "methods": ["GET", "POST", "PUT"]}, "properties": {"name": {"type": "string"}}}`, i)}
	}
	meter := rest.NewMeter()
	options := marquee.Options{Folder: t.TempDir(), Schemas: files, Meter: meter, First: marquee.First{Password: testPassword}}
	front, err := marquee.Front(options, func() string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	m := New(Program{Version: "v1", Application: "none"}, meter, front, false)
	s, err := marquee.Open(context.Background(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return m, s
}

// series returns the series without their values.
func series(t testing.TB, m *Metrics) []string {
	t.Helper()
	m.fresh = time.Time{}
	text, err := m.read()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(text)) {
		if at := strings.LastIndexByte(line, ' '); !strings.HasPrefix(line, "#") {
			all = append(all, line[:at])
		}
	}
	return all
}

// TestSeriesFromTheStart: all series are there before the store is open, and requests add
// none, whatever they contain. MARQUEE_SERIES is their number.
func TestSeriesFromTheStart(t *testing.T) {
	m, s := open(t, 3)
	own := func() (all []string) {
		for _, one := range series(t, m) {
			if strings.HasPrefix(one, "marquee_") && !strings.HasPrefix(one, "marquee_type_") {
				all = append(all, one)
			}
		}
		return all
	}
	before := own()
	m.Serve(s, func() State { return State{} })
	if after := own(); !slices.Equal(before, after) {
		t.Errorf("%d series before the start, and %d after it", len(before), len(after))
	}
	all := series(t, m)
	form := url.Values{"grant_type": {"password"}, "username": {"admin"}, "password": {testPassword}}
	r := httptest.NewRequest(http.MethodPost, "/api/authenticate", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := httptest.NewRecorder()
	s.ServeHTTP(answer, r)
	var signed struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &signed); err != nil || signed.Token == "" {
		t.Fatal(answer.Body, err)
	}
	for i := range process.Number(t, "MARQUEE_SERIES", 3000) {
		path := []string{"/api/v1/type0/id%d?context=n%d", "/api/v1/unknown%d/%d", "/p%d/q%d", "/api/v1/type1?where%d=x%d", "/metrics/%d/%d"}[i%5]
		r := httptest.NewRequest(http.MethodGet, fmt.Sprintf(path, i, i), nil)
		if i%3 == 0 {
			r.Method = fmt.Sprintf("M%d", i)
		}
		if i%2 == 0 {
			r.Header.Set("Authorization", "Bearer "+signed.Token)
		}
		r.Header.Set("User-Agent", fmt.Sprint("agent", i))
		r.RemoteAddr = fmt.Sprintf("10.%d.%d.%d:1", i>>16&255, i>>8&255, i&255)
		s.ServeHTTP(httptest.NewRecorder(), r)
	}
	if after := series(t, m); len(after) != len(all) {
		t.Errorf("%d series became %d", len(all), len(after))
	}
}

// TestManyTypes: with 500 types, there are at most 5,000 series.
func TestManyTypes(t *testing.T) {
	m, s := open(t, 500)
	m.Serve(s, func() State { return State{} })
	if n := len(series(t, m)); n > 5000 || n < 2000 {
		t.Errorf("%d series", n)
	}
}

// TestScrapeTime: with 500 types, a scrape takes less than 50 ms.
func TestScrapeTime(t *testing.T) {
	process.Measures(t)
	m, s := open(t, 500)
	m.Serve(s, func() State { return State{} })
	took := make([]time.Duration, 31)
	for i := range took {
		m.fresh = time.Time{}
		began := time.Now()
		if _, err := m.read(); err != nil {
			t.Fatal(err)
		}
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	if median := took[len(took)/2]; median > 50*time.Millisecond {
		t.Errorf("a scrape takes %v", took)
	}
	t.Logf("%v, from %v to %v", took[len(took)/2], took[0], took[len(took)-1])
}

// BenchmarkScrape reads the metrics of a server with 500 types. The processor time depends less
// on what else the machine does.
func BenchmarkScrape(b *testing.B) {
	m, s := open(b, 500)
	m.Serve(s, func() State { return State{} })
	began := processorTime(b)
	defer func() {
		b.ReportMetric(float64((processorTime(b)-began).Microseconds())/1000/float64(b.N), "cpu-ms/op")
	}()
	for b.Loop() {
		m.fresh = time.Time{}
		if _, err := m.read(); err != nil {
			b.Fatal(err)
		}
	}
}

func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// TestScrapesAreBounded: what was read is shown again for a time, however often somebody asks.
func TestScrapesAreBounded(t *testing.T) {
	m, s := open(t, 1)
	m.Serve(s, func() State { return State{} })
	first, err := m.read()
	if err != nil {
		t.Fatal(err)
	}
	m.fresh = time.Now().Add(time.Hour)
	if again, err := m.read(); err != nil || &again[0] != &first[0] {
		t.Error("it was read again", err)
	}
}

// TestDeployed: the alerts and the dashboard use metrics that exist.
func TestDeployed(t *testing.T) {
	m, s := open(t, 1)
	m.Serve(s, func() State { return State{} })
	var known []string
	for _, f := range families {
		name, _, _ := strings.Cut(strings.TrimPrefix(f.desc.String(), `Desc{fqName: "`), `"`)
		known = append(known, name)
		if f.kind == prometheus.UntypedValue {
			known = append(known, name+"_bucket")
		}
	}
	for _, one := range series(t, m) {
		name, _, _ := strings.Cut(one, "{")
		known = append(known, name)
	}
	used := 0
	for _, file := range []string{"alerts.yml", "dashboard.json"} {
		text, err := os.ReadFile("../../deploy/prometheus/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`\b(marquee|go|process)_\w+`).FindAllString(string(text), -1) {
			if used++; !slices.Contains(known, name) {
				t.Errorf("%s uses %s", file, name)
			}
		}
	}
	if used < 40 {
		t.Errorf("%d uses of metrics: the scan does not see them", used)
	}
	var dashboard struct{ Panels []struct{ Title string } }
	text, err := os.ReadFile("../../deploy/prometheus/dashboard.json")
	if err != nil || json.Unmarshal(text, &dashboard) != nil || len(dashboard.Panels) == 0 {
		t.Error("the dashboard is not JSON with panels", err)
	}
}
