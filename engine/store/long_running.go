package store

import "context"

// LongRunning returns a context for a read or write that takes long: the store lets
// others pass it. It runs for the caller of ctx.
func LongRunning(ctx context.Context) context.Context {
	return WithEffort(ctx, Effort{Caller: EffortOf(ctx).Caller, Latest: EffortOf(ctx).Latest, Extensive: true})
}
