package program

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/integration/mongodb"
	"marquee/integration/process"
	"marquee/integration/service"
)

// This file is about what a database has and a file has not: several processes
// at once, no folder of its own, and a URI with a password in it.

// procBareServe starts the service in a folder, without a secret key that
// would be given to it, and waits until it listens or ends.
func procBareServe(t *testing.T, dir, store string, env ...string) *process.Process {
	t.Helper()
	cmd := process.Command(t, append([]string{"MARQUEE_SECRET_KEY="}, env...), "serve", "--addr", "127.0.0.1:0", "--log-format", "json", "--store", store)
	cmd.Dir = dir
	p := process.Launch(t, cmd)
	if line := p.Stderr.Await(t, 0, service.Says("listening")); line != "" {
		p.URL, _ = service.Entry(line)["url"].(string)
	}
	return p
}

// refuses checks that a process has ended, and what it says.
func refuses(p *process.Process, says ...string) {
	p.TB.Helper()
	refusesWith(p, 1, says...)
}

func refusesWith(p *process.Process, status int, says ...string) {
	p.TB.Helper()
	p.Ends(status)
	process.Wants(p.TB, p.Stderr.String(), says...)
	process.Shuns(p.TB, p.Stdout.String()+p.Stderr.String(), "goroutine", "listening")
}

// TestDatabaseKey: the key file is where that of the default store is. Without
// it, or with another one, no second server starts, and none makes another.
func TestDatabaseKey(t *testing.T) {
	t.Parallel()
	store, password := mongodb.URI(t), "MARQUEE_BOOTSTRAP_PASSWORD="+process.Password
	here, elsewhere := t.TempDir(), t.TempDir()
	p := procBareServe(t, here, store, password)
	p.SignIn("admin", process.Password)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/contextserviceconnections/c?context=main",
		`{"name": "C", "contextService": "X", "username": "u", "apiKey": "the secret of the connection"}`)
	file := filepath.Join(here, "marquee-data", "marquee.key")
	key, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("the key file has the mode %v: %v", info.Mode(), err)
	}

	refuses(procBareServe(t, elsewhere, store), "restore it", "--secret-key", filepath.Join("marquee-data", "marquee.key"))
	if left, err := os.ReadDir(elsewhere); err != nil || len(left) > 0 {
		t.Errorf("the server that was refused made %v %v", left, err)
	}
	const cure = "configure the secret key that this store was made with"
	refuses(procBareServe(t, elsewhere, store, "MARQUEE_SECRET_KEY="+process.Key), "encrypted with another key", cure)
	refuses(procBareServe(t, elsewhere, store, "MARQUEE_SECRET_KEY_FILE="+process.File(t, filepath.Join(elsewhere, "wrong"), process.Key)), "encrypted with another key", cure)

	for _, q := range []*process.Process{
		procBareServe(t, here, store),
		procBareServe(t, elsewhere, store, "MARQUEE_SECRET_KEY="+strings.TrimSpace(string(key))),
		procBareServe(t, elsewhere, store, "MARQUEE_SECRET_KEY_FILE="+file),
	} {
		q.Token = p.Token
		a := q.Ask(http.StatusOK, http.MethodGet, "/api/v1/contextserviceconnections/c?context=main", "")
		process.Wants(t, string(a.Body), "the secret of the connection")
		q.Stop()
	}
	p.Ask(http.StatusOK, http.MethodGet, "/readyz", "") // it has not noticed the others
	p.Stop()
}

