package program

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestReplacedBehindLoadBalancer replaces a server behind a load balancer that asks /readyz as
// deploy/haproxy.cfg does, and sends no request again. No request is refused, because the server
// continues for the default of --drain-delay. Without a delay, some are.
func TestReplacedBehindLoadBalancer(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	for name, refuses := range map[string]bool{"default": false, "0s": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := service.NewSQLite(t)
			start := func(store string) *process.Process {
				cmd := process.Command(t, []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password}, "serve", "--addr", "127.0.0.1:0", "--log-format", "json", "--store", store)
				if !refuses {
					cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "MARQUEE_DRAIN_DELAY=") })
				}
				p := process.Launch(t, cmd)
				p.Listens()
				p.SignIn("admin", process.Password)
				return p
			}
			ctx, cancel := context.WithCancel(t.Context())
			lb := &loadBalancer{backends: []*backend{{states: make(chan bool, 9)}, {states: make(chan bool, 9)}}}
			old := start(store)
			lb.backends[0].server.Store(old)
			lb.backends[1].server.Store(start(service.NewSQLite(t)))
			var running sync.WaitGroup
			for _, b := range lb.backends {
				running.Go(func() { b.ask(ctx) })
				b.await(t, true)
			}
			for i := range 6 {
				running.Go(func() { lb.send(ctx, i) })
			}
			if err := old.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			old.Ends(0)
			lb.backends[0].await(t, false)
			lb.backends[0].server.Store(start(store))
			lb.backends[0].await(t, true)
			cancel()
			running.Wait()
			if refused := lb.refused.Load(); (refused > 0) != refuses {
				t.Errorf("%d of %d requests were refused, such as: %v", refused, lb.sent.Load(), lb.refusal.Load())
			}
			for _, b := range lb.backends {
				b.server.Load().Kill()
			}
		})
	}
}

// loadBalancer sends each request to the next server that is up, once.
type loadBalancer struct {
	backends            []*backend
	sent, refused, next atomic.Int64
	refusal             atomic.Value
}

// backend is a server that is asked each second whether it is ready, and is up or down after
// two equal answers.
type backend struct {
	server atomic.Pointer[process.Process]
	up     atomic.Bool
	states chan bool // each change of up
}

func (b *backend) ask(ctx context.Context) {
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	due := time.NewTicker(time.Second)
	defer due.Stop()
	for last := false; ; {
		answer, err := client.Get(b.server.Load().URL + "/readyz")
		ready := err == nil && answer.StatusCode == http.StatusOK
		if err == nil {
			answer.Body.Close()
		}
		if ready == last && b.up.Swap(ready) != ready {
			b.states <- ready
		}
		last = ready
		select {
		case <-due.C:
		case <-ctx.Done():
			return
		}
	}
}

// await waits until the server counts as up, or as down.
func (b *backend) await(t *testing.T, up bool) {
	t.Helper()
	select {
	case state := <-b.states:
		if state != up {
			t.Fatal("up:", state)
		}
	case <-time.After(service.Patience):
		t.Fatal("up is not", up)
	}
}

// send sends requests, on connections that are kept or on new ones.
func (lb *loadBalancer) send(ctx context.Context, client int) {
	transport := &http.Transport{DisableKeepAlives: client%2 == 0}
	defer transport.CloseIdleConnections()
	for n := 0; ctx.Err() == nil; n++ {
		b := lb.backends[lb.next.Add(1)%2]
		if !b.up.Load() {
			continue
		}
		p := *b.server.Load()
		p.Client = &http.Client{Transport: transport, Timeout: service.Patience}
		a, err := p.Send(http.MethodPost, fmt.Sprintf("/api/v1/notes/n%d-%d?context=main", client, n), nil, []byte(`{"text": "A note."}`))
		lb.sent.Add(1)
		if err != nil || a.Status != http.StatusCreated {
			lb.refused.Add(1)
			lb.refusal.Store(fmt.Sprint(a, err))
		}
	}
}
