package reload

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"marquee/engine/store"
	"marquee/engine/verify"
	"marquee/integration/service"
)

// wards is a folder with a type that has a path, and perhaps had others.
func wards(path, was string) fs.FS {
	return service.TypeWith(path, was+`, "unique": ["code"], "search": ["name"], "methods": ["GET", "HEAD", "POST", "PUT", "DELETE"]`,
		`"name": {"type": "string"}, "code": {"type": "string"}, "number": {"type": "integer", "x-sequence": {}},
		"key": {"type": "string", "x-secret": true}, "near": {"x-ref": "`+path+`"}`)
}

// TestServersRenameType writes the same objects through two servers that know their type by
// different paths, while one of them renames it again and takes the rename back.
func TestServersRenameType(t *testing.T) {
	t.Parallel()
	servers, token := service.NewPlainServers(t, 2, wards("wards", ""))
	here, there := servers[0], servers[1]
	at := func(path, id string) string { return "/api/v1/" + path + "/" + id + "?context=main" }
	there.Must(token, http.MethodPut, at("wards", "a"), `{"name": "alpha", "code": "A", "key": "hidden text"}`, http.StatusCreated)
	var done atomic.Bool
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 0; !done.Load(); i++ {
			a := there.Ask(token, http.MethodPost, "/api/v1/wards?context=main", fmt.Sprintf(`{"id": "w%d", "near": "a", "code": "w%[1]d"}`, i), nil)
			if a.Status != http.StatusOK {
				t.Errorf("beside a rename by another server: %d %s", a.Status, a.Body)
				return
			}
		}
	})
	for i, next := range []struct{ path, was string }{{"units", `, "was": "wards"`}, {"sections", `, "was": ["wards", "units"]`}, {"units", `, "was": "wards"`}, {"wards", ""}} {
		if err := here.Swap(here.Engine, wards(next.path, next.was)); err != nil {
			t.Fatal(err)
		}
		if a := here.Must(token, http.MethodGet, at(next.path, "a"), "", http.StatusOK); a["key"] != "hidden text" || numberOf(a) != 1 {
			t.Errorf("%s: %v", next.path, a)
		}
		id, code := fmt.Sprint("n", i), fmt.Sprint("C", i)
		made := here.Must(token, http.MethodPut, at(next.path, id), `{"name": "`+id+`", "near": "a", "code": "`+code+`", "key": "another text"}`, http.StatusCreated)
		if url := fmt.Sprint(made["near"]); !strings.Contains(url, at(next.path, "a")) {
			t.Errorf("a reference leads to %s", url)
		}
		read := there.Must(token, http.MethodGet, at("wards", id), "", http.StatusOK)
		if read["key"] != "another text" || numberOf(read) != numberOf(made) || !strings.Contains(fmt.Sprint(read["near"]), at("wards", "a")) {
			t.Errorf("the other server has %v", read)
		}
		there.Must(token, http.MethodPut, at("wards", "b"), `{"code": "`+code+`"}`, http.StatusUnprocessableEntity)
		here.Must(token, http.MethodPut, at(next.path, "b"), `{"code": "A"}`, http.StatusUnprocessableEntity)
		here.Must(token, http.MethodDelete, at(next.path, "a"), "", http.StatusConflict)
		there.Must(token, http.MethodPut, at("wards", id), `{"name": "found"}`, http.StatusOK)
		for _, side := range []struct {
			*service.Service
			path string
		}{{here, next.path}, {there, "wards"}} {
			list := side.Must(token, http.MethodGet, "/api/v1/"+side.path+"?context=main&pageSize=1&q=found", "", http.StatusOK)
			if fmt.Sprint(list["totalCount"]) != fmt.Sprint(i+1) {
				t.Errorf("%v objects are found, not %d", list["totalCount"], i+1)
			}
			a := side.Ask(token, http.MethodGet, "/api/v1/audit?context=main&type="+side.path+"&id="+id, "", nil)
			if a.Status != http.StatusOK || bytes.Count(a.Body, []byte(`"type":"`+side.path+`"`)) != 2 {
				t.Errorf("the history is %d %s", a.Status, a.Body)
			}
		}
	}
	done.Store(true)
	writer.Wait()
}

// TestRenamedTypeOutOfReach refuses a rename that would hide objects which were created under
// another path of the type.
func TestRenamedTypeOutOfReach(t *testing.T) { service.EachStore(t, testRenamedTypeOutOfReach) }