// TestDatabaseFirstStarts starts several servers at once on an empty database:
// one of them makes the first network and user, and all serve.
func TestDatabaseFirstStarts(t *testing.T) {
	t.Parallel()
	process.Binary(t) // only this goroutine can skip the test
	rounds := 2
	if testing.Short() {
		rounds = 1
	}
	for range rounds {
		store := mongodb.URI(t)
		servers := make([]*process.Process, 3)
		var wait sync.WaitGroup
		for i := range servers {
			wait.Go(func() {
				servers[i] = process.Launch(t, process.Command(t, nil, "serve", "--demo", "--addr", "127.0.0.1:0", "--log-format", "json", "--store", store))
			})
		}
		wait.Wait()
		var maker *process.Process
		for _, p := range servers {
			p.Listens()
			p.Stdout.Await(t, 0, func(line string) bool { return strings.Contains(line, "pageSize=2") }) // the greeting's end
			if out := p.Stdout.String(); strings.Contains(out, "Created the network") {
				if maker != nil {
					t.Error("two servers made the first user")
				}
				maker = p
			} else if strings.Contains(out, "The password is") {
				process.Wants(t, out, "another server has already created the first network and user", "ignore any password")
			}
		}
		if maker == nil {
			t.Fatal("no server made the first user")
		}
		password := maker.MadePassword()
		for _, p := range servers {
			p.SignIn("admin", password)
			list, _ := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/users?context=main", "").JSON().(map[string]any)
			if fmt.Sprint(list["totalCount"]) != "3" { // with those of the demonstration data
				t.Errorf("there are %v users", list["totalCount"])
			}
		}
		for _, p := range servers {
			p.Stop()
		}
	}
}

// TestDatabaseFirstStartsWithKeys starts several servers at once on an empty
// database, of which each would make a key of its own: one serves, and the
// others are refused at once instead of failing later.
func TestDatabaseFirstStartsWithKeys(t *testing.T) {
	t.Parallel()
	process.Binary(t) // only this goroutine can skip the test
	rounds := 2
	if testing.Short() {
		rounds = 1
	}
	for range rounds {
		store := mongodb.URI(t)
		servers, dirs := make([]*process.Process, 3), []string{t.TempDir(), t.TempDir(), t.TempDir()}
		var wait sync.WaitGroup
		for i := range servers {
			wait.Go(func() {
				servers[i] = procBareServe(t, dirs[i], store, "MARQUEE_BOOTSTRAP_PASSWORD="+process.Password)
			})
		}
		wait.Wait()
		served := 0
		for i, p := range servers {
			if p.URL == "" {
				p.Ends(1)
				if said := p.Stderr.String(); !strings.Contains(said, "restore it") && !strings.Contains(said, "encrypted with another key") {
					t.Errorf("a server with another key says %s", said)
				}
				continue
			}
			served++
			p.SignIn("admin", process.Password)
			p.Stop()
			q := procBareServe(t, dirs[i], store)
			q.Token = p.Token
			q.Ask(http.StatusOK, http.MethodGet, "/api/v1/networks", "")
			q.Stop()
		}
		if served != 1 {
			t.Errorf("%d servers with keys of their own serve one database", served)
		}
		// In one folder, they share the key that one of them makes.
		store = mongodb.URI(t)
		dir := t.TempDir()
		for i := range servers {
			wait.Go(func() {
				servers[i] = procBareServe(t, dir, store, "MARQUEE_BOOTSTRAP_PASSWORD="+process.Password)
			})
		}
		wait.Wait()
		for _, p := range servers {
			if p.URL == "" {
				t.Fatalf("a server that shares the key is refused: %s", p.Stderr)
			}
			p.SignIn("admin", process.Password)
			p.Stop()
		}
	}
}

