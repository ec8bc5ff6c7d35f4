package program

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/store"
	"marquee/integration/mongodb"
	"marquee/integration/process"
	"marquee/integration/service"
)

// TestCopyKilledAtCreation kills copies while they create their SQLite target, at each file that
// appears. What is there is no store, or an incomplete copy, and the same command completes it.
func TestCopyKilledAtCreation(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	from, _ := sqliteStore(t)
	process.Serve(t, from).Stop()
	sizeOf := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil {
			return -1
		}
		return info.Size()
	}
	for _, at := range []struct {
		file string
		size int64
	}{{".lock", 0}, {"", 0}, {"", 1}, {"-wal", 0}, {"-wal", 1}, {"-wal", 50_000}} {
		to, folder := sqliteStore(t)
		args := []string{"copy", "--from", from, "--to", to}
		copies := process.Launch(t, process.Command(t, nil, args...))
		for ended := false; !ended && sizeOf(filepath.Join(folder, "marquee.db"+at.file)) < at.size; runtime.Gosched() {
			select {
			case <-copies.Exited:
				ended = true
			default:
			}
		}
		copies.Kill()
		if copies.Code == 0 {
			t.Errorf("%v: the copy has ended", at)
		}
		said := process.Fails(t, nil, "check", "--store", to)
		if !strings.Contains(said, "there is no store") {
			process.Wants(t, said, "it is an incomplete copy of another store; run the same copy again")
		}
		process.Run(t, nil, args...)
		process.Wants(t, process.Run(t, nil, "check", "--store", to), "nothing is wrong")
	}
}

// TestCopySourceThatIsServed: a source that somebody begins to serve during a copy is not copied
// completely: an SQLite file is locked, and a database is found to be served at the end. The
// copy also works as a user who may only read.
func TestCopySourceThatIsServed(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	interrupted := func(from, to string, meanwhile func()) *process.Process {
		copies := process.Launch(t, process.Command(t, []string{"MARQUEE_TO_SECRET_KEY=" + process.Key, "MARQUEE_FROM_SECRET_KEY=" + process.Key}, "copy", "--from", from, "--to", to))
		copies.Stderr.Await(t, 0, func(line string) bool { return strings.HasPrefix(line, "copying crash_tickets") })
		for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
			if err := copies.Cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if signal == syscall.SIGSTOP {
				meanwhile()
			}
		}
		<-copies.Exited
		return copies
	}
	keyed := []string{"MARQUEE_SECRET_KEY=" + process.Key}
	t.Run("sqlite", func(t *testing.T) {
		from, _ := sqliteStore(t)
		process.ServeWith(t, from, append([]string{"MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password}, keyed...)).Stop()
		fillForCopy(t, from)
		to, _ := sqliteStore(t)
		copies := interrupted(from, to, func() {
			process.Wants(t, process.Fails(t, keyed, "serve", "--addr", "127.0.0.1:0", "--store", from), "another process has it open")
		})
		process.Wants(t, copies.Printed(), "the digests of both stores agree")
	})
	t.Run("mongodb", func(t *testing.T) {
		service.NeedStore(t, "mongodb")
		set := mongodb.NewReplicaSet(t, 1, mongodb.WithAuth())
		from := set.URI("marquee")
		process.Serve(t, from).Stop()
		fillForCopy(t, from)
		user := func(name string, roles bson.A) string {
			command := bson.D{{Key: "createUser", Value: name}, {Key: "pwd", Value: "geheim"}, {Key: "roles", Value: roles}}
			if err := set.Client().Database("admin").RunCommand(t.Context(), command).Err(); err != nil {
				t.Fatal(err)
			}
			return set.URIAs(url.UserPassword(name, "geheim"), "marquee")
		}
		reader := user("reader", bson.A{bson.D{{Key: "role", Value: "read"}, {Key: "db", Value: "marquee"}}})
		env := []string{"MARQUEE_TO_SECRET_KEY=" + process.Key, "MARQUEE_FROM_SECRET_KEY=" + process.Key}
		to, folder := sqliteStore(t)
		said := process.Fails(t, env, "copy", "--from", user("stranger", bson.A{}), "--to", to)
		process.Wants(t, said, "nothing was copied", "grant it the role")
		process.Shuns(t, said, "geheim")
		if made := contentOf(t, folder); len(made) > 0 {
			t.Error("a target was made:", made)
		}
		process.Wants(t, process.Run(t, env, "copy", "--from", reader, "--to", service.NewSQLite(t)), "the digests of both stores agree")
		copies := interrupted(reader, to, func() {
			p := process.Serve(t, from)
			p.SignIn("admin", process.Password)
			p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/advertisers/late?context=main", `{"name": "N"}`)
			p.Stop()
		})
		if said := copies.Printed(); copies.Code == 0 || !strings.Contains(said, "the source was changed while it was copied") {
			t.Error(copies.Code, said)
		}
		process.Wants(t, process.Fails(t, keyed, "check", "--store", to), "it is an incomplete copy of another store")
		again, _ := sqliteStore(t)
		copies = interrupted(reader, again, func() { t.Cleanup(process.Serve(t, from).Kill) })
		if said := copies.Printed(); copies.Code == 0 {
			t.Error(said)
		}
		process.Wants(t, process.Fails(t, keyed, "check", "--store", again), "it is an incomplete copy of another store")
	})
}

// noise reads bytes without an end.
type noise struct{}

func (noise) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(i * i >> 3)
	}
	return len(p), nil
}

