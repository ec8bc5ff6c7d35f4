package program

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"marquee/integration/alerts"
	"marquee/integration/process"
	"marquee/integration/service"
)

// broken has, for each alert, series that make it fire.
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

// TestAlerts: promtool accepts the metrics and the rules. None of them fires on the metrics
// of a server that has served some requests, and each fires when its metric says so. All panels of
// the dashboard show something.
func TestAlerts(t *testing.T) { service.EachStore(t, testAlerts) }

func testAlerts(t *testing.T, fresh service.NewStore) {
	alerts.Need(t)
	p, private := privately(t, fresh(t))
	before := p.Metrics(private)
	p.SignIn("admin", process.Password)
	for i := range 50 {
		p.Ask(http.StatusCreated, http.MethodPost, fmt.Sprintf("/api/v1/tiers/t%d?context=main", i), `{"name": "T"}`)
		p.Ask(http.StatusOK, http.MethodGet, "/api/v1/tiers?context=main", "")
	}
	p.Ask(http.StatusOK, http.MethodGet, "/readyz", "")
	after := p.Metrics(private)
	p.Stop()
	alerts.Promtool(t, []byte(after), "check", "metrics")
	alerts.Promtool(t, nil, "check", "rules", alerts.File)

	healthy := alerts.Steady(before, after)
	all := alerts.Rules(t)
	if len(all) != len(broken) {
		t.Errorf("there are %d alerts, of which %d are tried", len(all), len(broken))
	}
	steady := slices.DeleteFunc(slices.Clone(all), func(a alerts.Rule) bool { return a.Alert == "MarqueeSlow" || a.Alert == "MarqueeWritesWait" })
	cases := []alerts.Case{{Series: healthy, At: "50m", Rules: steady}} // how long requests take depends on the machine
	for _, rule := range all {
		changed := map[string]string{}
		for name, values := range healthy {
			changed[name] = values
		}
		tried := false
		for name := range changed {
			for prefix, values := range broken[rule.Alert] {
				if name == prefix || strings.HasPrefix(name, strings.TrimSuffix(alerts.Labelled(prefix), "}")) {
					changed[name], tried = values, true
				}
			}
		}
		if tried {
			cases = append(cases, alerts.Case{Series: changed, At: "50m", Rules: []alerts.Rule{rule}, Fires: rule.Alert})
		} else if !slices.Contains(ofOtherStore(after), rule.Alert) {
			t.Errorf("no series makes %s fire", rule.Alert)
		}
	}
	alerts.Evaluate(t, cases...)
	alerts.ShowPanels(t, healthy)
}

// ofOtherStore returns the alerts about a store of another kind than that of a server.
func ofOtherStore(metrics string) []string {
	if strings.Contains(metrics, "marquee_sqlite_") {
		return []string{"MarqueeReplicationLags"}
	}
	return []string{"MarqueeLogGrows", "MarqueeBackupOld"}
}
