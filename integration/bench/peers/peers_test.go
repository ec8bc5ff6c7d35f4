package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// sample is a service of a peer that is not running.
func sample(t *testing.T, p *peer) *service {
	t.Helper()
	w := workshop{root: t.TempDir(), folder: t.TempDir(), data: dataset{objects: 2000, folders: 2}}
	w.mongodb = &database{address: "127.0.0.1:1"}
	s := &service{peer: p, data: w.data, database: "peer"}
	folder := p.Folder
	if folder != "" {
		if _, err := os.Stat(folder); err != nil {
			t.Error(err)
		}
	}
	p.Folder = "" // nothing is copied
	if _, err := w.equip(s); err != nil {
		t.Fatal(err)
	}
	p.Folder = folder
	return s
}

// TestDefinitions renders every template of every peer.
func TestDefinitions(t *testing.T) {
	c, err := loadComparison()
	if err != nil {
		t.Fatal(err)
	}
	peers, err := loadPeers()
	if err != nil {
		t.Fatal(err)
	}
	if len(peers) < 5 {
		t.Fatalf("%d peers", len(peers))
	}
	for _, p := range peers {
		t.Run(p.Name+" on "+p.Store, func(t *testing.T) {
			for what, text := range map[string]string{"version": p.Version, "durability": p.Durability, "atomic": p.Atomic, "access": p.Access} {
				if text == "" {
					t.Errorf("no %s", what)
				}
			}
			s := sample(t, p)
			if _, err := s.environment(); err != nil {
				t.Error(err)
			}
			for _, commands := range [][]command{p.Install, p.Before, {p.Start}} {
				for _, c := range commands {
					if arguments, err := c.render(s.value); err != nil || len(arguments) == 0 {
						t.Error(arguments, err)
					}
				}
			}
			for _, r := range append(p.Prepare, p.SignIn...) {
				build(t, s, r, s.value)
				for name := range r.Save {
					s.variables[name] = "saved"
				}
			}
			s.builds(t, &p.Folders, s.data.folder)
			s.builds(t, &p.Objects, s.data.object)
			for _, sc := range c.Scenarios {
				r := p.Scenarios[sc.Key]
				if r == nil {
					t.Fatalf("no scenario %s", sc.Key)
				}
				buildMany(t, s, r, s.data.object)
			}
		})
	}
}

func (s *service) builds(t *testing.T, l *loading, object func(int) map[string]string) {
	t.Helper()
	if l.Size == 0 {
		t.Error("no size")
	}
	if l.Request != nil {
		buildMany(t, s, l.Request, object)
		return
	}
	text, err := l.Document.render(s.with(object(1)))
	if err != nil || l.Collection == "" || !json.Valid([]byte(text)) {
		t.Error(l.Collection, text, err)
	}
}

// buildMany builds a request with two objects, if it takes several.
func buildMany(t *testing.T, s *service, r *request, object func(int) map[string]string) {
	t.Helper()
	items, err := r.items(0, 2, func(i int) values { return s.with(object(i)) })
	if err != nil {
		t.Error(err)
	}
	one := object(1)
	one["items"] = items
	build(t, s, r, s.with(one))
}

func build(t *testing.T, s *service, r *request, value values) {
	t.Helper()
	request, err := r.build(context.Background(), s.url, value)
	if err != nil {
		t.Error(err)
		return
	}
	body, err := r.Body.render(value)
	if err != nil || body != "" && !json.Valid([]byte(body)) {
		t.Error(request.URL, body, err)
	}
	for _, expected := range r.Expect {
		if text, err := expected.render(value); err != nil || text == "" {
			t.Error(request.URL, text, err)
		}
	}
}

func TestTemplates(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{`"/items/{{id}}"`, `/items/i1`},
		{`{"n": "{{#n}}", "id": "{{id}}"}`, `{"n": 1, "id": "i1"}`},
		{`["{{#n}}"]`, `[1]`},
		{`{"n": {{#n}}}`, ""},
		{`"{{id"`, ""},
		{`"{{other}}"`, ""},
	} {
		var parsed template
		text, err := "", parsed.UnmarshalJSON([]byte(c.source))
		if err == nil {
			text, err = parsed.render(func(name string) (string, bool) {
				value, known := map[string]string{"id": "i1", "n": "1"}[name]
				return value, known
			})
		}
		if text != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s is %q, %v", c.source, text, err)
		}
	}
}

func TestReportKeepsThePageAroundIt(t *testing.T) {
	page := t.TempDir() + "/page.md"
	if err := os.WriteFile(page, []byte("before\n"+beginMark+"old\n"+endMark+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &report{settings: settings{objects: 100_000}}
	if err := r.write(&strings.Builder{}, page); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"before\n" + beginMark, endMark + "after\n", "100,000 objects"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%q is not in %s", part, text)
		}
	}
	if strings.Contains(string(text), "old") {
		t.Error("the old tables are still there")
	}
}
