package mongodb

import (
	"context"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// lent are the replica sets that no test has now. They end with the test binary.
var lent struct {
	mu   sync.Mutex
	free []*set
}

// Lend is like NewReplicaSet for a set of one member that tests of the binary have one after
// another, because the start of a mongod takes half a second of processor time. A test may
// set the fail point failCommand, which is off afterwards, and disturb nothing else.
func Lend(tb testing.TB) *ReplicaSet {
	tb.Helper()
	lent.mu.Lock()
	var own *set
	if last := len(lent.free) - 1; last >= 0 {
		own, lent.free = lent.free[last], lent.free[:last]
	}
	lent.mu.Unlock()
	if own == nil {
		binary, err := Binary()
		check(tb, err)
		own, err = startSet(binary, settings{members: 1})
		check(tb, err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startLimit)
		defer cancel()
		off := bson.D{{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: "off"}}
		if err := own.client.Database("admin").RunCommand(ctx, off).Err(); err != nil {
			tb.Errorf("turn off the fail point: %v", err)
			return
		}
		lent.mu.Lock()
		defer lent.mu.Unlock()
		lent.free = append(lent.free, own)
	})
	return &ReplicaSet{tb, own}
}
