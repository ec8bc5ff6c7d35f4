package store

import (
	"context"
	"sync/atomic"
	"time"
)

// Effort describes a Write, a Read or a call of Changes in advance, so that a store can choose
// which waiting call runs next, and how many run at once.
type Effort struct {
	// Caller is on whose behalf the call runs: a user, an API token or an address.
	// Waiting calls of different callers take turns.
	Caller string
	// Records is the likely number of records written, 0 when it is unknown. A
	// Write with a known number is retried until the context's deadline while it
	// conflicts with other writes, or they leave it no room.
	Records int
	// Extensive marks a call that takes long. A store that runs few of these at
	// once lets others pass.
	Extensive bool
	// Reads lists records that the Write will probably read with Get, so that a store
	// can read them together.
	Reads []Lookup
	// Latest marks a Read that must see every Write that had returned before it,
	// even where the store is configured to read from copies that lag behind.
	Latest bool
	// Wait lets Changes wait this long for changes if there are none, where that takes less than
	// to ask again. It may still return at once, and lack changes of Writes that had returned before
	// the call.
	Wait time.Duration
	// Waited, if set, receives the nanoseconds that the call waits for its turn, added to
	// those of others. Contexts that are derived with another Effort keep it.
	Waited *atomic.Int64
}

type effortKey struct{}

// WithEffort returns a context that carries the effort of a Write or Read.
func WithEffort(ctx context.Context, e Effort) context.Context {
	if e.Waited == nil {
		e.Waited = EffortOf(ctx).Waited
	}
	return context.WithValue(ctx, effortKey{}, e)
}

// EffortOf returns the effort that a context carries.
func EffortOf(ctx context.Context) Effort {
	e, _ := ctx.Value(effortKey{}).(Effort)
	return e
}

// Latest returns a context for reads that see every write that was answered.
func Latest(ctx context.Context) context.Context {
	return WithEffort(ctx, Effort{Caller: EffortOf(ctx).Caller, Latest: true})
}
