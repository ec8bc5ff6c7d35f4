package program

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestCrashesBesideIndex keeps an index of objects by their ids, which is fed by marquee tail alone,
// while clients write and remove objects, and the server and tail are killed again and again: no
// revision is missed, and in the end, the index equals the list. The server is killed a fifth as
// often as MARQUEE_CRASHES says, or for as long as MARQUEE_INDEXED does.
func TestCrashesBesideIndex(t *testing.T) {
	process.SkipCoveredBy(t, "'make crash'")
	service.EachStore(t, testCrashesBesideIndex)
}

func testCrashesBesideIndex(t *testing.T, fresh service.NewStore) {
	kills, last := max(2, process.Number(t, "MARQUEE_CRASHES", 10)/5), time.Now()
	if text := os.Getenv("MARQUEE_INDEXED"); text != "" {
		lasts, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		kills, last = 0, last.Add(lasts)
	}
	x := newIndex(t, process.CrashStore(t, fresh))
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var feeding, writing sync.WaitGroup
	feeding.Go(func() { x.feed(ctx) })
	for writer := range indexWriters {
		random := rand.New(rand.NewPCG(x.seed, uint64(writer)))
		writing.Go(func() { x.write(ctx, random) })
	}
	killed := 0
	for random := rand.New(rand.NewPCG(x.seed, indexWriters)); killed < kills || time.Now().Before(last); killed++ {
		x.await(1 + random.IntN(500))
		x.server().Kill()
		process.EndTransactions(t, x.uri)
		x.serve()
	}
	x.await(500)
	end()
	writing.Wait()
	feeding.Wait()
	for line := range strings.Lines(process.Run(t, x.env, x.args("--once")...)) {
		x.apply([]byte(line))
	}
	x.compare()
	keepsOnly(x.T, x.position)
	x.server().Stop()
	t.Logf("%d kills of the server and %d of tail, %d events, of which %d of removals", killed, x.tails, x.events, x.removals)
}

// indexBehind is the number of changes that the index may be behind: tail, which is killed
// again and again, is slower than the writers, and the end of the test waits for it.
const indexWriters, indexObjects, indexBehind = 2, 300, 20_000

// index has objects by id, and what feeds it.
type index struct {
	*testing.T
	uri, schemas, address, position string
	seed                            uint64
	env                             []string
	objects                         map[string]string
	revisions                       map[string]int64 // of the last event of each object
	tails, removals                 int

	mu     sync.Mutex
	p      *process.Process
	events int
	// written counts the objects of answered writes, and followed the revisions that were applied.
	written, followed int
	applied           sync.Cond
}

func newIndex(t *testing.T, uri string) *index {
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	x := &index{T: t, uri: uri, schemas: t.TempDir(), address: port.Addr().String(), position: filepath.Join(t.TempDir(), "position"),
		seed: service.TestSeed(t), objects: map[string]string{}, revisions: map[string]int64{}}
	if err := port.Close(); err != nil {
		t.Fatal(err)
	}
	x.applied.L = &x.mu
	process.File(t, filepath.Join(x.schemas, "notes.json"), `{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Note", "type": "object",
		"x-resource": {"path": "notes", "methods": ["GET", "HEAD", "POST", "PUT", "DELETE"]}, "properties": {"text": {"type": "string"}}}`)
	x.serve()
	x.p.SignIn("admin", process.Password)
	x.p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/roles/index?context=main", `{"name": "Index", "scope": "NETWORK", "permissions": ["MANAGE_OBJECTS"]}`)
	made, _ := x.p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/tokens/index?context=main", `{"name": "Index", "role": "index"}`).JSON().(map[string]any)
	x.p.Token, _ = made["token"].(string)
	x.env = []string{"MARQUEE_TOKEN=" + x.p.Token}
	return x
}

// serve starts the server, at the address that it had.
func (x *index) serve() {
	p := process.Launch(x, process.Command(x, []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password}, "serve", "--addr", x.address,
		"--log-format", "json", "--application", "none", "--schemas", x.schemas, "--store", x.uri))
	p.Listens()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.p != nil {
		p.Token = x.p.Token
	}
	x.p = p
}

func (x *index) server() *process.Process {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.p
}

// await waits until more events have been applied.
func (x *index) await(more int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for from := x.events; x.events < from+more && !x.Failed(); {
		x.applied.Wait()
	}
}

// wrote counts written objects, and waits while the index is far behind.
func (x *index) wrote(ctx context.Context, objects int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for x.written += objects; x.written > x.followed+indexBehind && ctx.Err() == nil && !x.Failed(); {
		x.applied.Wait()
	}
}

