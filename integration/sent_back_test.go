package integration

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/integration/process"
	"marquee/integration/service"
)

// sendBack holds of all objects that a caller sees that they can be sent back as they
// were read, by PUT, POST and PATCH and in a collection, and that this changes nothing. It lists
// what is wrong. A caller may be refused for a right that he lacks, and for nothing else.
func sendBack(s *service.Service, token string) (wrong []string) {
	s.TB.Helper()
	networks := s.Ask(token, http.MethodGet, "/api/v1/networks?includeHidden=true&pageSize=1000", "", nil)
	results, _ := networks.JSON().(map[string]any)
	for _, of := range s.Engine.Registry().Types() {
		if of.Global {
			wrong = append(wrong, sendTypeBack(s, token, of, "")...)
			continue
		}
		for _, network := range service.IDsOf(results) {
			wrong = append(wrong, sendTypeBack(s, token, of, url.QueryEscape(network))...)
		}
	}
	return wrong
}

func sendTypeBack(s *service.Service, token string, of *schema.Type, network string) (wrong []string) {
	s.TB.Helper()
	place := "/api/v1/" + of.Name
	results := seenOf(s, token, of, network)
	if len(results) == 0 {
		return nil
	}
	before, err := s.Camera.Picture()
	if err != nil {
		return []string{err.Error()}
	}
	back := func(method, path, body, etag string) {
		if !slices.Contains(of.ObjectMethods(), method) {
			return
		}
		a := s.Ask(token, method, path, body, nil)
		after, err := s.Camera.Picture()
		same := err == nil && after == before
		before = after
		switch {
		case a.Status == http.StatusForbidden:
		case a.Status != http.StatusOK:
			wrong = append(wrong, fmt.Sprintf("%s %s: %d %s\nfor what was read: %s", method, path, a.Status, a.Body, body))
		case etag != "" && a.Header.Get("ETag") != etag:
			wrong = append(wrong, fmt.Sprintf("%s %s: the ETag is %s, and was %s\n%s\nfor what was read: %s", method, path, a.Header.Get("ETag"), etag, a.Body, body))
		case a.Header.Get("Warning") != "":
			wrong = append(wrong, fmt.Sprintf("%s %s: the answer warns: %s", method, path, a.Header.Get("Warning")))
		case !same:
			wrong = append(wrong, fmt.Sprintf("%s %s: the store has changed (%v)\nby what was read: %s", method, path, err, body))
		}
	}
	for _, result := range results {
		object, _ := result.(map[string]any)
		at, _ := object["url"].(string)
		if of.Shape.Properties["url"] != nil { // that of what the object describes
			at = fmt.Sprintf("%s/%s?context=%s", place, url.PathEscape(fmt.Sprint(object["id"])), network)
		}
		read := s.Ask(token, http.MethodGet, at, "", nil)
		if read.Status != http.StatusOK {
			wrong = append(wrong, fmt.Sprintf("GET %s: %d, but it is listed", at, read.Status))
			continue
		}
		for _, method := range []string{http.MethodPut, http.MethodPost} {
			back(method, at, string(read.Body), read.Header.Get("ETag"))
		}
		back(http.MethodPatch, at, service.JSONText(mergePatchOf(of.Shape, read.JSON())), read.Header.Get("ETag"))
	}
	if of.Parent == "" {
		back(http.MethodPost, place+"?context="+network, service.JSONText(results), "")
		back(http.MethodPut, place+"?context="+network, service.JSONText(results), "")
		return wrong
	}
	operations := make([]string, len(results))
	for i, result := range results {
		operations[i] = fmt.Sprintf(`{"type": %q, "object": %s}`, of.Name, service.JSONText(result))
	}
	back(http.MethodPost, "/api/v1/batch?context="+network, `{"operations": [`+strings.Join(operations, ", ")+`]}`, "")
	return wrong
}

// seenOf returns the objects of a type that a caller sees.
func seenOf(s *service.Service, token string, of *schema.Type, network string) (seen []any) {
	s.TB.Helper()
	list := func(path string) []any {
		a := s.Ask(token, http.MethodGet, "/api/v1/"+path+"?includeHidden=true&pageSize=1000&context="+network, "", nil)
		page, _ := a.JSON().(map[string]any)
		results, _ := page["results"].([]any)
		return results
	}
	if of.Parent == "" {
		return list(of.Name)
	}
	for _, parent := range list(of.Shape.Properties[of.Parent].Ref.Type) {
		seen = append(seen, list(of.Name+"/"+url.PathEscape(fmt.Sprint(parent.(map[string]any)["id"])))...)
	}
	return seen
}

// mergePatchOf returns what was read without the members whose value is null although the
// service has not added them: a merge patch would remove them.
func mergePatchOf(shape *document.Shape, value any) any {
	object, is := value.(map[string]any)
	if !is {
		return value
	}
	for name, member := range object {
		inner := shape.Member(name)
		switch {
		case member == nil:
			delete(object, name)
		case inner == nil:
			object[name] = mergePatchOf(document.AnyShape, member)
		case !inner.Complete:
			object[name] = mergePatchOf(inner, member)
		}
	}
	return object
}

