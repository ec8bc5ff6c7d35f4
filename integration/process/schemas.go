package process

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"marquee/integration/service"
)

// Schema is a type of the tests: a path, and one required text.
func Schema(path string, more ...string) string {
	return fmt.Sprintf(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Test",
"x-resource": {"path": %q, "index": ["name"], "sort": ["name"]}, "type": "object", "required": ["name"],
"properties": {"name": {"type": "string"}, "order": {"$ref": "common/reference.json", "x-ref": "orders"}%s}}`, path, strings.Join(more, ""))
}

// Common is a shared definition: a number with a minimum.
func Common(minimum int) string {
	return fmt.Sprintf(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "integer", "minimum": %d}`, minimum)
}

// Folder is a running service that watches a folder of schemas.
type Folder struct {
	*Process
	Dir string
}

// Drop puts a file into the folder, as an editor does or in one step, and
// waits for what the log says about the new set.
func (f Folder) Drop(name, content, says string) map[string]any {
	f.TB.Helper()
	return f.Change(says, func() error { return os.WriteFile(filepath.Join(f.Dir, name), []byte(content), 0o644) })
}

// Change does something to the folder, and returns the line of the log about the reload,
// which must begin with a text.
func (f Folder) Change(says string, do func() error) map[string]any {
	f.TB.Helper()
	from := f.Stderr.Mark()
	if err := do(); err != nil {
		f.TB.Fatal(err)
	}
	line := f.Stderr.Await(f.TB, from, func(line string) bool { return service.Says(Loaded)(line) || service.Says(RefusedSet)(line) })
	if !service.Says(says)(line) {
		f.TB.Fatalf("instead of %q, the log says %s", says, line)
	}
	return service.Entry(line)
}

const (
	Loaded     = "schemas loaded"
	RefusedSet = "the schemas were refused; the previous ones remain"
)

// Traffic asks and writes without a pause, until the function that it
// returns is called, which returns the number of requests. Each must
// succeed.
func Traffic(p *Process) (end func() int64) {
	var done atomic.Bool
	var n atomic.Int64
	var clients sync.WaitGroup
	request := func(method, path, body string) {
		a, err := p.Send(method, path, nil, []byte(body))
		if err != nil || a.Status >= 300 {
			p.TB.Errorf("beside a reload, %s %s gives %v %v", method, path, err, a)
			done.Store(true)
		}
		n.Add(1)
	}
	for c := range 3 {
		clients.Go(func() {
			for i := 0; !done.Load(); i++ {
				id := fmt.Sprintf("c%d-%d", c, i)
				request(http.MethodPost, "/api/v1/orders/"+id+"?context=main", `{"name": "An order"}`)
				request(http.MethodPost, "/api/v1/batch?context=main", fmt.Sprintf(`{"operations": [{"type": "lineitems",
"object": {"id": %[1]q, "name": "L", "order": %[1]q}}, {"type": "notes", "object": {"id": %[1]q, "text": "N"}}]}`, id))
				request(http.MethodGet, "/api/v1/lineitems/"+id+"?context=main", "")
				request(http.MethodGet, "/api/v1/orders?context=main&pageSize=5", "")
				request(http.MethodGet, "/readyz", "")
			}
		})
	}
	return func() int64 {
		done.Store(true)
		clients.Wait()
		return n.Load()
	}
}
