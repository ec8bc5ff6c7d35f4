package rest

import (
	"net/http"
	"testing"
	"time"

	"marquee/engine/trace"
)

// TestMeterAllocatesNothing: a request that is not traced is counted without an allocation.
func TestMeterAllocatesNothing(t *testing.T) {
	m, count := metered()
	if allocations := testing.AllocsPerRun(100, count); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
	if m.Requests(OperationRead, 2) != 101 || m.Running() != 0 || m.Took(OperationRead).Count != 101 {
		t.Errorf("%d requests, of which %d run", m.Requests(OperationRead, 2), m.Running())
	}
	m.OfType("orders", func(o Operation, requests uint64) {
		if o == OperationRead && requests != 101 || o != OperationRead && requests != 0 {
			t.Errorf("%d requests to %s", requests, o)
		}
	})
}

// metered returns a meter, and what it costs a request that is not traced.
func metered() (m *Meter, count func()) {
	m = NewMeter()
	n, header := &noted{operation: OperationRead, typeName: "orders"}, http.Header{}
	return m, func() {
		began := time.Now()
		m.running.Add(1)
		n.trace = trace.Parse(header[trace.Header])
		m.end(n, http.StatusOK, time.Since(began))
	}
}

// BenchmarkMeter measures what metrics and traces cost a request that is not traced.
func BenchmarkMeter(b *testing.B) {
	_, count := metered()
	for b.Loop() {
		count()
	}
}
