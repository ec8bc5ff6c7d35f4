package program

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"marquee/integration/alerts"
	"marquee/integration/mongodb"
	"marquee/integration/process"
	"marquee/integration/service"
)

const handbookFile = "../../docs/how-to/troubleshooting.md"

// symptoms are what an entry of the handbook says that a failure shows.
type symptoms struct {
	metrics, log []string
	// ready are the status and the texts of /readyz, or nothing if the service does not answer.
	ready []string
}

var (
	entryPattern   = regexp.MustCompile(`(?m)^### (.+)$`)
	quotePattern   = regexp.MustCompile("`([^`]+)`")
	conditionForm  = regexp.MustCompile(`^(marquee_\w+)(?:\{(.*)\})? ([>=]) (\d+)$`)
	handbookCalls  = regexp.MustCompile(`handbook\(t, "([^"]+)"\)`)
	handbookAnchor = regexp.MustCompile(`runbook: docs/how-to/troubleshooting\.md#([a-z-]+)\}`)
)

// entries returns the texts of the entries of the handbook, by their headings.
func entries(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile(handbookFile)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## On call\n")
	section, _, _ = strings.Cut(section, "\n## ")
	all, at := map[string]string{}, entryPattern.FindAllStringSubmatchIndex(section, -1)
	for i, found := range at {
		end := len(section)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		all[section[found[2]:found[3]]] = section[found[1]:end]
	}
	return all
}

// handbook returns the symptoms of an entry of the handbook, so that a test can compare them with
// what the service shows.
func handbook(t *testing.T, name string) symptoms {
	t.Helper()
	text, known := entries(t)[name]
	if !known {
		t.Fatalf("the handbook has no entry %q", name)
	}
	quotes := func(of string) (all []string) {
		_, line, found := strings.Cut(text, "- **"+of+":** ")
		line, _, _ = strings.Cut(line, "\n")
		if !found || line == "" {
			t.Fatalf("%s: %s is missing", name, of)
		}
		for _, quote := range quotePattern.FindAllStringSubmatch(line, -1) {
			all = append(all, quote[1])
		}
		return all
	}
	return symptoms{quotes("Metrics"), quotes("Log"), quotes("`/readyz`")}
}

// shows waits until the service shows the symptoms. Of the metrics, those are compared that are
// quoted with a condition.
func (s symptoms) shows(p *process.Process, private string) {
	p.TB.Helper()
	status, err := strconv.Atoi(s.ready[0])
	if err != nil {
		p.TB.Fatal(err)
	}
	p.AwaitReady(status)
	for _, text := range s.log {
		if p.Stderr.Await(p.TB, 0, func(line string) bool { return strings.Contains(line, text) }) == "" {
			p.TB.Errorf("the log does not say %q", text)
		}
	}
	for _, condition := range s.metrics {
		if conditionForm.MatchString(condition) {
			awaitMetric(p, private, condition)
		}
	}
	process.Wants(p.TB, p.AwaitReady(status), s.ready[1:]...)
}

// awaitMetric waits until each of some conditions has been true: the sum of the series of a metric,
// with some labels, is greater than a number or equals it.
func awaitMetric(p *process.Process, private string, conditions ...string) {
	p.TB.Helper()
	for end := time.Now().Add(service.Patience); ; <-time.After(50 * time.Millisecond) { // the same text is shown again for a time
		shown := alerts.SeriesOf(p.Metrics(private))
		conditions = slices.DeleteFunc(conditions, func(condition string) bool { return holds(p.TB, condition, shown) })
		if len(conditions) == 0 {
			return
		}
		if time.Now().After(end) {
			p.TB.Fatalf("it was never so that %s", strings.Join(conditions, ", "))
		}
	}
}

// holds reports whether a condition is true of series.
func holds(tb testing.TB, condition string, shown map[string]float64) bool {
	tb.Helper()
	form := conditionForm.FindStringSubmatch(condition)
	name, labels := form[1], strings.Split(form[2], ",")
	limit, err := strconv.ParseFloat(form[4], 64)
	if err != nil {
		tb.Fatal(err)
	}
	sum, found := 0.0, false
	for series, value := range shown {
		of, has, _ := strings.Cut(series, "{")
		if of == name && !slices.ContainsFunc(labels, func(label string) bool { return !strings.Contains(has, label) }) {
			sum, found = sum+value, true
		}
	}
	return found && (form[3] == "=" && sum == limit || form[3] == ">" && sum > limit)
}

