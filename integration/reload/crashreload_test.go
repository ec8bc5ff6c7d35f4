package reload

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"marquee/integration/process"
	"marquee/integration/service"
)

// crashReloads are the sets that the process is killed in the middle of: one
// that has words and unique values filled in, one that seals secrets, and one
// that opens them and fills in index entries.
var crashReloads = []struct{ name, resource, code string }{
	{"fills", `, "search": ["name", "code"], "index": ["labels"], "unique": ["code"]`, plainKey},
	{"seals", `, "search": ["name"], "index": ["name"]`, secretKey},
	{"opens", `, "search": ["code"], "index": ["labels"], "unique": ["code"]`, openKey},
}

// TestCrashReload kills the process in the middle of reloads that fill in words,
// seal secrets and open them, at random moments. After the next start with
// that set, all values are read, and each filter, search, count and unique value
// is what a scan of the objects finds.
func TestCrashReload(t *testing.T) { service.EachStore(t, testCrashReload) }

func testCrashReload(t *testing.T, fresh service.NewStore) {
	process.SkipCoveredBy(t, "'make crash'")
	const objects = 3000
	rounds := min(process.Number(t, "MARQUEE_CRASHES", len(crashReloads)), 4*len(crashReloads))
	seed := process.Number(t, "MARQUEE_CRASH_SEED", int(time.Now().UnixNano()))
	t.Logf("MARQUEE_CRASH_SEED=%d", seed)
	random := rand.New(rand.NewPCG(uint64(seed), 2))
	store, dir := process.CrashStore(t, fresh), t.TempDir()
	file := filepath.Join(dir, "venues.json")
	set := func(resource, code string) {
		t.Helper()
		content, err := service.TypeWith("venues", resource, `"name": {"type": "string"}, "code": `+code+`, "labels": {"type": "array", "items": {"type": "string"}}`).Open("venues.json")
		if err != nil {
			t.Fatal(err)
		}
		defer content.Close()
		text := make([]byte, 4<<10)
		n, _ := content.Read(text)
		next := process.File(t, filepath.Join(t.TempDir(), "next"), string(text[:n]))
		if err := os.Rename(next, file); err != nil {
			t.Fatal(err)
		}
	}
	set("", plainKey)
	p := process.Serve(t, store, "--application", "none", "--schemas", dir)
	p.SignIn("admin", process.Password)
	token, written := p.Token, map[string]string{}
	for from := 0; from < objects; from += 1000 {
		var list []string
		for i := from; i < from+1000; i++ {
			id := fmt.Sprintf("v%d", i)
			written[id] = fmt.Sprintf("geheim %d", i)
			list = append(list, fmt.Sprintf(`{"id": %q, "name": %q, "code": %q, "labels": [%q]}`, id, reloadWords[i%5], written[id], reloadWords[i%7]))
		}
		p.Ask(http.StatusOK, http.MethodPost, "/api/v1/venues?context=main", "["+strings.Join(list, ",")+"]")
	}
	// A reload that is left alone says how long one takes.
	from, began := p.Stderr.Mark(), time.Now()
	set(`, "search": ["labels"]`, plainKey)
	p.Stderr.Await(t, from, service.Says(process.Loaded))
	whole, unfinished := time.Since(began), 0
	for round := range rounds {
		c := crashReloads[round%len(crashReloads)]
		from = p.Stderr.Mark()
		set(c.resource, c.code)
		// Writes go on until the process is killed.
		after := time.Now().Add(whole/4 + time.Duration(random.Int64N(int64(whole))))
		for i := 0; time.Now().Before(after); i++ {
			id, code := fmt.Sprintf("v%d", i%50), fmt.Sprintf("geheim %d changed %d", i, round)
			a, err := p.Send(http.MethodPost, "/api/v1/venues/"+id+"?context=main", nil, []byte(fmt.Sprintf(`{"code": %q}`, code)))
			if err != nil || a.Status != http.StatusOK {
				t.Fatalf("%s: beside the reload: %v %v", c.name, err, a)
			}
			written[id] = code
		}
		p.Kill()
		if !strings.Contains(p.Stderr.String()[from:], process.Loaded) {
			unfinished++
		}
		process.EndTransactions(t, store)
		if round > 0 {
			process.EndLease(t, store)
		}
		p = process.Serve(t, store, "--application", "none", "--schemas", dir)
		p.Token = token
		crashReloadEquals(p, written, c.name, c.code == secretKey)
		if t.Failed() {
			return
		}
	}
	p.Stop()
	t.Logf("a reload took %v; %d of %d had not ended when the process was killed", whole, unfinished, rounds)
}

