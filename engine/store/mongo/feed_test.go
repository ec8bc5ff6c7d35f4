package mongo

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"marquee/engine/document"
	"marquee/engine/store"
	"marquee/engine/store/mongo/record"
	"marquee/integration/mongodb"
)

// TestFeedHasWhatWasAnswered checks that the feed of one process has the
// committed writes of another, even when it reads from a lagging member, and
// those of a transaction that was open for long.
func TestFeedHasWhatWasAnswered(t *testing.T) {
	set := mongodb.NewReplicaSet(t, 3)
	uri := set.URI("ads")
	writer, reader := openTest(t, Options{URI: uri}), openTest(t, Options{URI: uri + "&readPreference=secondary"})
	if err := writer.EnsureCollections(t.Context(), []store.Collection{{Name: faultThings}}); err != nil {
		t.Fatal(err)
	}
	commit, begun, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	put := func(id string, then func()) error {
		return writer.Write(t.Context(), func(tx store.Tx) error {
			key := store.Key{Network: faultNetwork, ID: id}
			if err := tx.Put(t.Context(), faultThings, []store.Write{{Record: faultRecord(key, 1)}}); err != nil {
				return err
			}
			err := tx.Append(t.Context(), []store.Change{faultChange(key, 1)})
			then()
			return err
		})
	}
	go func() {
		ended <- put("open", func() {
			close(begun)
			<-commit
		})
	}()
	<-begun
	position, err := reader.End(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wants := func(id string) {
		t.Helper()
		changes, next, err := reader.Changes(t.Context(), position, 10, faultThings)
		if err != nil {
			t.Fatal(err)
		}
		if len(changes) != 1 || changes[0].ID != id {
			t.Fatalf("after the write of %s the feed has %v", id, changes)
		}
		position = next
	}
	for i := range 300 {
		if err := put(fmt.Sprint(i), func() {}); err != nil {
			t.Fatal(err)
		}
		wants(fmt.Sprint(i))
	}
	close(commit)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	wants("open")
}

// TestFeedWaits checks that a call waits for changes, and returns the first.
func TestFeedWaits(t *testing.T) {
	waits := make(chan struct{}, 1000)
	s := openTest(t, Options{URI: mongodb.URI(t), Monitor: &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		if await, limited := e.Command.Lookup("maxTimeMS").AsInt64OK(); e.CommandName == "getMore" && limited && await == time.Minute.Milliseconds() {
			waits <- struct{}{}
		}
	}}})
	position, err := s.End(t.Context())
	waiting := store.WithEffort(t.Context(), store.Effort{Wait: time.Minute})
	if err == nil { // the first call opens a stream, and the others find it
		_, position, err = s.Changes(waiting, position, 10)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(3) {
		ended := make(chan error, 1)
		go func() {
			var changes []store.Change
			var err error
			changes, position, err = s.Changes(waiting, position, 10)
			if err == nil && (len(changes) != 1 || changes[0].Version != i+1) {
				err = fmt.Errorf("%v instead of change %d", changes, i+1)
			}
			ended <- err
		}()
		<-waits
		change := faultChange(store.Key{Network: faultNetwork, ID: "a"}, i+1)
		if err := s.Write(t.Context(), func(tx store.Tx) error { return tx.Append(t.Context(), []store.Change{change}) }); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestFuturePosition checks that a position that the database has not reached yet is refused.
func TestFuturePosition(t *testing.T) {
	s := openTest(t, Options{URI: mongodb.URI(t)})
	end, err := s.End(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, _ := parsePosition(end)
	data, _ := p.token.Lookup("_data").StringValueOK()
	at := timeOf(p.token)
	at.T += 60
	if p.token, err = bson.Marshal(bson.D{{Key: "_data", Value: data[:2] + strings.ToUpper(hexTime(at)) + data[18:]}}); err != nil {
		t.Fatal(err)
	}
	changes, _, err := s.Changes(t.Context(), p.String(), 10)
	if code, _ := store.CodeOf(err); code != store.CodeBadPosition {
		t.Errorf("it is followed by %v, %v", changes, err)
	}
}

// TestFeedOfFormerlyRewritten checks that the feed of a store of an earlier version, which does not
// know what was rewritten, has nothing that was removed from the history.
func TestFeedOfFormerlyRewritten(t *testing.T) {
	set := mongodb.NewReplicaSet(t, 1)
	s := openTest(t, Options{URI: set.URI("ads")})
	if err := s.EnsureCollections(t.Context(), []store.Collection{{Name: faultThings}}); err != nil {
		t.Fatal(err)
	}
	unknown := bson.D{{Key: "$unset", Value: bson.D{{Key: fieldRewritten, Value: ""}}}}
	if _, err := s.db.Collection(storeCollection).UpdateOne(t.Context(), bson.D{{Key: record.FieldID, Value: removedID}}, unknown); err != nil {
		t.Fatal(err)
	}
	begin, err := s.End(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	write := func(fn func(tx store.Tx) error) {
		t.Helper()
		if err := s.Write(t.Context(), fn); err != nil {
			t.Fatal(err)
		}
	}
	write(func(tx store.Tx) error {
		c := faultChange(store.Key{Network: faultNetwork, ID: "a"}, 1)
		c.Fields = []byte(`[{"field":"/name"}]`)
		return tx.Append(t.Context(), []store.Change{c})
	})
	write(func(tx store.Tx) error {
		stored, err := tx.ScanHistory(t.Context(), faultThings, "", 10)
		if err != nil || len(stored) != 1 {
			t.Fatal(stored, err)
		}
		stored[0].Fields = []byte(`[]`)
		return tx.RewriteHistory(t.Context(), stored)
	})
	changes, _, err := s.Changes(t.Context(), begin, 10)
	if err != nil || len(changes) != 1 || string(changes[0].Fields) != "[]" {
		t.Fatalf("the feed has %v: %v", changes, err)
	}
}

// TestPositionLength checks that the length of the position of a change depends only on its network.
func TestPositionLength(t *testing.T) {
	s := openTest(t, Options{URI: mongodb.URI(t)})
	position, err := s.End(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, network := range []string{"a", strings.Repeat("b", document.MaxIDBytes)} {
		changes := make([]store.Change, 300)
		for i := range changes {
			changes[i] = faultChange(store.Key{Network: network, ID: fmt.Sprint(i)}, 1)
		}
		if err := s.Write(t.Context(), func(tx store.Tx) error { return tx.Append(t.Context(), changes) }); err != nil {
			t.Fatal(err)
		}
	}
	for n := 0; n < 600; {
		changes, next, err := s.Changes(t.Context(), position, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			if want := positionLength + base64.RawURLEncoding.EncodedLen(len(c.Network)); len(c.Position) != want {
				t.Fatalf("a position of the network %.10s has %d bytes instead of %d", c.Network, len(c.Position), want)
			}
		}
		n, position = n+len(changes), next
	}
}

// TestPositionLengthOfTokens does the same for the tokens of MongoDB 8, on a sharded cluster, too.
// They count the changes of a transaction in one to four bytes.
func TestPositionLengthOfTokens(t *testing.T) {
	for _, sharded := range []bool{false, true} {
		for _, network := range []string{"", "a", strings.Repeat("b", document.MaxIDBytes)} {
			first := 0
			for _, count := range []string{"\x29", "\x2b\x02", "\x2c\x01\x00", "\x2d\x01\x00\x00"} {
				id := "\x3c" + (&transaction{id: "0123456789abcdef"}).ordinal() + "-000000\x00"
				key := "\x46_id\x00\x46\x3cnetwork\x00\x3c" + network + "\x00\x3cid\x00" + id + "\x00"
				if sharded {
					key = "\x3c_id.network\x00\x3c" + network + "\x00\x3c_id.id\x00" + id + key
				}
				p := position{token: tokenOf([]byte("\x82time----\x2b\x04\x2c\x01\x00" + count + "\x6e\x5a\x10\x04collection------" +
					"\x46\x3coperationType\x00\x3cinsert\x00\x46documentKey\x00\x46" + key + "\x00\x00\x04"))}
				text := p.of(network, sharded)
				if again, ok := parsePosition(text); !ok || string(again.token) != string(p.token) {
					t.Errorf("%s is another position", text)
				}
				if first = cmp.Or(first, len(text)); len(text) != first || first > store.MaxPositionBytes {
					t.Errorf("sharded: %t; positions of the network %.10s have %d and %d bytes", sharded, network, first, len(text))
				}
			}
		}
	}
}
