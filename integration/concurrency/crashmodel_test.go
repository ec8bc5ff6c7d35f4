package concurrency

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"marquee/integration/process"
)

// crashRef is a reference in a posted object; what is read must show the name
// of its target, as only a reference that resolves does.
type crashRef string

func (r crashRef) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"id": string(r)})
}

// crashObject is an object of one writer: what was acknowledged of it, and
// the one write of it that may or may not have been stored.
type crashObject struct {
	kind, id string
	version  int
	body     map[string]any
	doubt    *crashWrite
	next     map[string]any
}

func (o *crashObject) path() string { return "/api/v1/" + o.kind + "/" + o.id }

// crashWrite is one request that writes objects, all or none.
type crashWrite struct {
	what    string
	objects []*crashObject
}

// crashHot is an object that all writers update with If-Match. Its content
// says its version.
type crashHot struct {
	id    string
	acked map[int]bool
	// first is the version at the beginning of the round, doubted are those
	// that were tried and neither acknowledged nor refused.
	first   int
	doubted map[int]bool
}

// crashModel is what the answers of one round promise.
type crashModel struct {
	prefix  string // of the ids of this round
	mu      sync.Mutex
	objects []*crashObject
	hot     []*crashHot
	urls    map[string]bool // that were tried to claim
	acks    int
	wrong   []string
	// survived and lost count the writes without an answer.
	survived, lost int
	killAt         int           // kill after so many acknowledged writes
	reached        chan struct{} // closed then
	// outages reports whether the process keeps running and loses its store from time
	// to time: only what is answered with error.outcome.unknown may have been stored.
	outages bool
	refused int           // answers of 503
	ended   chan struct{} // closed when the writers are to stop
}

func (m *crashModel) fail(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wrong = append(m.wrong, fmt.Sprintf(format, args...))
}

func (m *crashModel) acknowledged() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.acks++; m.acks == m.killAt {
		close(m.reached)
	}
}

// change is the write of one object in a request.
type crashChange struct {
	object *crashObject
	patch  map[string]any
}

// post sends a write and keeps what its answer promises. It returns the
// status, 0 when there was none: the process is dead.
func (m *crashModel) post(p *process.Process, what, path string, header http.Header, body any, changes ...crashChange) int {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	write := &crashWrite{what: what}
	m.mu.Lock()
	for _, c := range changes {
		if c.object.version == 0 {
			m.objects = append(m.objects, c.object)
		}
		next := maps.Clone(c.object.body)
		if next == nil {
			next = map[string]any{}
		}
		maps.Copy(next, c.patch)
		c.object.doubt, c.object.next = write, next
		write.objects = append(write.objects, c.object)
		if claimed, ok := c.patch["url"].(string); ok {
			m.urls[claimed] = true
		}
	}
	m.mu.Unlock()
	a, err := p.Send(http.MethodPost, path, header, text)
	if m.outages && err != nil {
		m.fail("%s %s: no answer: %v", what, path, err)
	}
	if a == nil {
		return 0
	}
	if err == nil {
		for _, wrong := range a.Promises(false) {
			m.fail("%s %s: %d: %s", what, path, a.Status, wrong)
		}
	}
	if m.outages && a.Status == http.StatusServiceUnavailable {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.refused++; strings.Contains(string(a.Body), `"error.outcome.unknown"`) {
			return crashUnknown
		}
		for _, c := range changes { // nothing is stored
			c.object.doubt, c.object.next = nil, nil
		}
		return a.Status
	}
	if a.Status >= 500 {
		m.fail("%s %s: %d %s\n%s", what, path, a.Status, a.Body, p.Logged(a))
	}
	m.mu.Lock()
	for _, c := range changes {
		if a.Status < 300 {
			c.object.version++
			c.object.body = c.object.next
		}
		c.object.doubt, c.object.next = nil, nil
	}
	m.mu.Unlock()
	if a.Status < 300 {
		m.acknowledged()
	}
	if err != nil {
		return 0 // acknowledged, and then the process died
	}
	return a.Status
}