// crashReloadEquals compares what is found with a scan of the objects, and that
// with what was written.
func crashReloadEquals(p *process.Process, written map[string]string, what string, secret bool) {
	p.TB.Helper()
	list := func(parameters string) (objects []map[string]any, total string) {
		for cursor := ""; ; {
			a := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/venues?context=main&pageSize=1000&orderBy=id&"+parameters+cursor, "")
			answer, _ := a.JSON().(map[string]any)
			for _, object := range answer["results"].([]any) {
				objects = append(objects, object.(map[string]any))
			}
			next, more := answer["nextCursor"].(string)
			if total = fmt.Sprint(answer["totalCount"]); !more {
				return objects, total
			}
			cursor = "&cursor=" + next
		}
	}
	all, total := list("")
	if len(all) != len(written) || total != fmt.Sprint(len(written)) {
		p.TB.Errorf("%s: %d objects, %s counted, instead of %d", what, len(all), total, len(written))
	}
	for _, object := range all {
		if id := fmt.Sprint(object["id"]); object["code"] != written[id] {
			p.TB.Errorf("%s: the code of %s is %v instead of %s", what, id, object["code"], written[id])
		}
	}
	finds := func(parameters string, want func(object map[string]any) bool) {
		p.TB.Helper()
		var ids, found []string
		for _, object := range all {
			if want(object) {
				ids = append(ids, fmt.Sprint(object["id"]))
			}
		}
		objects, count := list(parameters)
		for _, object := range objects {
			found = append(found, fmt.Sprint(object["id"]))
		}
		if !slices.Equal(found, ids) || count != fmt.Sprint(len(ids)) {
			p.TB.Errorf("%s: %s finds %d objects, and counts %s, instead of %d", what, parameters, len(found), count, len(ids))
		}
	}
	for _, word := range []string{"north", "east", "garden"} {
		finds("where=name="+word, func(object map[string]any) bool { return object["name"] == word })
		finds("where=labels="+word, func(object map[string]any) bool { return slices.Contains(textsOf(object["labels"]), word) })
		if what != "opens" {
			finds("q="+word, func(object map[string]any) bool { return object["name"] == word })
		}
	}
	if secret {
		finds("q=geheim", func(map[string]any) bool { return false })
		p.Ask(http.StatusBadRequest, http.MethodGet, "/api/v1/venues?context=main&where=code=x", "")
		if history := string(p.Ask(http.StatusOK, http.MethodGet, "/api/v1/audit?context=main&type=venues&pageSize=1000", "").Body); strings.Contains(history, "geheim") {
			p.TB.Errorf("%s: the history shows a secret", what)
		}
		return
	}
	for _, word := range []string{"geheim", "changed", "2999"} {
		finds("q="+word, func(object map[string]any) bool {
			return slices.ContainsFunc(strings.Fields(fmt.Sprint(object["code"])), func(one string) bool { return strings.HasPrefix(one, word) })
		})
	}
	for i := 0; i < len(all); i += 1 + len(all)/60 {
		body, _ := json.Marshal(map[string]any{"code": all[i]["code"]})
		p.Ask(http.StatusUnprocessableEntity, http.MethodPost, "/api/v1/venues/another?context=main&validateOnly=true", string(body))
	}
	p.Ask(http.StatusOK, http.MethodPost, "/api/v1/venues/another?context=main&validateOnly=true", `{"code": "nobody's"}`)
}
