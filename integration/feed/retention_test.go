package feed

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"time"

	"marquee"
	"marquee/client"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/verify"
	"marquee/integration/service"
)

// TestHistoryDays checks what becomes of readers whose position is before the changes that are
// kept, and that a check accepts a history that begins later, and finds a gap in it.
func TestHistoryDays(t *testing.T) { service.EachStore(t, testHistoryDays) }

func testHistoryDays(t *testing.T, fresh service.NewStore) {
	s := service.StartNew(&service.Service{TB: t, URI: fresh(t), Plain: &marquee.Application{},
		Schemas:   []fs.FS{service.TypeWith("notes", "", `"text": {"type": "string"}`)},
		Configure: func(o *marquee.Options) { o.HistoryDays = 30 }})
	token := signIn(t, s)
	write := func(id, text string, status int) {
		s.Must(token, "PUT", "/api/v1/notes/"+id+"?context=main", `{"text": "`+text+`"}`, status)
	}
	position := func() string {
		return s.Must(token, "GET", "/api/v1/changes?context=main", "", 200)["position"].(string)
	}
	old := position()
	for _, id := range []string{"quiet", "busy", "gap"} {
		write(id, "1", 201)
		write(id, "2", 200)
	}
	s.Clock.Advance(40 * 24 * time.Hour)
	token = signIn(t, s)
	young := position()
	write("busy", "3", 200)
	write("gap", "3", 200)
	faults := func(want ...string) {
		t.Helper()
		var found []string
		err := verify.Verify(t.Context(), s.Engine.Catalog, verify.Verification{
			Fault:    func(f verify.Fault) error { found = append(found, f.ID+": "+f.Text); return nil },
			Progress: func(*schema.Type, int64) error { return nil },
		})
		if text := strings.Join(found, "\n"); err != nil || text != strings.Join(want, "\n") {
			t.Errorf("the check found %q, %v", text, err)
		}
	}
	faults()
	if err := s.Pass(); err != nil {
		t.Fatal(err)
	}
	faults()

	o := open(t, s, token, "", old)
	e := o.next("reset")
	if !strings.Contains(e.Data, `{"reason":"POSITION_TOO_OLD"}`) {
		t.Errorf("the reset is %v", e)
	}
	o.next("end")
	open(t, s, token, "", e.ID).next("bookmark")
	if first := open(t, s, token, "&include=changes", young).next("change"); !strings.Contains(first.Data, `"to":"3"`) {
		t.Errorf("behind a position that is kept comes %v", first)
	}

	err := s.Store.Write(t.Context(), func(tx store.Tx) error {
		var gap store.Record
		err := tx.Get(t.Context(), "notes", []store.Key{{Network: "main", ID: "gap"}}, func(r *store.Record) error { gap = *r.Clone(); return nil })
		if err != nil {
			return err
		}
		gap.Version += 2
		if err := tx.Put(t.Context(), "notes", []store.Write{{Record: gap, Expected: gap.Revision, Was: gap.State}}); err != nil {
			return err
		}
		return tx.Append(t.Context(), []store.Change{{Time: s.Clock.Now(), Network: "main", Collection: "notes", ID: "gap", Revision: gap.Revision + 1, Version: gap.Version, Fields: []byte("[]")}})
	})
	if err != nil {
		t.Fatal(err)
	}
	faults("gap: the history has 2 changes of it from version 3 to 5")
}

// TestRemovalByAWrongClock checks that a clock that is a year ahead removes the history a day at a
// time, with a warning.
func TestRemovalByAWrongClock(t *testing.T) { service.EachStore(t, testRemovalByAWrongClock) }

func testRemovalByAWrongClock(t *testing.T, fresh service.NewStore) {
	s := service.StartNew(&service.Service{TB: t, URI: fresh(t), Plain: &marquee.Application{},
		Schemas:   []fs.FS{service.TypeWith("notes", "", `"text": {"type": "string"}`)},
		Configure: func(o *marquee.Options) { o.HistoryDays = 30 }})
	for day := range 4 {
		s.Must(signIn(t, s), "PUT", fmt.Sprintf("/api/v1/notes/n%d?context=main", day), `{"text": "1"}`, 201)
		s.Clock.Advance(36 * time.Hour)
	}
	s.Clock.Advance(365 * 24 * time.Hour)
	token := signIn(t, s)
	var log bytes.Buffer
	for want := range 4 {
		if err := s.Marquee.Pass(t.Context(), slog.New(slog.NewTextHandler(&log, nil))); err != nil {
			t.Fatal(err)
		}
		s.Must(token, "PUT", fmt.Sprintf("/api/v1/notes/young%d?context=main", want), `{"text": "1"}`, 201)
		page := s.Must(token, "GET", "/api/v1/changes?context=main&type=notes&after=begin", "", 200)
		results, _ := page["results"].([]any)
		if len(results) != 4 { // one less of the old ones, and one more of the young ones
			t.Errorf("after %d intervals, there are %d changes", want+1, len(results))
		}
	}
	if removed := s.Engine.RemovedHistory(); removed < 4 {
		t.Errorf("%d changes are counted as removed", removed)
	}
	if warned := strings.Count(log.String(), "stop the service if its clock is wrong"); warned != 1 {
		t.Errorf("there are %d warnings in %s", warned, &log)
	}
}

// TestWatchAfterRemoval checks that a client begins anew when the changes that it has not received
// yet have been removed.
func TestWatchAfterRemoval(t *testing.T) { service.EachStore(t, testWatchAfterRemoval) }

func testWatchAfterRemoval(t *testing.T, fresh service.NewStore) {
	s := service.StartNew(&service.Service{TB: t, URI: fresh(t), Plain: &marquee.Application{},
		Schemas:   []fs.FS{service.TypeWith("notes", "", `"text": {"type": "string"}`)},
		Configure: func(o *marquee.Options) { o.HistoryDays = 30 }})
	token := signIn(t, s)
	reader := s.APIToken(token, "reader", "administrator")
	write := func(id string) {
		s.Must(token, "PUT", "/api/v1/notes/"+id+"?context=main", `{"text": "1"}`, 201)
	}
	write("a")
	c, err := client.New(s.Server.URL, client.Options{HTTP: s.Client, Tokens: client.Tokens{Access: reader}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	var steps []string
	for change, err := range client.Of[struct{}](c.Network("main"), "notes").Watch(ctx) {
		if err != nil {
			t.Fatalf("after %q: %v", steps, err)
		}
		if change.Reset {
			change.ID = "reset"
		}
		switch steps = append(steps, change.ID); len(steps) {
		case 2: // the client has the position of its list, and no changes
			write("b")
			write("c")
			s.Clock.Advance(40 * 24 * time.Hour)
			token = signIn(t, s)
			write("d")
			if err := s.Pass(); err != nil {
				t.Fatal(err)
			}
		case 7:
			write("e")
		}
		if len(steps) == 8 {
			break
		}
	}
	if got, want := strings.Join(steps, " "), "reset a reset a b c d e"; got != want {
		t.Errorf("the steps are %q, want %q", got, want)
	}
}

func signIn(t *testing.T, s *service.Service) string {
	t.Helper()
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	return token
}
