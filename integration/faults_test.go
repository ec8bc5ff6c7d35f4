package integration

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/integration/mongodb"
	"marquee/integration/process"
	"marquee/integration/service"
)

// faultStatus is the status of the answer to a fault of the store.
type faultStatus struct {
	status int
	code   string
}

var (
	reportedUnavailable = faultStatus{http.StatusServiceUnavailable, "error.store.unavailable"}
	reportedLate        = faultStatus{http.StatusServiceUnavailable, "error.deadline.exceeded"}
	reportedFull        = faultStatus{http.StatusServiceUnavailable, "error.store.full"}
	reportedInternal    = faultStatus{http.StatusInternalServerError, "error.internal"}
	reportedTooLarge    = faultStatus{http.StatusRequestEntityTooLarge, "error.batch.too.large"}
	reportedBusy        = faultStatus{http.StatusServiceUnavailable, "error.server.busy"}
)

// injected are faults, and the answers that may report each: when the service tries
// again, the deadline may come first.
var injected = []struct {
	fault bson.D
	as    []faultStatus
	// everywhere reports whether it is tried with all commands, or with one.
	everywhere bool
}{
	{faultCode(6), []faultStatus{reportedUnavailable, reportedLate}, false},
	{faultCode(9001), []faultStatus{reportedUnavailable, reportedLate}, true},
	{faultCode(11600), []faultStatus{reportedUnavailable, reportedLate}, false},
	{faultCode(246), []faultStatus{reportedUnavailable, reportedLate}, false},
	{faultCode(112), []faultStatus{reportedBusy, reportedLate}, false},
	{faultCode(251), []faultStatus{reportedBusy, reportedLate}, false},
	{faultCode(388), []faultStatus{reportedTooLarge}, false},
	{faultCode(14031), []faultStatus{reportedFull}, true},
	{faultCode(13), []faultStatus{reportedUnavailable}, true},
	{faultCode(11601), []faultStatus{reportedUnavailable}, true},
	{faultCode(2), []faultStatus{reportedInternal}, true},
	{bson.D{{Key: "closeConnection", Value: true}}, []faultStatus{reportedUnavailable, reportedLate}, true},
	{bson.D{{Key: "blockConnection", Value: true}, {Key: "blockTimeMS", Value: 2500}}, []faultStatus{reportedLate}, false},
}

func faultCode(code int) bson.D { return bson.D{{Key: "errorCode", Value: code}} }

// TestFaultsAreReported lets commands of the real program fail for as long as a
// request lasts: its status is right, its body is a problem, nothing of the
// request is stored, and the next one finds everything as it was.
func TestFaultsAreReported(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	set := mongodb.NewReplicaSet(t, 1)
	p := process.Serve(t, set.URI("marquee")+"&heartbeatFrequencyMS=500", "--request-timeout", "2s")
	p.SignIn("admin", process.Password)
	const team = "/api/v1/teams/t?context=main"
	p.Ask(http.StatusCreated, http.MethodPut, team, `{"name": "Team"}`)
	for _, request := range []struct{ command, method, path, body string }{
		{"insert", http.MethodPost, "/api/v1/teams?context=main", `[{"id": "t", "name": "Other"}, {"id": "new", "name": "New"}]`},
		{"update", http.MethodPost, "/api/v1/teams?context=main", `[{"id": "new", "name": "New"}, {"id": "t", "name": "Other"}]`},
		{"commitTransaction", http.MethodPost, team, `{"name": "Other"}`},
		{"find", http.MethodGet, team, ""},
	} {
		for _, c := range injected {
			if !c.everywhere && (request.command != "insert" || testing.Short()) {
				continue
			}
			what := fmt.Sprintf("%s %v", request.command, c.fault)
			service.Failing(t, set, request.command, c.fault)
			a, err := p.Send(request.method, request.path, nil, []byte(request.body))
			service.Failing(t, set, request.command, nil)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			for _, wrong := range append(a.Promises(false), notReported(a, c.as)...) {
				t.Errorf("%s: %s", what, wrong)
			}
			is, _ := p.Ask(http.StatusOK, http.MethodGet, team, "").JSON().(map[string]any)
			if is["name"] != "Team" {
				t.Errorf("%s: the name is %v", what, is["name"])
			}
			p.Ask(http.StatusNotFound, http.MethodGet, "/api/v1/teams/new?context=main", "")
		}
	}
	history, _ := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/audit?context=main&type=teams", "").JSON().(map[string]any)
	if entries, _ := history["results"].([]any); len(entries) != 1 {
		t.Errorf("the history is %v", history)
	}
	p.Stop()
}

// notReported lists the mistakes in the answer to a fault.
func notReported(a *service.Answer, as []faultStatus) (wrong []string) {
	body := string(a.Body)
	if !slices.ContainsFunc(as, func(s faultStatus) bool { return a.Status == s.status && strings.Contains(body, `"`+s.code+`"`) }) {
		wrong = append(wrong, fmt.Sprintf("reported as %d %s", a.Status, body))
	}
	if a.Status == http.StatusServiceUnavailable && a.Header.Get("Retry-After") == "" {
		wrong = append(wrong, "there is no Retry-After")
	}
	for _, text := range []string{"mongodb://", "failCommand", "failpoint"} {
		if strings.Contains(body, text) {
			wrong = append(wrong, fmt.Sprintf("%q is shown: %s", text, body))
		}
	}
	return wrong
}
