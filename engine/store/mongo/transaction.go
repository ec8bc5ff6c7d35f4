package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"marquee/engine/store"
	"marquee/engine/store/mongo/record"
)

// transaction is a store.Tx in a session.
type transaction struct {
	view
	// done ends the view's term, and what the store does while a transaction is open.
	done context.CancelFunc
	// id identifies the transaction. Each run of the function has a new one.
	id string
	// at is the cluster's time when the transaction began: later than the
	// commits that it sees, earlier than its own.
	at bson.Timestamp
	// touched holds the collections that were written, by network.
	touched map[string]map[string]bool
	// tallies are the changes of what is counted.
	tallies store.TallyChanges
	// appended is the number of changes.
	appended int
	// inFlight receives the error of the command in flight.
	inFlight chan error
	// place is the transaction in the admission; items and bytes are what it
	// has sent.
	place        *admitted
	items, bytes int64
	// calls is the number of calls of Write that share the transaction.
	calls int64
	// locked reports whether the transaction has locked records.
	locked bool
	// left reports whether the server has not heard that the transaction failed.
	left bool
	// ahead are the records that were read before they were asked for.
	ahead ahead
}

func (t *transaction) touch(network, collection string) {
	if t.touched[network] == nil {
		t.touched[network] = map[string]bool{}
	}
	t.touched[network][collection] = true
	delete(t.ahead.records, collection)
}

// refuse ends the transaction because of what its own snapshot contains.
func (t *transaction) refuse(err error) error {
	t.broken, t.again = err, refused
	return err
}

// ordinal orders transactions: each comes after those whose writes it has seen.
func (t *transaction) ordinal() string { return hexTime(t.at) + "-" + t.id }

// begin reads the cluster's time, which is part of every answer in the
// transaction.
func (t *transaction) begin(ctx context.Context) error {
	if t.at.T > 0 {
		return nil
	}
	if t.session.OperationTime() == nil {
		err := t.rows(ctx, commitsCollection, bson.D{{Key: record.FieldID, Value: record.ID(store.Key{ID: t.id})}}, func(bson.Raw) error { return nil }, options.Find())
		if err != nil {
			return err
		}
	}
	at := t.session.OperationTime()
	if at == nil { // the server has no keys yet to sign it with
		t.broken, t.again = errNoTime, lost
		return t.broken
	}
	t.at = *at
	return nil
}
