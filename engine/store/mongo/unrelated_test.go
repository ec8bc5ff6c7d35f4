package mongo

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/store"
	"marquee/integration/mongodb"
)

// TestUnrelatedWritesShareNoRecord holds a transaction at its commit, when it has written
// everything, while another server writes other records of the same collection and
// network. The second write neither waits for the first one nor runs again.
func TestUnrelatedWritesShareNoRecord(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, mongodb.Lend(t))
	command := func(reply any, name string, value any, more ...bson.E) {
		t.Helper()
		run := f.set.Client().Database("admin").RunCommand(t.Context(), append(bson.D{{Key: name, Value: value}}, more...))
		f.must(run.Decode(reply))
	}
	var before struct{ Count int64 }
	command(&before, "configureFailPoint", "failCommand", bson.E{Key: "mode", Value: bson.D{{Key: "times", Value: 1}}},
		bson.E{Key: "data", Value: bson.D{{Key: "failCommands", Value: bson.A{commitStep.command}}, {Key: "appName", Value: f.app},
			{Key: "blockConnection", Value: true}, {Key: "blockTimeMS", Value: (10 * time.Second).Milliseconds()}}})
	ended := make(chan error, 1)
	go func() {
		_, err := f.write(t.Context())
		ended <- err
	}()
	command(&bson.D{}, "waitForFailPoint", "failCommand", bson.E{Key: "timesEntered", Value: before.Count + 1}, bson.E{Key: "maxTimeMS", Value: time.Minute.Milliseconds()})
	runs, key, ctx := 0, store.Key{Network: faultNetwork, ID: "unrelated"}, t.Context()
	f.must(f.other.Write(ctx, func(tx store.Tx) error {
		runs++
		err := tx.Put(ctx, faultThings, []store.Write{{Record: faultRecord(key, 1), AddTerms: []store.Term{hotTerm(f.at + 1)}}})
		if err != nil {
			return err
		}
		return tx.Append(ctx, []store.Change{faultChange(key, 1)})
	}))
	if runs != 1 {
		t.Errorf("the write ran %d times", runs)
	}
	select {
	case err := <-ended:
		t.Fatalf("the transaction that was held has ended: %v", err)
	default:
	}
	f.must(<-ended)
}
