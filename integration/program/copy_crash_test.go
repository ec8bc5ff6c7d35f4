package program

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"marquee/engine/store"
	"marquee/integration/process"
	"marquee/integration/service"
)

// TestCrashOfCopy kills copies again and again. Until one has ended, nothing opens the target;
// then it has everything, and no faults.
func TestCrashOfCopy(t *testing.T) {
	process.SkipLong(t)
	service.EachNoStore(t, testCrashOfCopy)
}

func testCrashOfCopy(t *testing.T, fresh service.NewStore) {
	rounds := min(process.Number(t, "MARQUEE_CRASHES", 4), 30)
	seed := process.Number(t, "MARQUEE_CRASH_SEED", int(time.Now().UnixNano()))
	t.Logf("MARQUEE_CRASH_SEED=%d", seed)
	random := rand.New(rand.NewPCG(uint64(seed), 5))
	from, folder := sqliteStore(t)
	process.Serve(t, from).Stop()
	fillForCopy(t, from)
	to := process.CrashStore(t, fresh)
	env := []string{"MARQUEE_FROM_SECRET_KEY_FILE=" + filepath.Join(folder, "marquee.key"), "MARQUEE_TO_SECRET_KEY=" + process.Key}
	killed := 0
	for range rounds {
		copies := process.Launch(t, process.Command(t, env, "copy", "--from", from, "--to", to))
		copies.Within(time.Duration(random.IntN(1500)) * time.Millisecond)
		copies.Kill()
		process.EndTransactions(t, to)
		if copies.Code == 0 {
			break
		}
		killed++
		said := process.Fails(t, []string{"MARQUEE_SECRET_KEY=" + process.Key}, "check", "--store", to)
		if none := "there is no store"; !strings.Contains(said, none) {
			process.Wants(t, said, "it is an incomplete copy of another store; run the same copy again")
		}
	}
	said := process.Launch(t, process.Command(t, env, "copy", "--from", from, "--to", to))
	<-said.Exited
	if said.Code != 0 && !strings.Contains(said.Printed(), "it is not empty") { // or the last one was killed after its end
		t.Fatal(said.Printed())
	}
	process.Wants(t, process.Run(t, []string{"MARQUEE_SECRET_KEY=" + process.Key}, "check", "--store", to), "nothing is wrong")
	opened, err := service.OpenStore(t, to)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	found := map[string]int{}
	if err := opened.(store.Portable).Dump(t.Context(), "", func(p *store.Portion) error {
		found[p.Part] += len(p.Records) + len(p.Changes)
		return nil
	}); err != nil || found["crash_tickets"] != copiedTickets || found[store.ChangesPart] < copiedTickets {
		t.Errorf("found %v: %v", found, err)
	}
	t.Logf("%d copies were killed", killed)
}

// copiedTickets is the number of records that fillForCopy stores.
const copiedTickets = 30_000

// fillForCopy stores records, with a change each, that no type declares.
func fillForCopy(t *testing.T, uri string) {
	t.Helper()
	s, err := service.OpenStore(t, uri)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.EnsureCollections(t.Context(), []store.Collection{{Name: "crash_tickets"}}); err != nil {
		t.Fatal(err)
	}
	at := time.Now().UTC().Truncate(time.Millisecond)
	for from := 0; from < copiedTickets; from += 1000 {
		var writes []store.Write
		var changes []store.Change
		for i := range 1000 {
			key := store.Key{Network: "main", ID: fmt.Sprint(from + i)}
			writes = append(writes, store.Write{Record: store.Record{Key: key, State: "ACTIVE", CreateTime: at, UpdateTime: at, Document: []byte(`{"name":"Ticket"}`)}})
			changes = append(changes, store.Change{Time: at, Network: "main", Collection: "crash_tickets", ID: key.ID, Revision: 1, Version: 1, Fields: []byte(`[]`)})
		}
		err := s.Write(t.Context(), func(tx store.Tx) error {
			if err := tx.Put(t.Context(), "crash_tickets", writes); err != nil {
				return err
			}
			return tx.Append(t.Context(), changes)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
