package integration

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"testing"

	"marquee/engine/document"
	"marquee/integration/service"
)

// TestMergePatchIsPut: a PATCH does what a PUT does that sends, of what was read, the
// properties that the patch has, with the patch applied to them.
func TestMergePatchIsPut(t *testing.T) { service.EachStore(t, testMergePatchIsPut) }

func testMergePatchIsPut(t *testing.T, fresh service.NewStore) {
	s := service.New(t, fresh)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	s.Must(token, http.MethodPost, "/api/v1/batch?context=main", `{"operations": [
		{"type": "sites", "object": {"id": "s", "name": "S"}}, {"type": "sites", "object": {"id": "r", "name": "R"}},
		{"type": "lineitems", "object": {"id": "a", "name": "L"}}, {"type": "lineitems", "object": {"id": "b", "name": "L"}}]}`, http.StatusOK)
	random := rand.New(rand.NewPCG(service.TestSeed(t), 5))
	const a, b = "/api/v1/lineitems/a?context=main", "/api/v1/lineitems/b?context=main"
	statuses := map[int]int{}
	for range 150 {
		patch := randomPatch(random)
		read := s.Must(token, http.MethodGet, b, "", http.StatusOK)
		put := map[string]any{}
		for name, value := range patch {
			if put[name] = value; value != nil {
				put[name] = document.MergePatch(nil, read[name], value)
			}
		}
		patched, replaced := s.Ask(token, http.MethodPatch, a, service.JSONText(patch), nil), s.Ask(token, http.MethodPut, b, service.JSONText(put), nil)
		statuses[patched.Status]++
		if patched.Status != replaced.Status {
			t.Fatalf("PATCH of %s: %d %s\nPUT of %s: %d %s", service.JSONText(patch), patched.Status, patched.Body, service.JSONText(put), replaced.Status, replaced.Body)
		}
		if one, other := withoutIdentity(t, patched), withoutIdentity(t, replaced); patched.Status == http.StatusOK && one != other {
			t.Fatalf("PATCH of %s: %s\nPUT of %s: %s", service.JSONText(patch), one, service.JSONText(put), other)
		}
	}
	if statuses[http.StatusOK] < 50 || len(statuses) < 2 {
		t.Errorf("the answers prove little: %v", statuses)
	}
}

// randomPatch changes members of a line item that have defaults, that are complete, that
// are references or whose names are data.
func randomPatch(random *rand.Rand) map[string]any {
	some := func(values ...any) any { return values[random.IntN(len(values))] }
	object := func(members map[string]func() any) any {
		if random.IntN(10) == 0 {
			return nil
		}
		out := map[string]any{}
		for name, value := range members {
			if random.IntN(2) == 0 {
				out[name] = value()
			}
		}
		return out
	}
	siteTarget := func() any {
		return object(map[string]func() any{
			"sites": func() any {
				return some(nil, []any{}, []any{"s"}, []any{map[string]any{"id": "r"}, "s"}, []any{"none"})
			},
			"negated": func() any { return some(nil, true, false) },
		})
	}
	targeting := func() any {
		return object(map[string]func() any{
			"siteTarget": siteTarget,
			"keywordTargets": func() any {
				return some(nil, []any{}, []any{map[string]any{"keywords": []any{"k"}, "notKeywords": nil}})
			},
			"dateTarget": func() any {
				return object(map[string]func() any{"timeZoneSetting": func() any { return some(nil, "USER", "SYSTEM") }})
			},
			"keyValueTargets": func() any { return some(nil, []any{map[string]any{"entries": map[string]any{"k": []any{"v"}}}}) },
		})
	}
	money := func() any {
		return object(map[string]func() any{"amount": func() any { return some(nil, 1, 2.5) }, "currency": func() any { return some(nil, "NOK", "USD") }})
	}
	all := map[string]func() any{
		"name":             func() any { return some("L", "M") },
		"type":             func() any { return some(nil, "AUCTION") },
		"targeting":        targeting,
		"bidSpecification": func() any { return object(map[string]func() any{"cpm": money, "cpc": money}) },
	}
	patch := map[string]any{}
	for name, value := range all {
		if random.IntN(2) == 0 {
			patch[name] = value()
		}
	}
	return patch
}

// withoutIdentity is an object without what two objects with the same values differ in.
func withoutIdentity(t *testing.T, a *service.Answer) string {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal(a.Body, &object); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"id", "url", "createTime", "updateTime"} {
		delete(object, name)
	}
	return service.JSONText(object)
}
