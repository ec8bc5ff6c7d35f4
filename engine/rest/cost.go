package rest

import (
	"marquee/engine/store"
)

// The shares of the memory budget that calls take; those of writes are estimated by
// engine.Weight.
// TestCallsCostNoMoreThanTheirShare measures that it is enough.
const (
	// unpackCost is for decompressing a body.
	unpackCost = 128 << 10
	// readCost is for one object.
	readCost = 2 << 20
	// publicCost is for a read without a token, of which the delivery of a file reads
	// most: the list of the files of its bundle.
	publicCost = 4 << 20
	// pageCost is for a page of a list, which is at most engine.MaxPageBytes long.
	pageCost = 14 << 20
	// uploadCost is for a form whose file has been received.
	uploadCost = 2 << 20
	// streamCost is for an upload whose objects are written in parts.
	streamCost = 24 << 20
)

// take waits for a share of the memory budget, which the call holds until give, or
// until it is closed.
func (r *Call) take(n int64) (err error) {
	if r.anonymous() {
		if r.together, err = r.s.anonymous.Take(r.Context(), r.account(), n); err != nil {
			return err
		}
	}
	r.share, err = r.s.work.Take(r.Context(), r.account(), n)
	return err
}

// attribute makes the store attribute the reads and writes of the call to its account.
func (r *Call) attribute() {
	effort := store.Effort{Caller: r.account()}
	r.unbound = store.WithEffort(r.unbound, effort)
	r.c.Request = r.c.Request.WithContext(store.WithEffort(r.Context(), effort))
}

// give returns the share of the call.
func (r *Call) give() {
	r.share.Release()
	r.together.Release()
	r.share, r.together = nil, nil
}
