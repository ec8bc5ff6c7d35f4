package program

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"marquee/integration/process"
)

// sqliteStore is the URI of a new store in a folder of its own.
func sqliteStore(t *testing.T) (uri, folder string) {
	t.Helper()
	folder = t.TempDir()
	return "sqlite:" + filepath.Join(folder, "marquee.db"), folder
}

// clients write notes until end is called. Recorded is what was confirmed, by the path of the
// object.
type clients struct {
	mu       sync.Mutex
	recorded map[string]string
	n        atomic.Int64
	// wrote has a value after writes that were confirmed, and is closed when nobody writes.
	wrote chan struct{}
	end   func()
}

// await waits until a number of writes more has begun.
func (c *clients) await(t *testing.T, more int64) {
	t.Helper()
	for until := c.n.Load() + more; c.n.Load() < until; {
		if _, writing := <-c.wrote; !writing {
			t.Fatal("the clients have ended")
		}
	}
}

// record returns a copy of what was confirmed until now.
func (c *clients) record() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.recorded)
}

// write starts clients, each of which writes one new object after another.
func write(p *process.Process) *clients { return writeFrom(p, 0) }

// writeFrom is write with numbers of the objects that begin after one.
func writeFrom(p *process.Process, number int64) *clients {
	c := &clients{recorded: map[string]string{}, wrote: make(chan struct{}, 1)}
	c.n.Store(number)
	stop := make(chan struct{})
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				path := fmt.Sprintf("/api/v1/advertisers/a%d?context=main", c.n.Add(1))
				a, err := p.Send(http.MethodPost, path, nil, []byte(`{"name": "`+strings.Repeat("N", 50)+`"}`))
				if err != nil {
					return // it was killed
				}
				if a.Status != http.StatusCreated {
					p.TB.Errorf("a write beside a backup: %d %s", a.Status, a.Body)
					return
				}
				c.mu.Lock()
				c.recorded[path] = a.Header.Get("ETag")
				c.mu.Unlock()
				select {
				case c.wrote <- struct{}{}:
				default:
				}
			}
		})
	}
	go func() {
		running.Wait()
		close(c.wrote)
	}()
	c.end = func() {
		close(stop)
		running.Wait()
	}
	return c
}