// TestHandbook: each entry of the handbook has a test that provokes the failure, and the alerts
// link to entries that exist.
func TestHandbook(t *testing.T) {
	t.Parallel()
	var tested []string
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range handbookCalls.FindAllStringSubmatch(string(text), -1) {
			tested = append(tested, call[1])
		}
	}
	anchors := []string{"on-call", "the-store-and-the-start"}
	for name, text := range entries(t) {
		anchors = append(anchors, strings.ReplaceAll(strings.ToLower(name), " ", "-"))
		if !slices.Contains(tested, name) {
			t.Errorf("no test provokes %q", name)
		}
		if handbook(t, name); !strings.Contains(text, "- **Cause:** ") || !strings.Contains(text, "- **Cure:** ") {
			t.Errorf("%q has no cause, or no cure", name)
		}
	}
	rules, err := os.ReadFile(alerts.File)
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Count(string(rules), "- alert:"); strings.Count(string(rules), "runbook: docs/how-to/") != all {
		t.Errorf("not all of %d alerts have a runbook", all)
	}
	for _, link := range handbookAnchor.FindAllStringSubmatch(string(rules), -1) {
		if !slices.Contains(anchors, link[1]) {
			t.Errorf("an alert links to %s, which does not exist", link[1])
		}
	}
}

// TestWrongKey: a service with another key than that of its store does not start, and does with
// the right one.
func TestWrongKey(t *testing.T) {
	t.Parallel()
	store := service.NewSQLite(t)
	process.Serve(t, store).Stop()
	wrong := handbook(t, "Wrong key")
	process.Wants(t, process.Fails(t, nil, "serve", "--addr", "127.0.0.1:0", "--store", store, "--secret-key", process.Key), append(wrong.log, "the key of --secret-key cannot be used")...)
	process.Serve(t, store).Stop()
}

// TestWrongClock: the tokens of a server whose clock is ten minutes ahead are refused by one whose
// clock is right, and those of the latter by a server whose clock is behind; the metrics show the
// clock.
func TestWrongClock(t *testing.T) { service.EachStore(t, testWrongClock) }

func testWrongClock(t *testing.T, fresh service.NewStore) {
	wrong := service.New(t, fresh)
	wrong.Clock.Advance(10 * time.Minute)
	token, err := wrong.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(wrong.Key)
	if err != nil {
		t.Fatal(err)
	}
	wrong.Stop()
	p, private := privately(t, wrong.URI, "--secret-key", strings.TrimSpace(string(key)))
	p.Token = token
	process.Wants(t, string(p.Ask(http.StatusUnauthorized, http.MethodGet, "/api/v1/roles?context=main", "").Body), "error.token.invalid")
	handbook(t, "Wrong clock").shows(p, private)
	before := time.Now().Add(-10 * time.Second) // an earlier text may be shown again
	at := alerts.SeriesOf(p.Metrics(private))["marquee_time_seconds"]
	if at < float64(before.Unix()) || at > float64(time.Now().Unix()+1) {
		t.Errorf("the clock of the service shows %v", at)
	}
	p.Token = ""
	p.SignIn(service.Admin, service.AdminPassword)
	p.Ask(http.StatusOK, http.MethodGet, "/api/v1/roles?context=main", "")
	p.Stop()
	wrong.Clock = &service.Clock{}
	wrong.Clock.Advance(-10 * time.Minute)
	wrong.Start()
	a, err := wrong.Send(http.MethodGet, "/api/v1/roles?context=main", http.Header{"Authorization": {"Bearer " + p.Token}}, nil)
	if err != nil || a.Status != http.StatusUnauthorized {
		t.Errorf("a server whose clock is behind: %v %v", a, err)
	}
}

// TestExpiredCertificate: the metrics, the log and /readyz say that the certificate has expired,
// until it is replaced.
func TestExpiredCertificate(t *testing.T) {
	t.Parallel()
	certFile, keyFile := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	selfSignedFor(t, certFile, keyFile, 1, -time.Hour)
	p, private := privately(t, service.NewSQLite(t), "--tls-cert", certFile, "--tls-key", keyFile)
	p.Client.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	handbook(t, "Expired certificate").shows(p, private)
	pool := selfSignedFor(t, certFile, keyFile, 2, 30*24*time.Hour)
	p.Stderr.Await(t, 0, service.Says("the certificate was replaced"))
	p.Client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	process.Shuns(t, string(p.Ask(http.StatusOK, http.MethodGet, "/readyz", "").Body), "certificate")
	p.Stop()
}

