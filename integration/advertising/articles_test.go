package advertising

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"marquee/engine/document"
	"marquee/engine/store"
	"marquee/integration/process"
	"marquee/integration/service"
	"marquee/resources/article/embeddings"
	"marquee/resources/article/index"
	"marquee/resources/article/index/judged"
)

// findArticles searches, and gives the ids that were found, in their order.
func findArticles(s *service.Service, token, sentence string) string {
	s.TB.Helper()
	a := s.Ask(token, http.MethodPost, service.ArticleSearch+sentence, "", nil)
	object, _ := a.JSON().(map[string]any)
	results, _ := object["results"].([]any)
	ids := make([]string, len(results))
	for i, result := range results {
		ids[i], _ = result.(map[string]any)["id"].(string)
	}
	if a.Status != http.StatusOK || fmt.Sprint(object["totalCount"]) != fmt.Sprint(len(ids)) {
		return fmt.Sprintf("%d %s", a.Status, a.Body)
	}
	return strings.Join(ids, " ")
}

// TestArticlesAreFoundAtOnce: an article is found by the next search after the
// answer to its write, and a hidden one is not, whatever others do meanwhile.
func TestArticlesAreFoundAtOnce(t *testing.T) { service.EachStore(t, testArticlesAreFoundAtOnce) }

func testArticlesAreFoundAtOnce(t *testing.T, fresh service.NewStore) {
	s := service.New(t, fresh)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	writeAndSearch(t, []*service.Service{s}, token, "a", 15)
}

// writeAndSearch lets clients write articles through one server and search at
// once through the next. Each series has articles of its own.
func writeAndSearch(t *testing.T, servers []*service.Service, token, series string, rounds int) {
	var wait sync.WaitGroup
	for client := range 4 {
		wait.Go(func() {
			for round := range rounds {
				here, there := servers[(client+round)%len(servers)], servers[(client+round+1)%len(servers)]
				id, word := fmt.Sprintf("%s%d-%d", series, client, round), fmt.Sprintf("word%s%dx%d", series, client, round)
				here.PutArticle(token, id, fmt.Sprintf(`{"url": "https://example.com/%s", "text": "%s and more"}`, id, word), http.StatusCreated)
				if found := findArticles(there, token, word); found != id {
					t.Errorf("%s, new: %s", id, found)
				}
				there.PutArticle(token, id, fmt.Sprintf(`{"text": "other%s"}`, word), http.StatusOK)
				if found := findArticles(here, token, word); found != "" {
					t.Errorf("%s, by the text that it had: %s", id, found)
				}
				if found := findArticles(here, token, "other"+word); found != id {
					t.Errorf("%s, changed: %s", id, found)
				}
				here.PutArticle(token, id, `{"objectState": "HIDDEN"}`, http.StatusOK)
				if found := findArticles(there, token, "other"+word); found != "" {
					t.Errorf("%s, hidden: %s", id, found)
				}
			}
		})
	}
	wait.Wait()
}

// TestArticlesThroughServers is the same through servers of one database, while
// transactions of others are open that began before and end after.
func TestArticlesThroughServers(t *testing.T) {
	t.Parallel()
	servers, token := service.NewServers(t, 3)
	// Each of these writes an article and its change, and waits with the commit.
	const open = 6
	var begun, ended sync.WaitGroup
	commit := make([]chan struct{}, open)
	done := make([]chan error, open)
	for i := range open {
		commit[i], done[i] = make(chan struct{}), make(chan error, 1)
		begun.Add(1)
		once := sync.OnceFunc(begun.Done)
		ended.Go(func() {
			done[i] <- servers[i%len(servers)].Store.Write(context.Background(), func(tx store.Tx) error {
				err := putRaw(tx, fmt.Sprint("open", i), fmt.Sprint("openword", i))
				once()
				<-commit[i]
				return err
			})
		})
	}
	begun.Wait()
	for i := range open {
		writeAndSearch(t, servers, token, string(rune('a'+i)), 6)
		for _, s := range servers {
			if found := findArticles(s, token, fmt.Sprint("openword", i)); found != "" {
				t.Errorf("before the commit: %s", found)
			}
		}
		close(commit[i])
		if err := <-done[i]; err != nil {
			t.Fatal(err)
		}
		for _, s := range servers {
			if found := findArticles(s, token, fmt.Sprint("openword", i)); found != fmt.Sprint("open", i) {
				t.Errorf("after the commit: %s", found)
			}
		}
	}
	ended.Wait()
	// A server that starts now has it all, too.
	late := &service.Service{TB: t, URI: servers[0].URI, Key: servers[0].Key, Clock: servers[0].Clock, UserID: servers[0].UserID}
	late.Start()
	t.Cleanup(late.End)
	for i := range open {
		if found := findArticles(late, token, fmt.Sprint("openword", i)); found != fmt.Sprint("open", i) {
			t.Errorf("at a new server: %s", found)
		}
	}
}

