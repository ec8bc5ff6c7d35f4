package rest

import (
	"testing"
	"time"
)

// TestMeterAllocatesNothing: a request is counted without an allocation.
func TestMeterAllocatesNothing(t *testing.T) {
	m := NewMeter()
	n := &noted{operation: OperationRead, typeName: "orders"}
	count := func() {
		m.running.Add(1)
		m.end(n, 200, time.Millisecond)
	}
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