// TestDemoSentBack sends back the demonstration data, as who writes and who only reads.
func TestDemoSentBack(t *testing.T) { service.EachStore(t, testDemoSentBack) }

func testDemoSentBack(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	s := service.New(t, fresh)
	writeDemo(s)
	expectSentBack(s, service.Admin, "reader")
}

func expectSentBack(s *service.Service, users ...string) {
	s.TB.Helper()
	if err := s.Pass(); err != nil {
		s.TB.Fatal(err)
	}
	for _, user := range users {
		token, err := s.SignIn(user)
		if err != nil {
			s.TB.Fatal(err)
		}
		for _, wrong := range sendBack(s, token) {
			s.TB.Errorf("as %s: %s", user, wrong)
		}
	}
}

// TestRandomSentBack sends back random objects of every type, whose values are those of
// the cases. What cases leave is sent back by runFixture.
func TestRandomSentBack(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testRandomSentBack)
}

func testRandomSentBack(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	m := newMatrix(t, fresh)
	for _, c := range cases(t) {
		m.properties.read(c.Archive)
	}
	r := &randomObjects{m, rand.New(rand.NewPCG(service.TestSeed(t), 1))}
	made, values := 0, 0
	for _, of := range m.Service.Engine.Registry().Types() {
		if !of.Global {
			m.make(of, "none", firstPath(of), service.Network)
		}
		for i := 0; of.Writable() && of.Parent == "" && i < 12; i++ {
			id := fmt.Sprintf("random-%d", i/2) // each is written twice
			if n := r.write(of, id); n >= 0 {
				made, values = made+1, values+n
			}
		}
	}
	t.Logf("%d random objects with %d values", made, values)
	if made < 200 || values < 2*made {
		t.Errorf("only %d random objects with %d values were stored", made, values)
	}
	expectSentBack(m.Service, service.Admin)
	for _, of := range m.Service.Engine.Registry().Types() {
		if of.Writable() && len(seenOf(m.Service, m.admin, of, service.Network)) == 0 {
			t.Errorf("no object of the type %s was sent back", of.Name)
		}
	}
}

// randomObjects makes objects of values that cases have posted.
type randomObjects struct {
	*matrix
	*rand.Rand
}

// write stores an object, without the properties that are refused. It returns how many
// it has besides those that its type requires, -1 for none.
func (r *randomObjects) write(of *schema.Type, id string) int {
	r.Helper()
	object := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(of.Shape.Properties)) {
		shape := of.Shape.Properties[name]
		known := slices.Sorted(maps.Keys(r.properties.posted[of.Name+"/"+name]))
		if len(known) == 0 || shape.ReadOnly || name == "password" || r.IntN(3) == 0 {
			continue
		}
		value, err := service.Decode([]byte(known[r.IntN(len(known))]))
		if err != nil {
			r.Fatal(err)
		}
		object[name] = r.vary(shape, value)
	}
	maps.Copy(object, r.sample(of, id, service.Network))
	for range 20 {
		a := r.Service.Ask(r.admin, http.MethodPut, "/api/v1/"+of.Name+"/"+id+"?context=main&fieldValidation=Ignore", service.JSONText(object), nil)
		if a.Status < 300 {
			return len(object)
		}
		if a.Status != http.StatusUnprocessableEntity {
			r.Fatalf("%s %s: %d %s", of.Name, service.JSONText(object), a.Status, a.Body)
		}
		problem, _ := a.JSON().(map[string]any)
		for _, wrong := range problem["messages"].([]any) {
			field := fmt.Sprint(wrong.(map[string]any)["params"].(map[string]any)["field"])
			name, _, _ := strings.Cut(strings.TrimPrefix(field, "/"), "/")
			delete(object, document.UnescapeToken(name))
		}
	}
	return -1
}

// vary empties some of what a value holds, and makes its references lead to objects.
func (r *randomObjects) vary(shape *document.Shape, value any) any {
	if shape == nil {
		shape = document.AnyShape
	}
	if shape.Ref != nil && !shape.Ref.Object && value != nil {
		if shape.Ref.Type == "networks" {
			return service.Network
		}
		return r.refer(shape.Ref.Type, service.Network)
	}
	switch v := value.(type) {
	case []any:
		if r.IntN(8) == 0 {
			return []any{}
		}
		for i, item := range v {
			v[i] = r.vary(shape.Item(i), item)
		}
	case map[string]any:
		if r.IntN(8) == 0 {
			return map[string]any{}
		}
		for name, member := range v {
			if v[name] = r.vary(shape.Member(name), member); r.IntN(12) == 0 {
				v[name] = nil
			}
		}
	}
	return value
}