func testRenamedTypeOutOfReach(t *testing.T, fresh service.NewStore) {
	s := service.NewPlain(t, fresh, wards("units", ""))
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	s.Must(token, http.MethodPut, "/api/v1/units/a?context=main", `{}`, http.StatusCreated)
	refusedBy(t, s.Swap(s.Engine, wards("units", `, "was": "wards"`)), "objects are also stored under units", "/x-resource/was")
	refusedBy(t, s.Swap(s.Engine, wards("sections", `, "was": ["wards", "units"]`)), "objects are also stored under units")
	s.Must(token, http.MethodGet, "/api/v1/units/a?context=main", "", http.StatusOK)
	if err := s.Swap(s.Engine, wards("sections", `, "was": "units"`)); err != nil {
		t.Fatal(err)
	}
	s.Must(token, http.MethodDelete, "/api/v1/sections/a?context=main", "", http.StatusNoContent)
	if err := s.Swap(s.Engine, wards("units", `, "was": "wards"`)); err != nil {
		t.Error(err)
	}
}

// TestRenamedTypeReports: a reload reports a renamed type by its present path.
func TestRenamedTypeReports(t *testing.T) { service.EachStore(t, testRenamedTypeReports) }

func testRenamedTypeReports(t *testing.T, fresh service.NewStore) {
	s := service.NewPlain(t, fresh, service.TypeWith("wards", "", `"name": {"type": "string"}`))
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	s.Must(token, http.MethodPut, "/api/v1/wards/a?context=main", `{"name": "alpha"}`, http.StatusCreated)
	registry, err := s.Load(service.TypeWith("units", `, "was": "wards", "unique": ["name"]`, `"name": {"type": "string"}`))
	if err != nil {
		t.Fatal(err)
	}
	var made progressSteps
	if err := s.Engine.Migrate(store.WithProgress(t.Context(), &made), registry); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(made.reported, "indexing units") {
		t.Errorf("reported is %q", made.reported)
	}
}

// TestRenamedSecret renames a property that becomes a secret, and one that was a secret to a
// property that is none.
func TestRenamedSecret(t *testing.T) { service.EachStore(t, testRenamedSecret) }

func testRenamedSecret(t *testing.T, fresh service.NewStore) {
	s := service.NewPlain(t, fresh, service.TypeWith("safes", "", `"pin": {"type": "string"}`))
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	s.Must(token, http.MethodPut, "/api/v1/safes/a?context=main", `{"pin": "hidden text"}`, http.StatusCreated)
	if err := s.Swap(s.Engine, service.TypeWith("vaults", `, "was": "safes"`, `"code": {"type": "string", "x-secret": true, "x-was": "pin"}`)); err != nil {
		t.Fatal(err)
	}
	if a := s.Must(token, http.MethodGet, "/api/v1/vaults/a?context=main", "", http.StatusOK); a["code"] != "hidden text" {
		t.Errorf("%v", a)
	}
	if bytes.Contains(service.AtRest(t, s.URI), []byte("hidden text")) {
		t.Error("a value that has become a secret can be read in the store")
	}
	proposed, err := s.Load(service.TypeWith("lockers", `, "was": ["safes", "vaults"]`, `"code": {"type": "string", "x-secret": true, "x-was": "pin", "maxLength": 3}`))
	if err != nil {
		t.Fatal(err)
	}
	var rules []string
	err = verify.CheckProposed(t.Context(), s.Engine.Catalog, verify.Proposal{Before: s.Engine.Registry(), Proposed: proposed, Progress: func(string, int64) error { return nil }, Finding: func(f *verify.Finding) error {
		rules = append(rules, f.Rule)
		return nil
	}})
	if err != nil || !slices.Equal(rules, []string{"error.value.too.long"}) {
		t.Errorf("a check of a set that renames the type again finds %v, %v", rules, err)
	}
	refusedBy(t, s.Swap(s.Engine, service.TypeWith("vaults", `, "was": "safes"`, `"word": {"type": "string", "x-was": ["pin", "code"]}`)), "#/properties/word: the stored values are secret and would become readable")
	refusedBy(t, s.Swap(s.Engine, service.TypeWith("boxes", `, "was": ["safes", "vaults"]`, `"pin": {"type": "string"}`)), "would become readable")
}
