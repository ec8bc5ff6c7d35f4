package program

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"marquee/engine/trace"
	"marquee/integration/process"
	"marquee/integration/service"
)

const traceID = "4bf92f3577b34da6a3ce929d0e0e4736"

// TestTraces: the id of a trace is in each line of a request, and the embeddings service gets
// the trace with another parent. What is not valid is ignored.
func TestTraces(t *testing.T) {
	t.Parallel()
	received := make(chan string, 100)
	embeddings := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		received <- r.Header.Get("traceparent")
		http.Error(w, "none", http.StatusServiceUnavailable)
	}))
	defer embeddings.Close()
	p := process.Serve(t, service.NewSQLite(t), "--embeddings-url", embeddings.URL, "--embeddings-model", "m")
	p.SignIn("admin", process.Password)
	sent := "00-" + traceID + "-00f067aa0ba902b7-01"
	traced := http.Header{"Traceparent": {sent}}
	if line := p.RequestLine("GET", "/api/v1/orders?context=main", traced, ""); line["traceId"] != traceID {
		t.Errorf("%v", line)
	}
	for _, wrong := range [][]string{{sent, sent}, {strings.ToUpper(sent)}, {sent + "-00"}, {"x"}, {strings.Repeat("0", 5000)}} {
		if line := p.RequestLine("GET", "/api/v1/orders?context=main", http.Header{"Traceparent": wrong}, ""); line["traceId"] != nil {
			t.Errorf("%q is the trace %v", wrong, line["traceId"])
		}
	}
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/articles/a?context=main", `{"url": "https://example.com/a", "title": "A storm", "text": "A storm keeps the ferries in port."}`)
	from := p.Stderr.Mark()
	line := p.RequestLine("POST", "/api/v1/targetingquery/articles2?context=main&pageSize=2&thresholdScore=0.1&sentence=storm", traced, "")
	if line["status"] != float64(http.StatusServiceUnavailable) {
		t.Fatalf("the search without embeddings: %v", line)
	}
	got := ""
	for got == "" { // articles are also sent in the background, on behalf of no request
		select {
		case got = <-received:
		default:
			t.Fatal("the embeddings service got no trace")
		}
	}
	if parent := trace.Parse([]string{got}); parent.TraceID != traceID || got == sent || !strings.HasSuffix(got, "-01") {
		t.Errorf("the embeddings service gets %q", got)
	}
	for text := range strings.Lines(p.Stderr.String()[from:]) {
		if entry := service.Entry(text); entry["requestId"] == line["requestId"] && entry["traceId"] != traceID {
			t.Errorf("without the trace: %s", text)
		}
	}
	p.Stop()
}

// TestSlowRequests: the line of a slow request has its parameters, but no value that could be
// one of an object, or a token.
func TestSlowRequests(t *testing.T) {
	t.Parallel()
	p := process.Serve(t, service.NewSQLite(t), "--slow", "1ns")
	p.SignIn("admin", process.Password)
	secret := "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJh.c2lnbmF0dXJl"
	line := p.RequestLine("GET", "/api/v1/orders?context=main&pageSize=7&where=name%3Dhidden&hidden=1&orderBy="+secret, nil, "")
	if line["parameters"] != "orderBy=[redacted]&pageSize=7&where=…" {
		t.Errorf("%v", line["parameters"])
	}
	line = p.RequestLine("POST", "/api/v1/tiers?context=main", nil, `[{"id": "one", "name": "A"}, {"id": "two", "name": "B"}]`)
	if waited, ok := line["waitedMs"].(float64); line["objects"] != float64(2) || line["network"] != "main" || !ok || waited < 0 {
		t.Errorf("%v", line)
	}
	if line := p.RequestLine("GET", "/api/v1/orders?context=elsewhere", nil, ""); line["network"] != nil {
		t.Errorf("the network is %v", line["network"])
	}
	p.Stop()
	process.Shuns(t, p.Stderr.String(), "hidden", secret, "c2lnbmF0dXJl")
	fast := process.Serve(t, service.NewSQLite(t), "--slow", "0")
	if line := fast.RequestLine("GET", "/healthz", nil, ""); line["parameters"] != nil {
		t.Errorf("%v", line)
	}
	fast.Stop()
}