// crashUnknown is the status of an answer that leaves the outcome open.
const crashUnknown = -http.StatusServiceUnavailable

// crashFound is an object as it was read back.
type crashFound struct {
	version int
	object  map[string]any
}

// crashVersion is the version that an entity tag begins with.
func crashVersion(etag string) int {
	var version int
	if _, err := fmt.Sscanf(etag, `"%d-`, &version); err != nil {
		return -1
	}
	return version
}

var errCrashOutage = errors.New("503")

// crashRead reads an object back; version 0 is one that is not there.
func crashRead(p *process.Process, path string) (crashFound, error) {
	a, err := p.Send(http.MethodGet, path+"?context=main", nil, nil)
	if err != nil {
		return crashFound{}, err
	}
	switch a.Status {
	case http.StatusNotFound:
		return crashFound{}, nil
	case http.StatusOK:
		object, _ := a.JSON().(map[string]any)
		return crashFound{crashVersion(a.Header.Get("ETag")), object}, nil
	case http.StatusServiceUnavailable:
		if wrong := a.Promises(false); len(wrong) > 0 {
			return crashFound{}, fmt.Errorf("GET %s: %v", path, wrong)
		}
		return crashFound{}, fmt.Errorf("GET %s: %w: %s", path, errCrashOutage, a.Body)
	}
	return crashFound{}, fmt.Errorf("GET %s: %d %s\n%s", path, a.Status, a.Body, p.Logged(a))
}

// holds lists how an object differs from what was written.
func (f crashFound) holds(body map[string]any) []string {
	var wrong []string
	for name, want := range body {
		got := f.object[name]
		if ref, ok := want.(crashRef); ok {
			target, _ := got.(map[string]any)
			if target["id"] != string(ref) || target["name"] == nil {
				wrong = append(wrong, fmt.Sprintf("%s is %v instead of a reference to %s", name, got, ref))
			}
		} else if fmt.Sprint(got) != fmt.Sprint(want) {
			wrong = append(wrong, fmt.Sprintf("%s is %v instead of %v", name, got, want))
		}
	}
	return wrong
}

// check compares what is stored with what was promised.
func (m *crashModel) check(p *process.Process) {
	found := m.readAll(p)
	versions := map[string]int{}
	stored := map[*crashWrite][2][]string{}
	owners := map[string][]string{}
	for i, o := range m.objects {
		f := found[i]
		versions[o.kind+"/"+o.id] = f.version
		expected, what := o.body, "acknowledged"
		switch {
		case o.doubt != nil && f.version == o.version+1:
			s := stored[o.doubt]
			s[1] = append(s[1], o.id)
			stored[o.doubt] = s
			expected, what = o.next, "in doubt"
		case f.version != o.version:
			m.fail("%s is at version %d, acknowledged was %d", o.path(), f.version, o.version)
			continue
		case o.doubt != nil:
			s := stored[o.doubt]
			s[0] = append(s[0], o.id)
			stored[o.doubt] = s
		}
		if f.version == 0 {
			continue
		}
		for _, wrong := range f.holds(expected) {
			m.fail("%s (%s, version %d): %s", o.path(), what, f.version, wrong)
		}
		if claimed, ok := f.object["url"].(string); ok && o.kind == "articles" {
			owners[claimed] = append(owners[claimed], o.id)
		}
	}
	for write, s := range stored {
		if len(s[1]) > 0 {
			m.survived++
		} else {
			m.lost++
		}
		if len(s[0]) > 0 && len(s[1]) > 0 {
			m.fail("%s was stored by half: %v is there, %v is not", write.what, s[1], s[0])
		}
	}
	m.checkHot(p, versions)
	m.checkHistory(p, versions)
	m.checkClaims(p, owners)
}

