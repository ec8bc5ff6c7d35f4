package program

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"marquee/integration/alerts"
	"marquee/integration/process"
	"marquee/integration/service"
)

// TestMetricsUnderLoad: the metrics show that requests wait for memory and get none, that
// transactions wait and run again, and that connections are refused.
func TestMetricsUnderLoad(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testMetricsUnderLoad)
}

func testMetricsUnderLoad(t *testing.T, fresh service.NewStore) {
	uri := fresh(t)
	p, private := privately(t, uri, "--memory-budget", "16777216", "--request-timeout", "5s", "--max-connections", "40")
	p.SignIn("admin", process.Password)
	clustered := strings.HasPrefix(uri, "mongodb")
	// On SQLite, a dry run is rolled back, and what shares its transaction runs again; on MongoDB,
	// writes of two servers meet at one object.
	servers, path := []*process.Process{p}, "/api/v1/tiers/one?context=main&validateOnly=%v"
	if clustered {
		other := process.Serve(t, uri)
		other.Token = p.Token
		defer other.Stop()
		servers, path = append(servers, other), "/api/v1/tiers/one?context=main"
	}
	loaded(t, func(client, i int) error {
		at := path
		if !clustered {
			at = fmt.Sprintf(path, client%2 == 0)
		}
		_, err := servers[client%len(servers)].Send(http.MethodPut, at, nil, fmt.Appendf(nil, `{"name": "%d of %d"}`, i, client))
		return err
	}, func() {
		awaitMetric(p, private, "marquee_store_transaction_retries_total > 0", "marquee_store_writes_waiting > 0", "marquee_requests_in_progress > 0")
	})

	objects := service.ArrayOf(1000, func(i int) string {
		return fmt.Sprintf(`{"id": "a%d", "name": "%d %s"}`, i, i, strings.Repeat("n", 200))
	})
	loaded(t, func(int, int) error {
		_, err := p.Send(http.MethodPost, "/api/v1/advertisers?context=main", nil, []byte(objects))
		return err
	}, func() {
		conditions := []string{"marquee_memory_budget_waiting > 0", "marquee_memory_budget_refused_total > 0", "marquee_memory_budget_used_bytes > 0",
			`marquee_request_wait_seconds_sum{for="memory"} > 0`}
		if clustered {
			conditions = append(conditions, "marquee_mongodb_window_used_bytes > 0")
		}
		awaitMetric(p, private, conditions...)
	})

	for refused := false; !refused; refused = holds(t, "marquee_connections_refused_total > 0", alerts.SeriesOf(p.Metrics(private))) {
		connection, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		// A request without its body, so that the connection is not idle.
		fmt.Fprintf(connection, "POST /api/v1/tiers?context=main HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 9\r\n\r\n", p.Token)
	}
}

// loaded does something while 32 clients send one request after the other.
func loaded(t *testing.T, send func(client, i int) error, do func()) {
	t.Helper()
	var sending sync.WaitGroup
	var done atomic.Bool
	defer sending.Wait()
	defer done.Store(true) // also when do fails the test
	for client := range 32 {
		sending.Go(func() {
			for i := 0; !done.Load(); i++ {
				if err := send(client, i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	do()
}