// TestRestoreDrill: a store that is destroyed is restored from a backup that was made while it
// was written to. All that was confirmed before the backup began is there, with its entity
// tags, its history, the files of assets and idempotency keys; the store has no faults, and the
// file of the service serves on.
func TestRestoreDrill(t *testing.T) {
	uri, folder := sqliteStore(t)
	at, backups := []string{"--store", uri}, t.TempDir()
	p, private := privately(t, uri, "--backup-age", "1ns")
	process.Wants(t, string(p.Ask(http.StatusOK, http.MethodGet, "/readyz", "").Body), `"backup":"no backup was made yet"`)
	p.Creative()
	upload := p.Uploads("f", "a.html", []byte("<!doctype html>"))
	keyed := func(name, replayed string) string {
		t.Helper()
		a, err := p.Send(http.MethodPost, "/api/v1/advertisers?context=main", http.Header{"Idempotency-Key": {"drill"}}, []byte(`{"name": "`+name+`"}`))
		if err != nil || a.Header.Get("Idempotency-Replayed") != replayed {
			t.Fatal(a, err)
		}
		return string(a.Body)
	}
	once := keyed("Once", "")
	writers := write(p)
	writers.await(t, 50)
	before := writers.record()
	printed := process.Run(t, nil, append([]string{"backup", backups, "--json", "--quiet"}, at...)...)
	writers.await(t, 10)
	writers.end()
	var made struct {
		Path      string
		Objects   map[string]int64
		SecretKey struct{ Fits bool }
	}
	if err := json.Unmarshal([]byte(printed), &made); err != nil {
		t.Fatal(err, printed)
	}
	if n := made.Objects["advertisers"]; n < int64(len(before)) || n > writers.n.Load() || made.Objects["assets"] != 1 || !made.SecretKey.Fits {
		t.Errorf("the backup holds %s, after %d of %d writes", printed, len(before), writers.n.Load())
	}
	process.Wants(t, string(p.Ask(http.StatusOK, http.MethodGet, "/readyz", "").Body), `"backup":"the last good backup was made at 2`, "longer ago than 1ns")
	awaitMetric(p, private, "marquee_backup_last_timestamp_seconds > 0")
	for _, path := range []string{made.Path, made.Path + ".json"} {
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v %v", path, info, err)
		}
	}
	process.Wants(t, process.Fails(t, nil, append([]string{"restore", made.Path, "--force"}, at...)...), "stop it first")
	token := p.Token
	p.Kill()
	process.Wants(t, process.Fails(t, nil, append([]string{"restore", made.Path}, at...)...), "--force replaces it")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.WriteFile(filepath.Join(folder, "marquee.db"+suffix), []byte("destroyed"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	process.Wants(t, process.Run(t, nil, append([]string{"restore", made.Path, "--force"}, at...)...),
		"application advertising", fmt.Sprintf("%d advertisers", made.Objects["advertisers"]), "All sessions have ended")
	process.Wants(t, process.Run(t, nil, append([]string{"check"}, at...)...), "nothing is wrong")
	p = process.Serve(t, uri)
	p.Token = token
	p.Ask(http.StatusUnauthorized, http.MethodGet, "/api/v1/networks", "")
	p.SignIn("admin", process.Password)
	if again := keyed("Once", "true"); again != once {
		t.Errorf("a repetition of a request from before the backup: %s instead of %s", again, once)
	}
	process.Wants(t, keyed("Another", ""), `"error.idempotency.key.reused"`)
	for path, tag := range before {
		if a := p.Ask(http.StatusOK, http.MethodGet, path, ""); a.Header.Get("ETag") != tag {
			t.Errorf("%s has the entity tag %s instead of %s", path, a.Header.Get("ETag"), tag)
		}
		id := strings.TrimSuffix(filepath.Base(path), "?context=main")
		process.Wants(t, string(p.Ask(http.StatusOK, http.MethodGet, "/api/v1/audit?context=main&type=advertisers&id="+id, "").Body), `"audit.object.created"`)
	}
	file, _ := upload.JSON().(map[string]any)["htmlUrls"].(map[string]any)["a.html"].(string)
	if i := strings.Index(file, "/delivery/"); i < 0 || string(p.Ask(http.StatusOK, http.MethodGet, file[i:], "").Body) != "<!doctype html>" {
		t.Errorf("the file of the asset %s", file)
	}
	if entries, err := os.ReadDir(folder); err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.Contains(e.Name(), ".resto") }) {
		t.Errorf("left beside the store: %v %v", entries, err)
	}
	p.Stop()
}