// readAll reads the objects back, several at a time.
func (m *crashModel) readAll(p *process.Process) []crashFound {
	found := make([]crashFound, len(m.objects))
	var group sync.WaitGroup
	for w := range crashReaders {
		group.Go(func() {
			for i := w; i < len(m.objects); i += crashReaders {
				var err error
				if found[i], err = crashRead(p, m.objects[i].path()); err != nil {
					m.fail("%v", err)
				}
			}
		})
	}
	group.Wait()
	return found
}

const crashReaders = 8

// checkHot looks for lost updates: each acknowledged version is of one write.
func (m *crashModel) checkHot(p *process.Process, versions map[string]int) {
	for _, h := range m.hot {
		f, err := crashRead(p, "/api/v1/tiers/"+h.id)
		if err != nil {
			m.fail("%v", err)
		}
		last := slices.Max(append(slices.Collect(maps.Keys(h.acked)), 0))
		if f.version < last {
			m.fail("%s is at version %d, acknowledged was %d", h.id, f.version, last)
		}
		for version := h.first + 1; m.outages && version <= f.version; version++ {
			if !h.acked[version] && !h.doubted[version] {
				m.fail("%s has a version %d that nobody made", h.id, version)
			}
		}
		if want := crashHotText(f.version); f.object["description"] != want {
			m.fail("%s at version %d says %v instead of %s", h.id, f.version, f.object["description"], want)
		}
		versions["tiers/"+h.id] = f.version
	}
}

func crashHotText(version int) string { return fmt.Sprintf("This is version %d.", version) }

// checkHistory counts the audit entries of the objects of the round, which
// are the newest.
func (m *crashModel) checkHistory(p *process.Process, versions map[string]int) {
	want := map[string]int{} // entries to come, by kind
	for key, version := range versions {
		kind, _, _ := strings.Cut(key, "/")
		want[kind] += version
	}
	for kind, left := range want {
		seen := map[string]map[int]bool{}
		for page := 0; left > 0; page++ {
			a, err := p.Send(http.MethodGet, fmt.Sprintf("/api/v1/audit?context=main&type=%s&page=%d&pageSize=1000", kind, page), nil, nil)
			if err != nil || a.Status != http.StatusOK {
				m.fail("the history of %s cannot be read: %v %v", kind, err, a)
				return
			}
			var history struct {
				Results []struct {
					Object  struct{ ID string }
					Version int
				}
			}
			if err := json.Unmarshal(a.Body, &history); err != nil {
				m.fail("%v", err)
			}
			if len(history.Results) == 0 {
				m.fail("%d entries of the history of %s are missing", left, kind)
				break
			}
			for _, entry := range history.Results {
				key := kind + "/" + entry.Object.ID
				if _, ours := versions[key]; !ours {
					if strings.HasPrefix(entry.Object.ID, m.prefix) {
						m.fail("the history has %s, which is not there", key)
					}
					continue
				}
				if seen[key] == nil {
					seen[key] = map[int]bool{}
				}
				if seen[key][entry.Version] || entry.Version < 1 || entry.Version > versions[key] {
					m.fail("the history of %s, which is at %d, has version %d once too often", key, versions[key], entry.Version)
				}
				seen[key][entry.Version] = true
				left--
			}
		}
	}
}

// checkClaims asks whether the unique values are taken by those that have
// them, and by nobody else.
func (m *crashModel) checkClaims(p *process.Process, owners map[string][]string) {
	for claimed := range m.urls {
		if len(owners[claimed]) > 1 {
			m.fail("%s belongs to %v", claimed, owners[claimed])
		}
		status := http.StatusOK
		if len(owners[claimed]) > 0 {
			status = http.StatusUnprocessableEntity
		}
		body, err := json.Marshal(map[string]any{"url": claimed})
		if err != nil {
			panic(err)
		}
		a, err := p.Send(http.MethodPost, "/api/v1/articles/somebody-else?context=main&validateOnly=true", nil, body)
		if err != nil || a.Status != status {
			m.fail("%s belongs to %v, and to claim it gives %v %v", claimed, owners[claimed], err, a)
		}
	}
}
