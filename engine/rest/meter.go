package rest

import (
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"marquee/engine/histogram"
	"marquee/engine/schema"
	"marquee/engine/trace"
)

// Operation is what a request does, as far as it is counted.
type Operation uint8

// The operations.
const (
	// OperationUnknown is that of requests that lead to no route.
	OperationUnknown Operation = iota
	// OperationRead to OperationErase are those of the objects of a type.
	OperationRead
	OperationList
	OperationWrite
	OperationRemove
	OperationErase
	// OperationBatch writes objects of several types, and OperationUpload files, or objects
	// that are not held in memory.
	OperationBatch
	OperationUpload
	OperationHistory
	// OperationChanges can wait, or stream, for as long as the client likes.
	OperationChanges
	OperationSearch
	OperationDelivery
	// OperationSignIn is that of the token endpoint, and of what ends sessions.
	OperationSignIn
	OperationDocument
	OperationHealth
	OperationOperator
	// OperationOther is that of OPTIONS, and of routes that have none.
	OperationOther
	operations
)

var operationNames = [operations]string{"unknown", "read", "list", "write", "remove", "erase", "batch", "upload",
	"history", "changes", "search", "delivery", "sign-in", "document", "health", "operator", "other"}

// String returns the name of the operation.
func (o Operation) String() string { return operationNames[o] }

// Operations returns all operations.
func Operations() []Operation {
	all := make([]Operation, operations)
	for i := range all {
		all[i] = Operation(i)
	}
	return all
}

// StatusClasses is the number of classes of statuses, from 1xx to 5xx.
const StatusClasses = 5

// Meter counts the requests of servers. It is safe for concurrent use.
type Meter struct {
	statuses [operations][StatusClasses]atomic.Uint64
	took     [operations]*histogram.Histogram
	// waitedMemory and waitedStore are the times that requests have waited for their share of
	// the memory budget, and for their turn in the store.
	waitedMemory, waitedStore *histogram.Histogram
	running                   atomic.Int64

	mu sync.Mutex
	// types has the counts of each type; it is replaced as a whole.
	types atomic.Pointer[map[string]*typeCounts]
}

// typeOperations are counted for each type.
var typeOperations = [...]Operation{OperationRead, OperationList, OperationWrite, OperationRemove, OperationBatch}

type typeCounts [OperationBatch + 1]atomic.Uint64

// NewMeter returns a meter.
func NewMeter() *Meter {
	m := &Meter{waitedMemory: histogram.Durations(), waitedStore: histogram.Durations()}
	for i := range m.took {
		m.took[i] = histogram.Durations()
	}
	m.types.Store(&map[string]*typeCounts{})
	return m
}

// noted is what a server notes of a request, for its line in the log and for the meter.
type noted struct {
	// route, user, network and token, the id of an API token, are for the log.
	route, user, network, token string
	// objects is what Call.Spend has stated, and parameters are those of the query.
	objects    int
	parameters Parameters
	trace      trace.Parent
	// anonymous reports that public objects are read without a token.
	anonymous bool
	// repeated reports that lines like those of this request were logged a moment ago.
	repeated  bool
	operation Operation
	// typeName is the name of the type whose objects the path names, "" for none, and types
	// those of the objects of a batch, each once.
	typeName string
	types    []*schema.Type
	// waitedMemory is the time that it has waited for memory, and waitedStore the nanoseconds
	// that it has waited in the store.
	waitedMemory time.Duration
	waitedStore  atomic.Int64
}

// end counts a request that has ended.
func (m *Meter) end(n *noted, status int, took time.Duration) {
	m.running.Add(-1)
	class := min(max(status/100, 1), StatusClasses) - 1
	m.statuses[n.operation][class].Add(1)
	m.took[n.operation].Add(int64(took))
	m.waitedMemory.Add(int64(n.waitedMemory))
	m.waitedStore.Add(n.waitedStore.Load())
	if n.typeName != "" && n.operation >= OperationRead && n.operation <= OperationRemove {
		m.typed(n.typeName)[n.operation].Add(1)
	}
	for _, t := range n.types {
		m.typed(t.Served().Name)[OperationBatch].Add(1)
	}
}

// typed returns the counts of a type.
func (m *Meter) typed(name string) *typeCounts {
	if found := (*m.types.Load())[name]; found != nil {
		return found
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	all := maps.Clone(*m.types.Load())
	if all[name] == nil {
		all[name] = &typeCounts{}
		m.types.Store(&all)
	}
	return all[name]
}

// Running returns the number of requests that are being served.
func (m *Meter) Running() int64 { return m.running.Load() }

// Requests returns the number of requests with an operation and a class of status, which is
// 1 for 1xx.
func (m *Meter) Requests(o Operation, class int) uint64 { return m.statuses[o][class-1].Load() }

// Took returns how long the requests with an operation have taken.
func (m *Meter) Took(o Operation) histogram.Counts { return m.took[o].Counts() }

// WaitedForMemory returns how long requests have waited for a share of the memory budget, and
// WaitedForStore for their turn in the store. Those that did not wait count, too.
func (m *Meter) WaitedForMemory() histogram.Counts { return m.waitedMemory.Counts() }

// WaitedForStore is like WaitedForMemory.
func (m *Meter) WaitedForStore() histogram.Counts { return m.waitedStore.Counts() }

// OfType yields the numbers of requests for the objects of a type, by operation.
func (m *Meter) OfType(name string, yield func(o Operation, requests uint64)) {
	counts := (*m.types.Load())[name]
	for _, o := range typeOperations {
		if counts == nil {
			yield(o, 0)
		} else {
			yield(o, counts[o].Load())
		}
	}
}

// operationOf returns the operation of a request for the objects of a type, or for one.
func operationOf(r *http.Request, one bool) Operation {
	switch {
	case reads(r) && one:
		return OperationRead
	case reads(r):
		return OperationList
	case r.Method == http.MethodDelete:
		return OperationRemove
	}
	return OperationWrite
}