// write writes and removes random notes, whether or not it is answered.
func (x *index) write(ctx context.Context, random *rand.Rand) {
	for over := time.Now().Add(service.Patience); ctx.Err() == nil; {
		method, path, body, objects := http.MethodDelete, fmt.Sprint("notes/n", random.IntN(indexObjects)), "", 1
		if random.IntN(4) > 0 {
			ids := random.Perm(indexObjects)[:10]
			objects = len(ids)
			method, path, body = http.MethodPost, "notes", service.ArrayOf(len(ids), func(i int) string {
				return fmt.Sprintf(`{"id": "n%d", "text": "%d"}`, ids[i], random.Uint64())
			})
		}
		a, err := x.server().Send(method, "/api/v1/"+path+"?context=main", nil, []byte(body))
		switch answered := err == nil && a.Status != http.StatusServiceUnavailable; {
		case answered && a.Status != http.StatusOK && a.Status != http.StatusNoContent && a.Status != http.StatusNotFound:
			x.Errorf("%s %s is answered with %d %s", method, path, a.Status, a.Body)
		case answered:
			if a.Status != http.StatusNotFound {
				x.wrote(ctx, objects)
			}
			over = time.Now().Add(service.Patience)
		case time.Now().After(over):
			x.Errorf("nothing is answered: %v %v", a, err)
			x.applied.Broadcast()
			return
		}
	}
}

// args are those of marquee tail.
func (x *index) args(more ...string) []string {
	return append([]string{"tail", "notes", "--url", "http://" + x.address, "--context", "main", "--position", x.position}, more...)
}

// feed applies what tail prints, which it kills and starts again.
func (x *index) feed(ctx context.Context) {
	defer x.applied.Broadcast()
	for random := rand.New(rand.NewPCG(x.seed, indexWriters+1)); ctx.Err() == nil; x.tails++ {
		tail := process.Command(x, x.env, x.args()...)
		printed, err := tail.StdoutPipe()
		if err == nil {
			err = tail.Start()
		}
		if err != nil {
			x.Error(err)
			return
		}
		kill := func() { _ = tail.Process.Kill() } // it may have ended
		stop := context.AfterFunc(ctx, kill)
		lines := bufio.NewReader(printed)
		for left := random.IntN(200); ; left-- {
			line, err := lines.ReadBytes('\n')
			if err != nil { // and the rest of the line is printed again
				break
			}
			x.apply(line)
			if left == 0 {
				time.AfterFunc(time.Duration(random.Int64N(int64(20*time.Millisecond))), kill)
			}
		}
		stop()
		if err := tail.Wait(); tail.ProcessState.ExitCode() >= 0 { // it was not killed
			x.Errorf("tail ends: %v", err)
			return
		}
	}
}

// apply applies an event.
func (x *index) apply(line []byte) {
	var e struct {
		ID, Kind string
		Revision int64
		Object   json.RawMessage
	}
	if err := json.Unmarshal(line, &e); err != nil || e.Kind == "reset" || e.Kind == "left" {
		x.Errorf("tail prints %.300s (%v)", line, err)
	}
	known := x.revisions[e.ID]
	if e.Revision > known+1 {
		x.Errorf("%s: revision %d follows %d", e.ID, e.Revision, known)
	}
	x.revisions[e.ID] = max(known, e.Revision)
	x.mu.Lock()
	x.events++
	x.followed += int(x.revisions[e.ID] - known)
	x.applied.Broadcast()
	x.mu.Unlock()
	if e.Object != nil {
		x.objects[e.ID] = string(e.Object)
		return
	}
	if e.Kind == "deleted" {
		x.removals++
	}
	delete(x.objects, e.ID)
}

// compare expects that the index has what the list has.
func (x *index) compare() {
	listed := 0
	for cursor := ""; ; {
		var page struct {
			Results    []json.RawMessage
			NextCursor string
		}
		a := x.server().Ask(http.StatusOK, http.MethodGet, "/api/v1/notes?context=main&includeHidden=true&pageSize=1000"+cursor, "")
		if err := json.Unmarshal(a.Body, &page); err != nil {
			x.Fatal(err)
		}
		for _, object := range page.Results {
			var note struct{ ID string }
			if err := json.Unmarshal(object, &note); err != nil {
				x.Fatal(err)
			}
			if listed++; x.objects[note.ID] != string(object) {
				x.Errorf("the index has %s, and the list %s", x.objects[note.ID], object)
			}
		}
		if page.NextCursor == "" {
			break
		}
		cursor = "&cursor=" + url.QueryEscape(page.NextCursor)
	}
	if len(x.objects) != listed || listed == 0 || x.removals == 0 {
		x.Errorf("the index has %d objects, and the list %d; %d were removed", len(x.objects), listed, x.removals)
	}
}
