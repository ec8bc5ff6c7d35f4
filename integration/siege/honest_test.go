package siege

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"marquee/integration/process"
)

// latencies are the times that requests took.
type latencies []time.Duration

// percentile is the time within which p of a hundred requests were answered.
func (l latencies) percentile(p int) time.Duration {
	if len(l) == 0 {
		return 0
	}
	slices.Sort(l)
	return l[min(len(l)*p/100, len(l)-1)]
}

func (l latencies) String() string {
	return fmt.Sprintf("%d, p50 %v, p99 %v, longest %v", len(l), l.percentile(50).Round(time.Millisecond),
		l.percentile(99).Round(time.Millisecond), l.percentile(100).Round(time.Millisecond))
}

// honestLoad reads, writes and lists objects while the service is under attack, one
// request of each kind after the other.
type honestLoad struct {
	s                    *siege
	stop                 chan struct{}
	wait                 sync.WaitGroup
	reads, writes, lists latencies
	// faults is incremented when a fault of the process or the store begins, and when it has
	// passed.
	faults atomic.Int64
}

func (s *siege) honest() *honestLoad {
	s.t.Helper()
	const path = "/api/v1/advertisers/honest?context=main"
	h, p := &honestLoad{s: s, stop: make(chan struct{})}, s.from(1).p
	h.wait.Go(func() {
		h.reads = h.repeat(func(int) { h.send(p, http.MethodGet, path, "") })
	})
	h.wait.Go(func() {
		h.writes = h.repeat(func(i int) { h.send(p, http.MethodPost, path, fmt.Sprintf(`{"name": "Honest %d"}`, i)) })
	})
	h.wait.Go(func() {
		h.lists = h.repeat(func(int) { h.send(p, http.MethodGet, "/api/v1/roles?context=main&pageSize=20", "") })
	})
	return h
}

// send sends what must be answered with 200, however long that takes. During a fault, it may
// also be refused, or not be answered.
func (h *honestLoad) send(p *process.Process, method, path, body string) {
	before := h.faults.Load()
	a, err := p.Send(method, path, nil, []byte(body))
	after := h.faults.Load()
	failing := before != after || after%2 == 1
	switch {
	case failing && (err != nil || a.Status == http.StatusServiceUnavailable):
	case err != nil:
		p.TB.Errorf("honest %s: %v", method, err)
	case a.Status != http.StatusOK:
		p.TB.Errorf("honest %s: %d %.300s", method, a.Status, a.Body)
	}
}

func (h *honestLoad) repeat(request func(i int)) (times latencies) {
	pace := time.NewTicker(20 * time.Millisecond)
	defer pace.Stop()
	for i := 0; ; i++ {
		select {
		case <-h.stop:
			return times
		case <-h.s.p.Exited:
			return times
		case <-pace.C:
		}
		began := time.Now()
		request(i)
		times = append(times, time.Since(began))
	}
}

// end stops the load.
func (h *honestLoad) end() {
	close(h.stop)
	h.wait.Wait()
}
