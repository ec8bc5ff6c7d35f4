package engine

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// together is how many things are done by one goroutine at least.
const together = 16

// spread does n things, many of them on all processors. Each goroutine makes a
// worker of its own, which gets their numbers one after the other. After an
// error no more are begun; a panic is one, as outside of the request's own
// goroutine it would end the program.
func spread(n int, worker func() func(i int) error) error {
	goroutines := min(runtime.GOMAXPROCS(0), n/together+1)
	if goroutines == 1 {
		do := worker()
		for i := range n {
			if err := do(i); err != nil {
				return err
			}
		}
		return nil
	}
	var next atomic.Int64
	errs := make([]error, goroutines)
	var wait sync.WaitGroup
	for g := range goroutines {
		wait.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					errs[g] = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
				}
				if errs[g] != nil {
					next.Add(int64(n))
				}
			}()
			do := worker()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if errs[g] = do(i); errs[g] != nil {
					return
				}
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