// TestDatabaseRefused: mistakes in a database or its URI are named, with
// the cure, and without the password.
func TestDatabaseRefused(t *testing.T) {
	t.Parallel()
	const secret = "hunter2secret"
	good := mongodb.URI(t)
	with := func(uri, user, option string) string {
		scheme, rest, _ := strings.Cut(uri, "://")
		separator := "?"
		if strings.Contains(rest, "?") {
			separator = "&"
		}
		return scheme + "://" + user + rest + separator + option
	}
	for _, c := range []struct {
		name, uri string
		says      []string
	}{
		{"nobody listens", "mongodb://marquee:" + secret + "@127.0.0.1:1/marquee?serverSelectionTimeoutMS=300", []string{"no server of MongoDB can be reached", "check the hosts"}},
		{"password", with(good, "marquee:"+secret+"@", "authSource=admin&serverSelectionTimeoutMS=3000"), []string{"user and password", "authSource"}},
		{"set", "mongodb://marquee:" + secret + "@" + strings.Split(strings.Split(good, "://")[1], "/")[0] + "/marquee?replicaSet=other&serverSelectionTimeoutMS=300", []string{"no server of MongoDB can be reached", "replicaSet"}},
		{"TLS", with(good, "", "tls=true&serverSelectionTimeoutMS=1000"), []string{"tls"}},
		{"TLS file", with(good, "marquee:"+secret+"@", "tls=true&tlsCAFile=/nowhere/ca.pem"), []string{"--store: ", "/nowhere/ca.pem", "cannot be"}},
		{"no database", "mongodb://marquee:" + secret + "@localhost/?replicaSet=rs0", []string{"--store: ", "names no database", "mongodb://HOST/DATABASE"}},
		{"percent sign", "mongodb://marquee:" + secret + "%@localhost/marquee", []string{"--store: ", "percent-encoded"}},
		{"at sign", "mongodb://marquee:" + secret + "@" + secret + "@localhost/marquee", []string{"--store: ", "percent-encoded"}},
		{"option", "mongodb://marquee:" + secret + "@localhost/marquee?maxPoolSize=" + secret, []string{"--store: ", "connection string"}},
		{"no host", "mongodb://marquee:" + secret + "@/marquee", []string{"--store: ", "connection string"}},
		{"SRV", "mongodb+srv://marquee:" + secret + "@nowhere.invalid/marquee", []string{"cannot be looked up", "mongodb+srv://"}},
		{"standalone", with(mongodb.StandaloneURI(t), "", "serverSelectionTimeoutMS=3000"), []string{"standalone", "--replSet"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, p := range []*process.Process{
				process.Launch(t, process.Command(t, nil, "serve", "--addr", "127.0.0.1:0", "--log-level", "debug", "--store", c.uri)),
				process.Launch(t, process.Command(t, []string{"MARQUEE_STORE=" + c.uri}, "init")),
			} {
				if strings.HasPrefix(c.says[0], "--store: ") { // as other settings that are refused
					refusesWith(p, 2, c.says...)
				} else {
					refuses(p, c.says...)
				}
				process.Shuns(t, p.Stdout.String()+p.Stderr.String(), secret, "The password is")
			}
		})
	}
}

// TestDatabaseOfSomethingElse: a database that is no store of this program, or
// of a newer one, is refused and left as it is.
func TestDatabaseOfSomethingElse(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, c := range map[string]struct {
		spoil bson.D
		says  string
	}{
		"other": {bson.D{{Key: "insert", Value: "theirs"}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: 1}}}}}, "another program"},
		"newer": {bson.D{{Key: "update", Value: "marquee.store"}, {Key: "updates", Value: bson.A{bson.D{{Key: "q", Value: bson.D{{Key: "version", Value: bson.D{{Key: "$exists", Value: true}}}}},
			{Key: "u", Value: bson.D{{Key: "$set", Value: bson.D{{Key: "version", Value: int64(999)}}}}}}}}}, "newer Marquee (version 999"},
	} {
		t.Run(name, func(t *testing.T) {
			uri := mongodb.URI(t)
			if name == "newer" {
				process.Serve(t, uri).Stop()
			}
			db, err := service.ConnectDatabase(uri)
			if err != nil {
				t.Fatal(err)
			}
			camera := &service.MongoCamera{DB: db}
			defer camera.Close()
			if err := db.RunCommand(ctx, c.spoil).Err(); err != nil {
				t.Fatal(err)
			}
			before, err := camera.Picture()
			if err != nil {
				t.Fatal(err)
			}
			procServeFails(t, uri, c.says)
			if after, err := camera.Picture(); err != nil || after != before {
				t.Errorf("the database was changed: %v", err)
			}
		})
	}
}
