package integration

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
func TestCrashReload(t *testing.T) { eachStore(t, testCrashReload) }

func testCrashReload(t *testing.T, fresh newStore) {
	const objects = 3000
	rounds := min(procNumber(t, "MARQUEE_CRASHES", len(crashReloads)), 4*len(crashReloads))
	seed := procNumber(t, "MARQUEE_CRASH_SEED", int(time.Now().UnixNano()))
	t.Logf("MARQUEE_CRASH_SEED=%d", seed)
	random := rand.New(rand.NewPCG(uint64(seed), 2))
	store, dir := crashStore(t, fresh), t.TempDir()
	file := filepath.Join(dir, "venues.json")
	set := func(resource, code string) {
		t.Helper()
		content, err := typeWith("venues", resource, `"name": {"type": "string"}, "code": `+code+`, "labels": {"type": "array", "items": {"type": "string"}}`).Open("venues.json")
		if err != nil {
			t.Fatal(err)
		}
		defer content.Close()
		text := make([]byte, 4<<10)
		n, _ := content.Read(text)
		next := procFile(t, filepath.Join(t.TempDir(), "next"), string(text[:n]))
		if err := os.Rename(next, file); err != nil {
			t.Fatal(err)
		}
	}
	set("", plainKey)
	p := procServe(t, store, "--schemas", dir)
	p.signIn("admin", procPassword)
	token, written := p.token, map[string]string{}
	for from := 0; from < objects; from += 1000 {
		var list []string
		for i := from; i < from+1000; i++ {
			id := fmt.Sprintf("v%d", i)
			written[id] = fmt.Sprintf("geheim %d", i)
			list = append(list, fmt.Sprintf(`{"id": %q, "name": %q, "code": %q, "labels": [%q]}`, id, reloadWords[i%5], written[id], reloadWords[i%7]))
		}
		p.ask(http.StatusOK, http.MethodPost, "/api/v1/venues?context=main", "["+strings.Join(list, ",")+"]")
	}
	// A reload that is left alone says how long one takes.
	from, began := p.stderr.mark(), time.Now()
	set(`, "search": ["labels"]`, plainKey)
	p.stderr.await(t, from, procSays(procLoaded))
	whole, unfinished := time.Since(began), 0
	for round := range rounds {
		c := crashReloads[round%len(crashReloads)]
		from = p.stderr.mark()
		set(c.resource, c.code)
		// Writes go on until the process is killed.
		after := time.Now().Add(whole/4 + time.Duration(random.Int64N(int64(whole))))
		for i := 0; time.Now().Before(after); i++ {
			id, code := fmt.Sprintf("v%d", i%50), fmt.Sprintf("geheim %d changed %d", i, round)
			a, err := p.send(http.MethodPost, "/api/v1/venues/"+id+"?context=main", nil, []byte(fmt.Sprintf(`{"code": %q}`, code)))
			if err != nil || a.status != http.StatusOK {
				t.Fatalf("%s: beside the reload: %v %v", c.name, err, a)
			}
			written[id] = code
		}
		p.kill()
		if !strings.Contains(p.stderr.String()[from:], procLoaded) {
			unfinished++
		}
		endTransactions(t, store)
		p = procServe(t, store, "--schemas", dir)
		p.token = token
		crashReloadEquals(p, written, c.name, c.code == secretKey)
		if t.Failed() {
			return
		}
	}
	p.stop()
	t.Logf("a reload took %v; %d of %d had not ended when the process was killed", whole, unfinished, rounds)
}

// crashReloadEquals compares what is found with a scan of the objects, and that
// with what was written.
func crashReloadEquals(p *proc, written map[string]string, what string, secret bool) {
	p.tb.Helper()
	list := func(parameters string) (objects []map[string]any, total string) {
		for cursor := ""; ; {
			a := p.ask(http.StatusOK, http.MethodGet, "/api/v1/venues?context=main&pageSize=1000&orderBy=id&"+parameters+cursor, "")
			answer, _ := a.json().(map[string]any)
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
		p.tb.Errorf("%s: %d objects, %s counted, instead of %d", what, len(all), total, len(written))
	}
	for _, object := range all {
		if id := fmt.Sprint(object["id"]); object["code"] != written[id] {
			p.tb.Errorf("%s: the code of %s is %v instead of %s", what, id, object["code"], written[id])
		}
	}
	finds := func(parameters string, want func(object map[string]any) bool) {
		p.tb.Helper()
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
			p.tb.Errorf("%s: %s finds %d objects, and counts %s, instead of %d", what, parameters, len(found), count, len(ids))
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
		p.ask(http.StatusBadRequest, http.MethodGet, "/api/v1/venues?context=main&where=code=x", "")
		if history := string(p.ask(http.StatusOK, http.MethodGet, "/api/v1/audit?context=main&type=venues&pageSize=1000", "").body); strings.Contains(history, "geheim") {
			p.tb.Errorf("%s: the history shows a secret", what)
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
		p.ask(http.StatusUnprocessableEntity, http.MethodPost, "/api/v1/venues/another?context=main&validateOnly=true", string(body))
	}
	p.ask(http.StatusOK, http.MethodPost, "/api/v1/venues/another?context=main&validateOnly=true", `{"code": "nobody's"}`)
}
