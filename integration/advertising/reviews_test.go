package advertising

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"marquee/engine/document"
	"marquee/engine/store"
	"marquee/integration/service"
)

// plant stores a line item past the service, as one that nobody has judged
// since a time before its end.
func plant(c *service.Conversation, network, id string, end time.Time, more map[string]any) {
	c.Helper()
	object := map[string]any{"name": "Planted", "type": "AUCTION", "userState": "APPROVED", "endDate": document.FormatTime(end)}
	for name, value := range more {
		if object[name] = value; value == nil {
			delete(object, name)
		}
	}
	written := end.Add(-time.Hour).UTC().Truncate(time.Millisecond)
	err := c.Service.Store.Write(context.Background(), func(tx store.Tx) error {
		return tx.Put(context.Background(), "lineitems", []store.Write{{Record: store.Record{Key: store.Key{Network: network, ID: id}, Version: 1, State: "ACTIVE",
			CreateTime: written, UpdateTime: written, CreateUser: c.Service.UserID, UpdateUser: c.Service.UserID, Document: document.Append(nil, object)}}})
	})
	if err != nil {
		c.Fatal(err)
	}
}

// TestPassesGoOn: a pass looks at what has become due since the one before, also
// after a restart, and not at everything again.
func TestPassesGoOn(t *testing.T) { service.EachStore(t, testPassesGoOn) }

func testPassesGoOn(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	pass := func() {
		t.Helper()
		if err := c.Service.Pass(); err != nil {
			t.Fatal(err)
		}
	}
	ended := func(network, id string) bool {
		t.Helper()
		return slices.Contains(warnings(c.Send("GET", "/api/v1/lineitems/"+id+"?context="+network, "", 200, "").JSON()), "ended")
	}
	now := c.Service.Clock.Now()
	plant(c, "main", "first", now.Add(-1000*time.Hour), nil)
	pass()
	if !ended("main", "first") {
		t.Error("the first pass begins at the beginning")
	}
	// Before the pass, and so near to it that whoever judged it may have been
	// under way.
	plant(c, "main", "before", now.Add(-time.Hour), nil)
	plant(c, "main", "near", now.Add(-time.Minute), nil)
	plant(c, "main", "soon", now.Add(10*time.Minute), nil)
	c.Service.Stop()
	c.Service.Start()
	c.Service.Clock.Advance(20 * time.Minute)
	pass()
	if ended("main", "before") || !ended("main", "near") || !ended("main", "soon") {
		t.Errorf("after a restart, before: %t, near: %t, soon: %t", ended("main", "before"), ended("main", "near"), ended("main", "soon"))
	}
	// A network that is new has everything before it.
	c.Send("POST", "/api/v1/networks/west", `{"name": "West"}`, 201, "")
	plant(c, "west", "before", now.Add(-time.Hour), nil)
	pass()
	if !ended("west", "before") || ended("main", "before") {
		t.Errorf("in a new network: %t, in the other: %t", ended("west", "before"), ended("main", "before"))
	}
	// The mark of a server whose clock was ahead is not waited for.
	ahead := c.Service.Clock.Now().Add(1000 * time.Hour).UTC()
	err := c.Service.Store.Write(t.Context(), func(tx store.Tx) error {
		key := store.Key{ID: "lineitems:main"}
		version := int64(0)
		err := tx.Get(t.Context(), "review_marks", []store.Key{key}, func(r *store.Record) error {
			version = r.Version
			return nil
		})
		if err != nil {
			return err
		}
		record := store.Record{Key: key, Version: version + 1, State: "ACTIVE", CreateTime: now.UTC(), UpdateTime: now.UTC(),
			Document: document.Append(nil, map[string]any{"network": "main", "through": ahead.Format(time.RFC3339), "type": "lineitems"})}
		return tx.Put(t.Context(), "review_marks", []store.Write{{Record: record, Expected: version}})
	})
	if err != nil {
		t.Fatal(err)
	}
	plant(c, "main", "ahead", c.Service.Clock.Now().Add(-time.Second), nil)
	c.Service.Stop()
	c.Service.Start()
	pass()
	if !ended("main", "ahead") {
		t.Error("a clock that was ahead is waited for")
	}
}