func putRaw(tx store.Tx, id, text string) error {
	ctx, now := context.Background(), time.Now().UTC().Truncate(time.Millisecond)
	record := store.Record{Key: store.Key{Network: service.Network, ID: id}, Version: 1, State: "ACTIVE", CreateTime: now, UpdateTime: now,
		Document: document.Append(nil, map[string]any{"url": "https://example.com/" + id, "text": text})}
	if err := tx.Put(ctx, "articles", []store.Write{{Record: record}}); err != nil {
		return err
	}
	return tx.Append(ctx, []store.Change{{Time: now, Network: service.Network, Collection: "articles", ID: id, Version: 1, Fields: []byte(`[]`)}})
}

// TestJudgedArticles holds the scores of the search to the labelled set: what a
// sentence is about scores above 0.5, what is like it by chance below 0.2.
func TestJudgedArticles(t *testing.T) { service.EachStore(t, testJudgedArticles) }

func testJudgedArticles(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	articles, sentences, err := judged.Load()
	if err != nil {
		t.Fatal(err)
	}
	s := service.New(t, fresh)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	var objects []map[string]any
	for _, a := range articles {
		object := map[string]any{"id": a.ID, "url": "https://example.com/" + a.ID, "title": a.Title, "text": a.Text}
		if a.Language != "" {
			object["language"] = a.Language
		}
		objects = append(objects, object)
	}
	body, err := json.Marshal(objects)
	if err != nil {
		t.Fatal(err)
	}
	if a := s.Ask(token, http.MethodPost, "/api/v1/articles?context=main", string(body), nil); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	figures, faults, err := judged.Measure(articles, sentences, func(sentence string) (hits []judged.Hit, err error) {
		a := s.Ask(token, http.MethodPost, "/api/v1/targetingquery/articles2?context=main&pageSize=1000&thresholdScore=1e-9&sentence="+url.QueryEscape(sentence), "", nil)
		var answer struct{ Results []judged.Hit }
		if a.Status != http.StatusOK {
			return nil, fmt.Errorf("%q: %d %s", sentence, a.Status, a.Body)
		}
		err = json.Unmarshal(a.Body, &answer)
		return answer.Results, err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d sentences: %s", len(sentences), figures)
	for _, fault := range faults {
		t.Error(fault)
	}
}

// embeddingsServer is an embeddings service whose vectors count words: those of
// texts that share words are close.
type embeddingsServer struct {
	*httptest.Server
	down  atomic.Bool
	mu    sync.Mutex
	calls []string // the Authorization headers
	texts int
}

var embeddedWords = []string{"ferry", "fire", "soup", "carrot"}

func newEmbeddingsServer(t *testing.T) *embeddingsServer {
	e := &embeddingsServer{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Model string
			Input []string
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked.Model != "small" || r.URL.Path != "/v1/embeddings" {
			t.Errorf("%s %+v %v", r.URL, asked, err)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.calls = append(e.calls, r.Header.Get("Authorization"))
		if e.down.Load() {
			http.Error(w, "the secret of the service and "+r.Header.Get("Authorization"), http.StatusInternalServerError)
			return
		}
		e.texts += len(asked.Input)
		var answer struct {
			Data []map[string]any `json:"data"`
		}
		for i, text := range asked.Input {
			vector := make([]float64, len(embeddedWords)+1)
			vector[len(embeddedWords)] = 0.001
			for n, word := range embeddedWords {
				vector[n] = float64(strings.Count(strings.ToLower(text), word))
			}
			answer.Data = append(answer.Data, map[string]any{"index": i, "embedding": vector})
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(e.Close)
	return e
}

// TestArticleEmbeddings has an embeddings service make the vectors, which goes
// down and comes back.
func TestArticleEmbeddings(t *testing.T) { service.EachStore(t, testArticleEmbeddings) }

func testArticleEmbeddings(t *testing.T, fresh service.NewStore) {
	e := newEmbeddingsServer(t)
	client, err := embeddings.New(embeddings.Config{URL: e.URL, Model: "small", Key: "key-of-the-service"})
	if err != nil {
		t.Fatal(err)
	}
	s := newServiceWith(t, fresh, client)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	s.PutArticle(token, "a", `{"url": "https://example.com/a", "title": "Ferry", "text": "A fire on board a ferry."}`, http.StatusCreated)
	s.PutArticle(token, "b", `{"url": "https://example.com/b", "title": "Soup", "text": "Carrots."}`, http.StatusCreated)
	if found := findArticles(s, token, "ferry%20fire"); found != "a" {
		t.Errorf("found %s", found)
	}
	// While the service is down, articles are written, and found later.
	e.down.Store(true)
	s.PutArticle(token, "c", `{"url": "https://example.com/c", "text": "Ferry, ferry."}`, http.StatusCreated)
	unavailable := func() {
		t.Helper()
		a := s.Ask(token, http.MethodPost, service.ArticleSearch+"ferry", "", nil)
		if a.Status != http.StatusServiceUnavailable || !strings.Contains(string(a.Body), `"error.article.embeddings.unavailable"`) || a.Header.Get("Retry-After") != "10" {
			t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
		}
		for _, secret := range []string{"key-of-the-service", "secret", e.URL} {
			if strings.Contains(string(a.Body), secret) {
				t.Errorf("the answer reveals %s: %s", secret, a.Body)
			}
		}
	}
	unavailable()
	s.Stop()
	s.Start()
	unavailable()
	e.down.Store(false)
	for deadline := time.Now().Add(service.Patience); ; <-time.After(20 * time.Millisecond) { // the follower tries again by itself
		if found := findArticles(s, token, "ferry"); found == "c a" {
			break
		} else if !strings.HasPrefix(found, "503") || time.Now().After(deadline) {
			t.Fatalf("found %s", found)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if slices.ContainsFunc(e.calls, func(sent string) bool { return sent != "Bearer key-of-the-service" }) {
		t.Errorf("the key was not sent with each call: %q", e.calls)
	}
}

// newServiceWith is New with an embedder.
func newServiceWith(t *testing.T, fresh service.NewStore, embedder index.Embedder) *service.Service {
	t.Helper()
	s := service.New(t, fresh)
	s.Stop()
	s.Embedder = embedder
	s.Start()
	return s
}

// TestEmbeddingsSettings: the program searches with the configured embeddings
// service, refuses settings that do not fit, and never prints the key.
func TestEmbeddingsSettings(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	e := newEmbeddingsServer(t)
	const key = "key-of-the-service"
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	uri := service.NewSQLite(t)
	for what, args := range map[string][]string{
		"need its --embeddings-url":         {"--embeddings-model", "small"},
		"the name of a model":               {"--embeddings-url", e.URL},
		"must begin with http":              {"--embeddings-url", "ftp://example.com", "--embeddings-model", "small"},
		"not both":                          {"--embeddings-url", e.URL, "--embeddings-model", "small", "--embeddings-key", key, "--embeddings-key-file", file},
		"cannot be read":                    {"--embeddings-url", e.URL, "--embeddings-model", "small", "--embeddings-key-file", file + "-none"},
		"characters that a header cannot":   {"--embeddings-url", e.URL, "--embeddings-model", "small", "--embeddings-key", key + " "},
		"--embeddings-timeout must be more": {"--embeddings-url", e.URL, "--embeddings-model", "small", "--embeddings-timeout", "0s"},
	} {
		said := process.Fails(t, []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password}, append([]string{"serve", "--addr", "127.0.0.1:0", "--store", uri}, args...)...)
		process.Wants(t, said, what)
		process.Shuns(t, said, key)
	}
	e.down.Store(true)
	p := process.ServeWith(t, uri, []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password, "MARQUEE_EMBEDDINGS_KEY=" + key},
		"--embeddings-url", e.URL, "--embeddings-model", "small", "--embeddings-timeout", "5s", "--log-level", "debug")
	p.SignIn(service.Admin, process.Password)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/articles/a?context=main", `{"url": "https://example.com/a", "text": "Ferry"}`)
	p.Ask(http.StatusServiceUnavailable, http.MethodPost, service.ArticleSearch+"ferry", "")
	p.Stderr.Await(t, 0, service.Says("article search is behind"))
	e.down.Store(false)
	process.Wants(t, string(p.Ask(http.StatusOK, http.MethodPost, service.ArticleSearch+"ferry", "").Body), `"id":"a"`, `"totalCount":1`)
	p.Stop()
	process.Shuns(t, p.Stdout.String()+p.Stderr.String(), key)

	p = process.ServeWith(t, uri, nil, "--embeddings-url", e.URL+"/v1/", "--embeddings-model", "small", "--embeddings-key-file", file)
	p.SignIn(service.Admin, process.Password)
	process.Wants(t, string(p.Ask(http.StatusOK, http.MethodPost, service.ArticleSearch+"ferry", "").Body), `"id":"a"`)
	p.Stop()
	e.mu.Lock()
	defer e.mu.Unlock()
	if slices.ContainsFunc(e.calls, func(sent string) bool { return sent != "Bearer "+key }) || e.texts == 0 {
		t.Errorf("%d texts, with %q", e.texts, e.calls)
	}
}
