package rest

import "marquee/engine/budget"

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

// memory is what a call holds of the memory budget.
type memory struct {
	// share is the part for the work of the call, and together its part of what requests
	// without a token have together, each nil for none.
	share, together *budget.Share
}

// give returns what the call holds.
func (m *memory) give() {
	m.share.Release()
	m.together.Release()
	*m = memory{}
}