// TestPassesLookAgain: an object that a pass has reviewed is looked at by the
// next one when anything of it has changed meanwhile, although its times have
// not, as with a writer who began before it was due.
func TestPassesLookAgain(t *testing.T) { service.EachStore(t, testPassesLookAgain) }

func testPassesLookAgain(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	plant(c, "main", "l", c.Service.Clock.Now().Add(-time.Minute), nil)
	for round := range 3 {
		for range 2 {
			if err := c.Service.Pass(); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Contains(warned(c, "l"), "ended") {
			t.Fatalf("not warned in round %d", round)
		}
		err := c.Service.Store.Write(t.Context(), func(tx store.Tx) error {
			var write store.Write
			err := tx.Get(t.Context(), "lineitems", []store.Key{{Network: "main", ID: "l"}}, func(r *store.Record) error {
				write = store.Write{Record: *r, Expected: r.Revision}
				write.Document, write.Warnings = slices.Clone(r.Document), nil
				return nil
			})
			if err != nil {
				return err
			}
			return tx.Put(t.Context(), "lineitems", []store.Write{write})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestReviewOfWhatIsInvalid: an object that its schema would refuse if it were new is reviewed
// like any other, and the review writes nothing but its warnings.
func TestReviewOfWhatIsInvalid(t *testing.T) { service.EachStore(t, testReviewOfWhatIsInvalid) }

func testReviewOfWhatIsInvalid(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	end := c.Service.Clock.Now().Add(-time.Minute)
	plant(c, "main", "right", end, nil)
	plant(c, "main", "wrong", end, map[string]any{"name": nil})
	plant(c, "main", "worse", end, map[string]any{"type": "GIFT"})
	if err := c.Service.Pass(); err != nil {
		t.Fatal(err)
	}
	for id, code := range map[string]string{"right": "warning.line.item.no.tier", "wrong": "error.property.required", "worse": "error.value.enum"} {
		answer := c.Send("GET", "/api/v1/lineitems/"+id+"?context=main", "", 200,
			`{"validationWarnings": ["<some>", {"code": "warning.line.item.ended"}, {"code": "`+code+`"}]}`)
		if etag := answer.Header.Get("ETag"); !strings.HasPrefix(etag, `"1-`) {
			t.Errorf("%s has another version: %s", id, etag)
		}
	}
	c.Send("POST", "/api/v1/lineitems/wrong?context=main", `{"name": "Right"}`, 200, `{"validationWarnings": ["<some>", {"code": "warning.line.item.ended"}]}`)
}

// lines counts the passes that fail.
type lines struct {
	mu   sync.Mutex
	n    int
	seen chan struct{}
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !bytes.Contains(p, []byte("reviewing objects failed")) {
		return len(p), nil
	}
	if l.n++; l.n == 3 {
		close(l.seen)
	}
	return len(p), nil
}

// TestPassesAreTriedAgain lets passes fail: they are repeated until the reviewer is
// stopped. The first pass of the next run finds the objects that were missed.
func TestPassesAreTriedAgain(t *testing.T) { service.EachStore(t, testPassesAreTriedAgain) }

func testPassesAreTriedAgain(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	plant(c, "main", "l", c.Service.Clock.Now().Add(-time.Minute), nil)
	run := func(every time.Duration, log *slog.Logger) (end func()) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.Service.Marquee.Run(ctx, every, log)
		}()
		return func() {
			cancel()
			<-ended
		}
	}
	c.Service.Stop()
	failed := &lines{seen: make(chan struct{})}
	end := run(time.Millisecond, slog.New(slog.NewTextHandler(failed, nil)))
	select {
	case <-failed.seen:
	case <-time.After(service.Patience):
		t.Error("passes over a closed store are not logged again and again")
	}
	end()
	c.Service.Start()
	end = run(time.Hour, slog.New(slog.DiscardHandler))
	defer end()
	for deadline := time.Now().Add(service.Patience); !slices.Contains(warned(c, "l"), "ended"); <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the first pass does not come at once")
		}
	}
}
