package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"marquee/engine/store"
	"marquee/engine/store/sqlite"
	"marquee/integration/mongodb"
)

// BenchmarkCopy copies a store of objects of 250 bytes, with a word and a change each, to another
// file.
func BenchmarkCopy(b *testing.B) {
	benchmarkCopy(b, func() string { return "sqlite:" + filepath.Join(b.TempDir(), "marquee.db") })
}

// BenchmarkMongoDBCopy is BenchmarkCopy with a replica set of one member as the target.
func BenchmarkMongoDBCopy(b *testing.B) { benchmarkCopy(b, func() string { return mongodb.URI(b) }) }

func benchmarkCopy(b *testing.B, target func() string) {
	objects, binary, path := benchObjects(b), build(b), filepath.Join(b.TempDir(), "marquee.db")
	start(b, binary, "sqlite:"+path).stop(b)
	fillForCopy(b, path, objects)
	for b.Loop() {
		copies := exec.Command(binary, "copy", "--quiet", "--from", "sqlite:"+path, "--to", target())
		copies.Dir, copies.Stderr = b.TempDir(), os.Stderr
		began := time.Now()
		if err := copies.Run(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(objects)/time.Since(began).Seconds(), "objects/s")
		if used, ok := copies.ProcessState.SysUsage().(*syscall.Rusage); ok {
			b.ReportMetric(float64(used.Maxrss)/1024, "peakMB") // in KiB on Linux
		}
	}
}

func fillForCopy(b *testing.B, path string, objects int) {
	ctx, at := context.Background(), time.Now().UTC().Truncate(time.Millisecond)
	s, err := sqlite.Open(ctx, sqlite.Options{Path: path})
	if err == nil {
		defer s.Close()
		err = s.EnsureCollections(ctx, []store.Collection{{Name: "tickets"}})
	}
	for from := 0; from < objects && err == nil; from += 1000 {
		var writes []store.Write
		var changes []store.Change
		for i := from; i < min(from+1000, objects); i++ {
			key := store.Key{Network: "main", ID: fmt.Sprintf("t%07d", i)}
			document := fmt.Appendf(nil, `{"name":"Ticket %d","note":"%s"}`, i, strings.Repeat("n", 220))
			writes = append(writes, store.Write{Record: store.Record{Key: key, State: "ACTIVE", CreateTime: at, UpdateTime: at, CreateUser: "admin", UpdateUser: "admin", Document: document},
				AddTerms: []store.Term{{Key: "q", Value: fmt.Sprint("ticket", i%1000)}}})
			changes = append(changes, store.Change{Time: at, Network: "main", Collection: "tickets", ID: key.ID, Revision: 1, Version: 1, User: "admin",
				Fields: fmt.Appendf(nil, `[{"field":"/name","to":"Ticket %d"},{"field":"/note","to":"%s"}]`, i, strings.Repeat("n", 170))})
		}
		err = s.Write(ctx, func(tx store.Tx) error {
			if err := tx.Put(ctx, "tickets", writes); err != nil {
				return err
			}
			return tx.Append(ctx, changes)
		})
	}
	if err != nil {
		b.Fatal(err)
	}
}
