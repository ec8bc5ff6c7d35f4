package mongo

import (
	"context"
	"testing"
	"time"
	"marquee/integration/mongodb"
)

func TestExplore(t *testing.T) {
	b := time.Now()
	set := mongodb.NewReplicaSet(t, 1)
	t.Log("set", time.Since(b))
	f := newFaulty(t, set)
	t.Log("faulty", time.Since(b))
	f.proxy.on(func(s step) (mishap, func()) { t.Log(s); return arrives, nil })
	b = time.Now()
	runs, err := f.write(t.Context())
	t.Log(runs, err, time.Since(b))
	f.settled("x", true)
	t.Log(time.Since(b))
	runs, err = f.giveUp(t.Context())
	t.Log(runs, err)
	f.settled("y", false)
	// stuck + cancel
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	f.proxy.on(func(s step) (mishap, func()) { n++; if n == 1 { return stuck, cancel }; return arrives, nil })
	b = time.Now()
	runs, err = f.write(ctx)
	t.Log(runs, err, time.Since(b))
	f.proxy.letGo()
	for range 10 {
	t.Log(len(f.transactions()))
	time.Sleep(50*time.Millisecond)
	}
}
