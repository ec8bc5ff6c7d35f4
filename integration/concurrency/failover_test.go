package concurrency

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/integration/mongodb"
	"marquee/integration/process"
	"marquee/integration/service"
)

// failover is a replica set that loses its primary again and again, and the
// real program on it under load.
type failover struct {
	*testing.T
	set                           *mongodb.ReplicaSet
	p                             *process.Process
	random                        *rand.Rand
	round                         int
	hot                           map[string]int // versions at the end of the last round
	acks, refused, survived, lost int
}

// failoverAcks is up to how many writes are acknowledged before a primary is
// lost, failoverMore how many have to be afterwards.
const (
	failoverMembers = 3
	failoverAcks    = 60
	failoverMore    = 20
)

// TestFailover takes the primary from under the program, and looks whether
// every answer has kept its promise. MARQUEE_FAILOVERS is the number of times that it is
// killed, MARQUEE_FAILOVER_SEED repeats the choices of a run that failed.
func TestFailover(t *testing.T) {
	t.Parallel()
	kills := 2
	if testing.Short() {
		kills = 1
	}
	kills = process.Number(t, "MARQUEE_FAILOVERS", kills)
	seed := process.Number(t, "MARQUEE_FAILOVER_SEED", int(time.Now().UnixNano()))
	t.Logf("MARQUEE_FAILOVER_SEED=%d", seed)
	set := mongodb.NewReplicaSet(t, failoverMembers)
	uri := set.URI("marquee")
	f := &failover{T: t, set: set, random: rand.New(rand.NewPCG(uint64(seed), 2)), hot: map[string]int{}}
	// A request that waits for a primary that is paused ends within its deadline.
	f.p = process.Serve(t, uri, "--request-timeout", "5s")
	f.p.SignIn("admin", process.Password)
	f.p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/advertisers/base?context=main", `{"name": "Base"}`)
	for i := range crashHots {
		id := fmt.Sprintf("hot-%d", i)
		f.p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/tiers/"+id+"?context=main", fmt.Sprintf(`{"name": "Hot", "description": %q}`, crashHotText(1)))
		f.hot[id] = 1
	}
	for n := range kills {
		f.lose("killed", set.Kill, set.Start)
		if n%5 == 0 {
			f.lose("paused", set.Pause, set.Resume)
			f.lose("stepped down", func(int) { set.StepDown() }, func(int) {})
			f.lose("cut off", f.cutOff, set.Start)
		}
	}
	f.p.Stop()
	crashSweep(t, uri)
	t.Logf("%d primaries lost, %d acknowledged writes, %d answers of 503; of those, %d were stored and %d were not", f.round, f.acks, f.refused, f.survived, f.lost)
}

// lose writes, and goes on writing while the primary is lost, another is
// elected, and the lost one comes back.
func (f *failover) lose(how string, loss, end func(member int)) {
	f.Helper()
	begun := time.Now()
	m := newCrashModel(fmt.Sprintf("r%d", f.round), 1+f.random.IntN(failoverAcks))
	f.round++
	m.outages, m.ended = true, make(chan struct{})
	for _, h := range m.hot {
		h.first, h.doubted = f.hot[h.id], map[int]bool{}
	}
	var writers sync.WaitGroup
	for i := range crashWriters {
		w := &crashWriter{m: m, p: f.p, name: fmt.Sprintf("%sw%d", m.prefix, i), random: rand.New(rand.NewPCG(f.random.Uint64(), 0))}
		writers.Go(w.run)
	}
	f.await(m, m.reached)
	primary := f.set.Primary()
	lost := time.Now()
	loss(primary)
	f.await(m, m.further(1))
	outage := time.Since(lost)
	f.await(m, m.further(failoverMore))
	if how == "paused" || f.random.IntN(2) == 0 { // to start takes its time
		end(primary)
		end = func(int) {}
		f.await(m, m.further(failoverMore))
	}
	close(m.ended)
	writers.Wait()
	end(primary)
	f.whole()
	written := time.Since(begun)
	m.check(f.p)
	for _, wrong := range m.wrong {
		f.Errorf("round %d, %s after %d answers: %s", f.round, how, m.killAt, wrong)
	}
	f.Logf("round %d, %s: %d writes, none for %v, %d answers of 503; %v and %v to look", f.round, how, m.acks, outage.Round(time.Millisecond),
		m.refused, written.Round(time.Millisecond), (time.Since(begun) - written).Round(time.Millisecond))
	for _, h := range m.hot {
		f.hot[h.id] = m.version(f.p, h)
	}
	f.acks, f.refused, f.survived, f.lost = f.acks+m.acks, f.refused+m.refused, f.survived+m.survived, f.lost+m.lost
	if f.Failed() {
		f.FailNow()
	}
}

// cutOff kills a primary that has committed what no other member has, and which
// it has to forget when it comes back.
func (f *failover) cutOff(primary int) {
	f.Helper()
	for i := range failoverMembers {
		if i != primary {
			f.set.Pause(i)
		}
	}
	var was bson.Timestamp
	f.until("the primary is ahead of the others, who hear nothing any more", func(ctx context.Context) (bool, error) {
		var status struct {
			OpTimes struct {
				Committed struct{ TS bson.Timestamp } `bson:"lastCommittedOpTime"`
				Durable   struct{ TS bson.Timestamp } `bson:"durableOpTime"`
			} `bson:"optimes"`
		}
		err := f.status(ctx, &status)
		ahead := status.OpTimes.Committed.TS.Equal(was) && status.OpTimes.Durable.TS.After(was)
		was = status.OpTimes.Committed.TS
		return ahead, err
	})
	f.set.Kill(primary)
	for i := range failoverMembers {
		if i != primary {
			f.set.Resume(i)
		}
	}
}

// further is closed after so many more acknowledged writes.
func (m *crashModel) further(n int) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.killAt, m.reached = m.acks+n, make(chan struct{})
	return m.reached
}

// version is where a hot object is at the end of a round.
func (m *crashModel) version(p *process.Process, h *crashHot) int {
	found, err := crashRead(p, "/api/v1/tiers/"+h.id)
	if err != nil {
		p.TB.Fatal(err)
	}
	return found.version
}

// await waits for acknowledged writes.
func (f *failover) await(m *crashModel, reached <-chan struct{}) {
	f.Helper()
	select {
	case <-reached:
	case <-time.After(service.Patience):
		m.mu.Lock()
		defer m.mu.Unlock()
		f.Fatalf("no writes any more: %d were acknowledged, %d refused; %v\n%s", m.acks, m.refused, m.wrong, f.p.Stderr)
	}
}

// whole waits until the set has a primary, and the others follow it.
func (f *failover) whole() {
	f.Helper()
	f.until("the set is whole", func(ctx context.Context) (bool, error) {
		var status struct {
			Members []struct{ StateStr string }
		}
		err := f.status(ctx, &status)
		states := map[string]int{}
		for _, member := range status.Members {
			states[member.StateStr]++
		}
		return states["PRIMARY"] == 1 && states["SECONDARY"] == failoverMembers-1, err
	})
}

// status is what the primary says of the set.
func (f *failover) status(ctx context.Context, status any) error {
	return f.set.Client().Database("admin").RunCommand(ctx, bson.D{{Key: "replSetGetStatus", Value: 1}}).Decode(status)
}

// until asks until something holds.
func (f *failover) until(what string, holds func(context.Context) (bool, error)) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), service.Patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := holds(ctx)
		if ok && err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			f.Fatalf("never holds that %s: %v", what, err)
		}
	}
}