// TestGreedyCaller: the metrics and the log show a caller beyond its rate, whose
// sessions can be ended.
func TestGreedyCaller(t *testing.T) {
	t.Parallel()
	store := service.NewSQLite(t)
	p, private := privately(t, store, "--rate-limit-caller", "20/1h")
	p.SignIn("admin", process.Password)
	for refused := false; !refused; {
		a, err := p.Send(http.MethodGet, "/api/v1/roles/none?context=main", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		refused = a.Status == http.StatusTooManyRequests
	}
	handbook(t, "Greedy caller").shows(p, private)
	process.Run(t, nil, "user", "logout", "admin", "--store", store)
	p.Ask(http.StatusUnauthorized, http.MethodGet, "/api/v1/roles/none?context=main", "")
	p.Stop()
}

// TestWithoutPrimary: while a replica set has no primary, or one that hangs, the service says so,
// and it continues by itself; a reload of the schemas fails meanwhile, and is tried again. The
// members of the set have a small cache. The metrics show that a secondary is behind.
func TestWithoutPrimary(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	process.Binary(t)
	set := mongodb.NewReplicaSet(t, 2)
	dir := process.FolderOf(t, filepath.Join(t.TempDir(), "schemas"), "a")
	p, private := privately(t, set.URI("marquee")+"&serverSelectionTimeoutMS=5000", "--request-timeout", "5s", "--schemas", dir)
	p.SignIn("admin", process.Password)
	write := func(status int) {
		t.Helper()
		for end := time.Now().Add(service.Patience); ; <-time.After(20 * time.Millisecond) {
			a, err := p.Send(http.MethodPut, "/api/v1/tiers/a?context=main", nil, []byte(`{"name": "A"}`))
			if err != nil {
				t.Fatal(err)
			}
			if a.Status == status || status == http.StatusOK && a.Status == http.StatusCreated {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("writes go on being answered with %d: %s", a.Status, a.Body)
			}
		}
	}
	handbook(t, "Small cache").shows(p, private)
	write(http.StatusOK)

	other := 1 - set.Primary()
	follow := func(command bson.D) {
		t.Helper()
		if err := set.Member(other).Database("admin").RunCommand(t.Context(), command).Err(); err != nil {
			t.Fatal(err)
		}
	}
	follow(bson.D{{Key: "fsync", Value: 1}, {Key: "lock", Value: true}})
	awaitMetric(p, private, "marquee_mongodb_replication_lag_seconds > 0")
	follow(bson.D{{Key: "fsyncUnlock", Value: 1}})
	write(http.StatusOK)

	set.Kill(other)
	write(http.StatusServiceUnavailable)
	process.File(t, filepath.Join(dir, "typeb.json"), process.Schema("typeb"))
	handbook(t, "No primary").shows(p, private)
	p.Stderr.Await(t, 0, service.Says("loading the schemas"))
	awaitMetric(p, private, `marquee_schema_reloads_total{result="failed"} > 0`)
	set.Start(other)
	awaitMetric(p, private, `marquee_schema_reloads_total{result="served"} > 0`)
	p.AwaitReady(http.StatusOK)
	write(http.StatusOK)

	hangs := set.Primary()
	set.Pause(hangs)
	write(http.StatusServiceUnavailable)
	handbook(t, "Hanging primary").shows(p, private)
	set.Resume(hangs)
	p.AwaitReady(http.StatusOK)
	write(http.StatusOK)
	p.Stop()
}

// TestQueueThatDoesNotShrink: the objects that depend on a changed one wait for a transaction of a
// client that hangs, the service says so, and the end of the transaction is the cure. The server
// has a large cache, and there is no note about that.
func TestQueueThatDoesNotShrink(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	uri := mongodb.URI(t)
	p, private := privately(t, uri)
	p.SignIn("admin", process.Password)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/tiers/t?context=main", `{"name": "T"}`)
	for range 2 { // more than follow at once
		items := strings.TrimSuffix(strings.Repeat(`{"name": "L", "tier": "t", "order": null},`, 1000), ",")
		p.Ask(http.StatusOK, http.MethodPost, "/api/v1/lineitems?context=main", "["+items+"]")
	}
	process.Shuns(t, p.AwaitReady(http.StatusOK), "notes")
	db, err := service.ConnectDatabase(uri)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Client().Disconnect(context.Background())
	session, err := db.Client().StartSession()
	if err != nil {
		t.Fatal(err)
	}
	defer session.EndSession(context.Background())
	if err := session.StartTransaction(); err != nil {
		t.Fatal(err)
	}
	in := mongo.NewSessionContext(t.Context(), session)
	if err := db.Collection("tiers").FindOne(in, bson.D{}).Err(); err != nil && !errors.Is(err, mongo.ErrNoDocuments) {
		t.Fatal(err)
	}
	p.Ask(http.StatusOK, http.MethodPost, "/api/v1/tiers/t?context=main", `{"objectState": "INACTIVE"}`)
	handbook(t, "Queue that does not shrink").shows(p, private)
	kill := bson.D{{Key: "killSessions", Value: bson.A{session.ID()}}}
	if err := db.Client().Database("admin").RunCommand(t.Context(), kill).Err(); err != nil {
		t.Fatal(err)
	}
	p.Stderr.Await(t, 0, service.Says("the objects that depend on a changed one are up to date"))
	awaitMetric(p, private, "marquee_following_changes = 0")
	process.Shuns(t, p.AwaitReady(http.StatusOK), "following")
	p.Stop()
}

// TestSpoolBudgetFull: the metrics and the log show a caller whose temporary files take more than
// a caller may.
func TestSpoolBudgetFull(t *testing.T) {
	t.Parallel()
	p, private := privately(t, service.NewSQLite(t), "--spool-budget", "4000000")
	p.SignIn("admin", process.Password)
	body := service.ArrayOf(4000, func(i int) string { return fmt.Sprintf(`{"name": "%d %s"}`, i, strings.Repeat("n", 900)) })
	process.Wants(t, string(p.Ask(http.StatusServiceUnavailable, http.MethodPost, "/api/v1/advertisers?context=main", body).Body), "error.spool.full")
	handbook(t, "Full spool").shows(p, private)
	process.Wants(t, p.Stderr.String(), "the caller's temporary files hold")
	p.Stop()
}
