package store

import "context"

// LongRunning returns a context for a read or write that takes long: the store lets
// others pass it.
func LongRunning(ctx context.Context) context.Context {
	return WithEffort(ctx, Effort{Extensive: true})
}