// namesIn returns the names of the files in a folder, also those of locks.
func namesIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// contentOf returns the contents of the files in a folder, by name, without those of locks.
func contentOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(folder)
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".lock") {
			continue
		}
		content, wrong := os.ReadFile(filepath.Join(folder, entry.Name()))
		if wrong != nil {
			t.Fatal(wrong)
		}
		files[entry.Name()] = string(content)
	}
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestRestoreRefusals: a file that is no sound backup of the application, or whose key is
// missing, is refused with the reason, and neither the store nor the backup is changed.
func TestRestoreRefusals(t *testing.T) {
	uri, folder := sqliteStore(t)
	at, place := []string{"--store", uri}, t.TempDir()
	run := func(args ...string) string { return process.Run(t, nil, append(args, at...)...) }
	p := process.Serve(t, uri)
	p.Creative()
	p.Stop()
	good := filepath.Join(place, "good.db")
	run("backup", good)
	content, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	description, err := os.ReadFile(good + ".json")
	if err != nil {
		t.Fatal(err)
	}
	otherKey := filepath.Join(place, "other.key")
	if err := os.WriteFile(otherKey, []byte(process.Key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	encrypted := slices.Clone(content)
	for i := range encrypted {
		encrypted[i] ^= byte(i*7 + 90)
	}
	changed := func(at int, value byte) []byte {
		other := slices.Clone(content)
		other[at] = value
		return other
	}
	elsewhere := filepath.Join(place, "elsewhere", "deep")
	for _, more := range [][]string{nil, {"--secret-key-file", otherKey}, {"--secret-key", process.Key}} {
		process.Fails(t, nil, append([]string{"restore", good, "--store", "sqlite:" + filepath.Join(elsewhere, "marquee.db")}, more...)...)
		if entries, err := os.ReadDir(filepath.Dir(elsewhere)); err == nil {
			t.Errorf("a refused restore has left %v", entries)
		}
	}
	for _, c := range []struct {
		name      string
		content   []byte
		described bool
		more      []string
		says      string
	}{
		{"truncated", content[:len(content)/2], true, nil, "it is incomplete"},
		{"truncated without description", content[:len(content)/2], false, nil, "it is incomplete or damaged"},
		{"less than a page", content[:1000], false, nil, "it is incomplete or damaged"},
		{"empty", nil, false, nil, "there is no store"},
		{"foreign", []byte(strings.Repeat("foreign ", 1000)), false, nil, "it is not an SQLite database"},
		{"encrypted", encrypted, true, nil, "it is not an SQLite database"},
		{"encrypted without description", encrypted, false, nil, "it is not an SQLite database"},
		{"of another program", changed(68, 7), false, nil, "it is an SQLite database of another program"},
		{"newer", changed(63, 99), false, nil, "newer Marquee (version 99"},
		{"changed", changed(len(content)-10, content[len(content)-10]^1), true, nil, "it was changed, or is damaged"},
		{"damaged", append(slices.Clone(content[:8192]), append(make([]byte, 64<<10), content[8192+64<<10:]...)...), false, nil, "the file is damaged"},
		{"another application", content, true, []string{"--application", "none"}, "the store was made for the application advertising"},
		{"another key", content, true, []string{"--secret-key-file", otherKey}, "the secret key is not that of the backup"},
		{"no key", content, true, []string{"--secret-key-file", filepath.Join(place, "missing.key")}, "the secret key cannot be used"},
		{"a description that cannot be read", content, false, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := filepath.Join(t.TempDir(), "bad.db")
			if err := os.WriteFile(bad, c.content, 0o600); err != nil {
				t.Fatal(err)
			}
			if c.described {
				if err := os.WriteFile(bad+".json", description, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if c.says == "" {
				if err := os.WriteFile(bad+".json", []byte("{"), 0o600); err != nil {
					t.Fatal(err)
				}
				c.says = "cannot be read"
			}
			here, there, names := contentOf(t, folder), contentOf(t, filepath.Dir(bad)), namesIn(t, folder)
			said := process.Fails(t, nil, append(append([]string{"restore", bad, "--force"}, at...), c.more...)...)
			process.Wants(t, said, "nothing was restored to ", c.says)
			process.Shuns(t, said, "sqlite3")
			if !slices.Equal(names, namesIn(t, folder)) || !maps.Equal(here, contentOf(t, folder)) || !maps.Equal(there, contentOf(t, filepath.Dir(bad))) {
				t.Errorf("files were changed: %v %v", slices.Sorted(maps.Keys(contentOf(t, folder))), slices.Sorted(maps.Keys(contentOf(t, filepath.Dir(bad)))))
			}
		})
	}
	process.Wants(t, process.Fails(t, nil, append([]string{"restore", filepath.Join(folder, "marquee.db"), "--force"}, at...)...), "is the store itself")
	left := process.File(t, filepath.Join(folder, "marquee.db.restoring"), string(content))
	process.Wants(t, process.Fails(t, nil, append([]string{"restore", left, "--force"}, at...)...), "name the backup")
	if kept, err := os.ReadFile(left); err != nil || !slices.Equal(kept, content) {
		t.Errorf("the file that was named was changed: %v", err)
	}
	other := filepath.Join(t.TempDir(), "a", "other.db")
	process.Wants(t, process.Run(t, nil, "restore", good, "--store", "sqlite:"+other, "--secret-key-file", filepath.Join(folder, "marquee.key")), "restored to")
}

// TestRestoredSessions: with --keep-sessions, tokens remain valid, and without it, none does.
func TestRestoredSessions(t *testing.T) {
	process.SkipLong(t)
	uri, _ := sqliteStore(t)
	good := filepath.Join(t.TempDir(), "good.db")
	at := []string{"--store", uri}
	p := process.Serve(t, uri)
	form := http.Header{"Content-Type": {"application/json"}}
	var session struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
	}
	a, err := p.Authenticate("admin", process.Password)
	if err != nil || json.Unmarshal(a.Body, &session) != nil {
		t.Fatal(a, err)
	}
	api := strings.Fields(process.Run(t, nil, append([]string{"token", "add", "Backup", "--user", "admin", "--role", "Administrator", "--network", "main"}, at...)...))
	token := api[slices.IndexFunc(api, func(word string) bool { return strings.HasPrefix(word, "mq_") })]
	process.Run(t, nil, append([]string{"backup", good}, at...)...)
	p.Stop()
	for _, keep := range []bool{true, false} {
		args := append([]string{"restore", good, "--force"}, at...)
		status := http.StatusUnauthorized
		if keep {
			args, status = append(args, "--keep-sessions"), http.StatusOK
		}
		process.Run(t, nil, args...)
		p := process.Serve(t, uri)
		for _, p.Token = range []string{session.Access, token} {
			p.Ask(status, http.MethodGet, "/api/v1/networks", "")
		}
		p.Token = ""
		body := []byte(`{"grant_type": "refresh_token", "refresh_token": "` + session.Refresh + `"}`)
		if a, err := p.Send(http.MethodPost, "/api/authenticate", form, body); err != nil || (a.Status == http.StatusOK) != keep {
			t.Errorf("a refresh token, with --keep-sessions=%v: %v %v", keep, a, err)
		}
		p.Stop()
	}
}

// TestRestoredPositions: a position in the changes that was made before a restore is refused,
// also when there have been more changes since.
func TestRestoredPositions(t *testing.T) {
	uri, _ := sqliteStore(t)
	good := filepath.Join(t.TempDir(), "good.db")
	at := []string{"--store", uri}
	p := process.Serve(t, uri)
	p.SignIn("admin", process.Password)
	process.Run(t, nil, append([]string{"backup", good}, at...)...)
	create := func(path string) {
		p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/advertisers/"+path+"?context=main", `{"name": "A"}`)
	}
	create("lost")
	var page struct{ Position string }
	a := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/changes?context=main", "")
	if err := json.Unmarshal(a.Body, &page); err != nil {
		t.Fatal(err)
	}
	p.Stop()
	process.Run(t, nil, append([]string{"restore", good, "--force", "--keep-sessions"}, at...)...)
	p = process.Serve(t, uri)
	p.SignIn("admin", process.Password)
	refused := func() {
		t.Helper()
		a = p.Ask(http.StatusBadRequest, http.MethodGet, "/api/v1/changes?context=main&after="+page.Position, "")
		process.Wants(t, string(a.Body), "error.position.invalid")
	}
	refused() // it is in the future
	create("missed")
	create("seen")
	refused()
	p.Stop()
}

// TestBackupFolder: a folder has the newest backups of each store, and nothing else is removed
// from it; a target that is not a backup is not replaced.
func TestBackupFolder(t *testing.T) {
	uri, _ := sqliteStore(t)
	at, folder := []string{"--store", uri}, t.TempDir()
	process.Wants(t, process.Fails(t, nil, append([]string{"backup", folder}, at...)...), "there is no store")
	process.Run(t, nil, append([]string{"init", "--bootstrap-password", process.Password}, at...)...)
	for name, content := range map[string]string{"marquee-20200101T000000.000Z.db": "of another", "marquee-20200101T000000.000Z.db.json": `{"store": "/other.db", "sha256": "x"}`,
		"marquee-20200103T000000.000Z.db.json": `{"store": "` + strings.TrimPrefix(uri, "sqlite:") + `", "sha256": "x"}`, // its backup is gone
		"marquee.partial":                      "left", "marquee-20200102T000000.000Z.db": "without description", "other": ""} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var last string
	for range 4 {
		said := process.Run(t, nil, append([]string{"backup", folder, "--keep", "2", "--quiet", "--json"}, at...)...)
		var made struct{ Path string }
		if err := json.Unmarshal([]byte(said), &made); err != nil {
			t.Fatal(err)
		}
		last = made.Path
	}
	files := contentOf(t, folder)
	if len(files) != 4+2*2 || files[filepath.Base(last)] == "" || files["marquee.partial"] != "" || files["marquee-20200101T000000.000Z.db"] == "" {
		t.Errorf("the folder has %v", slices.Sorted(maps.Keys(files)))
	}
	copied := filepath.Join(t.TempDir(), "copy.db") // a run was killed when it replaced a backup
	process.Run(t, nil, append([]string{"backup", copied}, at...)...)
	if err := os.Rename(copied+".json", copied+".partial.json"); err != nil {
		t.Fatal(err)
	}
	process.Run(t, nil, append([]string{"backup", copied}, at...)...)
	if files := contentOf(t, filepath.Dir(copied)); len(files) != 2 || files["copy.db.json"] == "" {
		t.Errorf("the folder of a file has %v", slices.Sorted(maps.Keys(files)))
	}
	for target, says := range map[string]string{
		filepath.Join(folder, "other-than-empty"):                "is not a backup",
		filepath.Join(folder, "missing") + "/":                   "create it",
		filepath.Join(folder, "missing", "copy.db"):              "create it",
		filepath.Join(folder, "marquee-20200102T000000.000Z.db"): "is not a backup",
		strings.TrimPrefix(uri, "sqlite:"):                       "is a file of the store",
		strings.TrimPrefix(uri, "sqlite:") + ".restored":         "is a file of the store",
	} {
		if strings.HasSuffix(target, "empty") {
			if err := os.WriteFile(target, []byte("content"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		process.Wants(t, process.Fails(t, nil, append([]string{"backup", target}, at...)...), "the backup failed: ", says)
	}
	process.Wants(t, process.Fails(t, nil, append([]string{"backup", filepath.Join(folder, "copy.db"), "--keep", "2"}, at...)...), "--keep needs a folder")
	for _, few := range []string{"0", "-1"} {
		process.Wants(t, process.Fails(t, nil, append([]string{"backup", folder, "--keep=" + few}, at...)...), "--keep must be at least 1")
	}
	for _, command := range []string{"backup", "restore"} {
		process.Wants(t, process.Fails(t, nil, command, filepath.Join(folder, "copy.db"), "--store", "mongodb://localhost/x"), "mongo"+map[string]string{"backup": "dump", "restore": "restore"}[command])
	}
}

// TestBackupsAtOnce: of commands that write to one folder at the same time, some make a
// backup, and the others are refused.
func TestBackupsAtOnce(t *testing.T) {
	uri, _ := sqliteStore(t)
	place := t.TempDir()
	process.Run(t, nil, "init", "--bootstrap-password", process.Password, "--store", uri)
	other := "sqlite:" + filepath.Join(t.TempDir(), "marquee.db")
	process.Run(t, nil, "init", "--bootstrap-password", process.Password, "--store", other)
	p := process.Serve(t, uri)
	var commands []*process.Process
	for _, store := range []string{uri, other, uri, uri} {
		commands = append(commands, process.Launch(t, process.Command(t, nil, "backup", place, "--quiet", "--store", store)))
	}
	made := 0
	for _, command := range commands {
		<-command.Exited
		if command.Code == 0 {
			made++
		} else {
			process.Wants(t, command.Printed(), "another backup is being written there")
		}
	}
	found := 0
	for name := range contentOf(t, place) {
		if strings.HasSuffix(name, ".db") {
			found++
		} else if !strings.HasSuffix(name, ".db.json") {
			t.Errorf("left behind: %s", name)
		}
	}
	if made == 0 || found != made {
		t.Errorf("%d commands made %d backups", made, found)
	}
	process.Run(t, nil, "backup", place, "--keep", "1", "--store", uri)
	last, err := filepath.Glob(filepath.Join(place, "*.db"))
	if err != nil || len(last) < 1 || len(last) > 2 { // and that of the other store
		t.Errorf("after --keep 1: %v %v", last, err)
	}
	p.Stop()
}

// TestBackupCrash kills or stops the server, or kills the command, while it makes a backup: what has the name
// of a backup can be restored, the store has lost nothing, and the next run leaves nothing else.
func TestBackupCrash(t *testing.T) {
	process.SkipCoveredBy(t, "'make crash'")
	uri, folder := sqliteStore(t)
	at, place := []string{"--store", uri}, t.TempDir()
	target := filepath.Join(place, "copy.db")
	key := []string{"--secret-key-file", filepath.Join(folder, "marquee.key")}
	rounds := min(process.Number(t, "MARQUEE_CRASHES", 6), 30)
	if testing.Short() {
		rounds = 3
	}
	p := process.Serve(t, uri)
	p.SignIn("admin", process.Password)
	process.Run(t, nil, append([]string{"backup", target}, at...)...)
	process.Run(t, nil, append([]string{"backup", place}, at...)...)
	confirmed := map[string]string{}
	for round := range rounds {
		to := []string{target, place}[round%2]
		writers := writeFrom(p, int64(round)<<32)
		command := process.Launch(t, process.Command(t, nil, append([]string{"backup", to, "--quiet"}, at...)...))
		command.Within(time.Duration(rand.Int64N(int64(150 * time.Millisecond)))) // the moment of the kill, which may be any
		switch round % 3 {
		case 0:
			p.Kill()
			writers.end()
		case 1:
			writers.end()
			p.Stop()
		case 2:
			command.Kill()
			writers.end()
			p.Kill()
		}
		maps.Copy(confirmed, writers.record())
		<-command.Exited
		found := 0
		for name := range contentOf(t, place) {
			if !strings.HasSuffix(name, ".db") {
				continue
			}
			found++
			drill := filepath.Join(t.TempDir(), "drill.db")
			process.Run(t, nil, append([]string{"restore", filepath.Join(place, name), "--store", "sqlite:" + drill}, key...)...)
		}
		if found < 2 {
			t.Errorf("%d backups", found)
		}
		p = process.Serve(t, uri)
		p.SignIn("admin", process.Password)
		for path, tag := range confirmed {
			if a := p.Ask(http.StatusOK, http.MethodGet, path, ""); a.Header.Get("ETag") != tag {
				t.Errorf("%s has the entity tag %s instead of %s", path, a.Header.Get("ETag"), tag)
			}
		}
	}
	process.Run(t, nil, append([]string{"backup", place, "--keep", "1"}, at...)...)
	process.Run(t, nil, append([]string{"backup", target}, at...)...)
	for name := range contentOf(t, place) {
		if base := strings.TrimSuffix(name, ".json"); !strings.HasSuffix(base, ".db") {
			t.Errorf("left behind: %s", name)
		}
	}
	if files := contentOf(t, place); len(files) != 4 {
		t.Errorf("the folder has %v", slices.Sorted(maps.Keys(files)))
	}
	p.Stop()
}

// TestRestoreCrash kills a command that replaces a store: the store is the old one or the new
// one, and the command can be run again.
func TestRestoreCrash(t *testing.T) {
	process.SkipCoveredBy(t, "'make crash'")
	uri, folder := sqliteStore(t)
	at, good := []string{"--store", uri}, filepath.Join(t.TempDir(), "good.db")
	rounds := min(process.Number(t, "MARQUEE_CRASHES", 6), 30)
	if testing.Short() {
		rounds = 3
	}
	p := process.Serve(t, uri)
	p.SignIn("admin", process.Password)
	process.Run(t, nil, append([]string{"backup", good}, at...)...)
	for round := range rounds {
		later := fmt.Sprintf("/api/v1/advertisers/later%d?context=main", round)
		p.Ask(http.StatusCreated, http.MethodPost, later, `{"name": "N"}`)
		p.Kill() // its last writes are in the log
		command := process.Launch(t, process.Command(t, nil, append([]string{"restore", good, "--force"}, at...)...))
		command.Within(time.Duration(rand.Int64N(int64(200 * time.Millisecond)))) // the moment of the kill, which may be any
		command.Kill()
		p = process.Serve(t, uri)
		p.SignIn("admin", process.Password)
		a, err := p.Send(http.MethodGet, later, nil, nil)
		if err != nil || a.Status != http.StatusOK && a.Status != http.StatusNotFound {
			t.Fatal(a, err)
		}
		if ended := strings.Contains(command.Printed(), "restored to"); ended && a.Status != http.StatusNotFound {
			t.Error("the old store after a restore")
		}
	}
	p.Stop()
	process.Run(t, nil, append([]string{"restore", good, "--force"}, at...)...)
	process.Wants(t, process.Run(t, nil, append([]string{"check"}, at...)...), "nothing is wrong")
	for name := range contentOf(t, folder) {
		if strings.Contains(name, ".resto") {
			t.Errorf("left behind: %s", name)
		}
	}
}
