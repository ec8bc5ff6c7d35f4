package embeddings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"marquee/resources/article/index"
)

const testKey = "sk-this-is-secret"

// service answers as an embeddings service, with the vector (length of the
// text, 1), unless answer is given.
func service(t *testing.T, answer http.HandlerFunc) *httptest.Server {
	t.Helper()
	if answer == nil {
		answer = func(w http.ResponseWriter, r *http.Request) {
			var asked struct {
				Model string
				Input []string
			}
			if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked.Model != "small" || r.Method != http.MethodPost ||
				r.URL.Path != "/v1/embeddings" || r.Header.Get("Authorization") != "Bearer "+testKey {
				http.Error(w, "bad call", http.StatusTeapot)
				return
			}
			var items []string
			for i := len(asked.Input) - 1; i >= 0; i-- {
				items = append(items, fmt.Sprintf(`{"object": "embedding", "index": %d, "embedding": [%d, 1]}`, i, len(asked.Input[i])))
			}
			fmt.Fprintf(w, `{"object": "list", "data": [%s], "usage": {}}`, strings.Join(items, ","))
		}
	}
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return server
}

func client(t *testing.T, url string, change func(*Config)) *Client {
	t.Helper()
	config := Config{URL: url, Model: "small", Key: testKey, Timeout: 5 * time.Second}
	if change != nil {
		change(&config)
	}
	embeddings, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(embeddings.Close)
	return embeddings
}

func TestEmbeddingsAreInTheOrderOfTexts(t *testing.T) {
	server := service(t, nil)
	for _, url := range []string{server.URL, server.URL + "/", server.URL + "/v1", server.URL + "/v1/"} {
		embeddings := client(t, url, func(c *Config) { c.MaxText = 3 })
		got, err := embeddings.Embed(context.Background(), []string{"a", "éé", "ccccc"})
		if want := [][]float64{{1, 1}, {4, 1}, {3, 1}}; err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v, %v", got, err)
		}
	}
}

func TestFaultsOfTheServiceAreReported(t *testing.T) {
	const secret = "echoed " + testKey
	write := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, secret, code) }
	}
	one := func(embedding string) http.HandlerFunc {
		return write(`{"data": [{"index": 0, "embedding": ` + embedding + `}]}`)
	}
	for _, c := range []struct {
		name    string
		answer  http.HandlerFunc
		reason  string
		refused bool
	}{
		{"fault", status(500), "(status 500)", false},
		{"down behind a proxy", status(503), "(status 503)", false},
		{"wrong key", status(401), "refuses the key", false},
		{"too often", status(429), "too often", false},
		{"bad text", status(400), "refuses the request", true},
		{"long text", status(413), "refuses the request", true},
		{"unknown model", status(404), "(status 404)", false},
		{"elsewhere", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/v1/embeddings?"+testKey, http.StatusTemporaryRedirect)
		}, "(status 307)", false},
		{"no JSON", write("<html>" + secret), "not a list of embeddings", false},
		{"cut off", write(`{"data": [{"index": 0, "embedding": [1,`), "not a list", false},
		{"texts for numbers", one(`["` + secret + `"]`), "not a list", false},
		{"no vector", one("null"), "empty, or not finite", false},
		{"too large a number", one("[1e999]"), "not a list", false},
		{"too long a vector", one("[1e200, 1]"), "not finite", false},
		{"none", write(`{"data": []}`), "0 embeddings for 1 texts", false},
		{"two", write(`{"data": [{"embedding": [1]}, {"embedding": [1]}]}`), "2 embeddings for 1 texts", false},
		{"wrong index", write(`{"data": [{"index": 1, "embedding": [1]}]}`), "indexes", false},
		{"too large", write(`{"data": [{"index": 0, "embedding": [1` + strings.Repeat(",1", 5000) + `]}]}`), "more than 10000 bytes", false},
		{"no HTTP", func(w http.ResponseWriter, _ *http.Request) {
			connection, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = io.WriteString(connection, secret+"\r\n\r\n")
				_ = connection.Close()
			}
		}, "connection failed", false},
	} {
		embeddings := client(t, service(t, c.answer).URL, func(config *Config) { config.MaxAnswer = 10_000 })
		_, err := embeddings.Embed(context.Background(), []string{"the text"})
		var unavailable *index.UnavailableError
		if !errors.As(err, &unavailable) || !strings.Contains(err.Error(), c.reason) || unavailable.Refused != c.refused {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, leak := range []string{testKey, "echoed", "the text"} {
			if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), leak) {
				t.Errorf("%s: %#v reveals %q", c.name, err, leak)
			}
		}
	}
}

func TestASlowServiceIsNotWaitedFor(t *testing.T) {
	server := service(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	embeddings := client(t, server.URL, func(c *Config) { c.Timeout = 20 * time.Millisecond })
	var unavailable *index.UnavailableError
	if _, err := embeddings.Embed(context.Background(), []string{"x"}); !errors.As(err, &unavailable) || !strings.Contains(err.Error(), "in time") {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	patient := client(t, server.URL, nil)
	if _, err := patient.Embed(ctx, []string{"x"}); !errors.As(err, &unavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	down := service(t, nil)
	down.Close()
	if _, err := client(t, down.URL, nil).Embed(context.Background(), []string{"x"}); !errors.As(err, &unavailable) || !strings.Contains(err.Error(), "cannot be reached") {
		t.Error(err)
	}
}

func TestConfigurationIsChecked(t *testing.T) {
	for _, c := range []Config{
		{URL: "", Model: "m"}, {URL: "localhost:80", Model: "m"}, {URL: "ftp://host", Model: "m"}, {URL: "http://", Model: "m"},
		{URL: "https://user:" + testKey + "@host", Model: "m"}, {URL: "https://host?key=" + testKey, Model: "m"},
		{URL: "http://host\x00" + testKey, Model: "m"}, {URL: "http://host"},
		{URL: "http://host", Model: "m", Key: testKey + "\r\nX: y"}, {URL: "http://host", Model: "m", Batch: -1},
		{URL: "http://host", Model: "m", Timeout: -1},
	} {
		if _, err := New(c); err == nil || strings.Contains(err.Error(), testKey) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestNoGoroutineIsLeft(t *testing.T) {
	server := service(t, nil)
	before := runtime.NumGoroutine()
	embeddings := client(t, server.URL, nil)
	if _, err := embeddings.Embed(context.Background(), []string{"x"}); err != nil {
		t.Fatal(err)
	}
	embeddings.Close()
	server.CloseClientConnections()
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines, %d before", after, before)
	}
}

// An index asks the service for the vectors of articles and sentences.
func TestDenseIndexAsksTheService(t *testing.T) {
	server := service(t, nil)
	dense := index.NewDense(client(t, server.URL, func(c *Config) { c.Batch = 2 }))
	for _, text := range []string{"x", "xxxxx", "xxxxxxxxx"} {
		if err := dense.Put(index.Article{Network: "n", Text: text, Entry: index.Entry{ID: text}}); err != nil {
			t.Fatal(err)
		}
	}
	want := (2*5 + 1) / math.Sqrt(5) / math.Sqrt(26)
	got, err := dense.Search(t.Context(), "n", index.Query{Sentence: "yy", Threshold: 0.9, Limit: 2})
	if err != nil || got.Total != 3 || math.Abs(got.Hits[0].Score-want) > 1e-7 || got.Hits[0].ID != "xxxxx" {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	server.Close()
	var unavailable *index.UnavailableError
	if _, err := dense.Search(t.Context(), "n", index.Query{Sentence: "yy"}); !errors.As(err, &unavailable) {
		t.Error(err)
	}
}