// TestCopyMemory copies large files in little memory, in all four directions.
func TestCopyMemory(t *testing.T) {
	process.Measures(t)
	service.EachNoStore(t, func(t *testing.T, fresh service.NewStore) {
		from := fresh(t)
		process.ServeWith(t, from, []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password, "MARQUEE_SECRET_KEY=" + process.Key}).Stop()
		s, err := service.OpenStore(t, from)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"a", "b", "c"} {
			const size = 100 << 20
			err := s.Write(t.Context(), func(tx store.Tx) error {
				return tx.PutBlob(t.Context(), store.Key{Network: "main", ID: id}, size, func() (io.ReadCloser, error) { return io.NopCloser(io.LimitReader(noise{}, size)), nil })
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		eachKind(t, "to", func(t *testing.T, to string) {
			copies := process.Launch(t, process.Command(t, []string{"MARQUEE_FROM_SECRET_KEY=" + process.Key, "MARQUEE_TO_SECRET_KEY=" + process.Key}, "copy", "--from", from, "--to", to))
			peak := int64(0) // not that of its rusage, which begins with the memory of the test
			for running := true; running; {
				select {
				case <-copies.Exited:
					running = false
				case <-time.After(20 * time.Millisecond):
					peak = max(peak, copies.PeakSoFar())
				}
			}
			if copies.Code != 0 {
				t.Fatal(copies.Printed())
			}
			if t.Logf("the peak is %d MiB", peak>>20); peak == 0 || peak > 200<<20 {
				t.Error("that is too much")
			}
		})
	})
}

// TestCopyToFullMongoDB: a target whose disk is full refuses the copy with the reason, at its
// beginning and in its middle. It is no store, and is completed when there is space.
func TestCopyToFullMongoDB(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	service.NeedStore(t, "mongodb")
	from, _ := sqliteStore(t)
	process.Serve(t, from).Stop()
	fillForCopy(t, from)
	set := mongodb.NewReplicaSet(t, 1)
	to, env := set.URI("marquee"), []string{"MARQUEE_TO_SECRET_KEY=" + process.Key}
	copies := []string{"copy", "--from", from, "--to", to}
	full := bson.D{{Key: "errorCode", Value: 14031}}
	refused := func(said, how string) {
		t.Helper()
		process.Wants(t, said, "a disk of MongoDB is full: free space on it", how)
		process.Shuns(t, said, "Fail", "OutOfDiskSpace", "write exception")
	}
	service.Failing(t, set, "insert", full)
	refused(process.Fails(t, env, copies...), "nothing was copied")
	service.Failing(t, set, "insert", nil)
	running := process.Launch(t, process.Command(t, env, copies...))
	running.Stderr.Await(t, 0, func(line string) bool { return strings.HasPrefix(line, "copying crash_tickets") })
	service.Failing(t, set, "insert", full)
	running.Ends(1)
	refused(running.Printed(), "run the same command again to continue")
	service.Failing(t, set, "insert", nil)
	keyed := []string{"MARQUEE_SECRET_KEY=" + process.Key}
	process.Wants(t, process.Fails(t, keyed, "check", "--store", to), "it is an incomplete copy of another store")
	process.Wants(t, process.Run(t, env, copies...), "the digests of both stores agree")
	process.Wants(t, process.Run(t, keyed, "check", "--store", to), "nothing is wrong")
}
