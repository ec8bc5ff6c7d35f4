// Package parallel runs many short pieces of work on all processors. It imports
// nothing of the project. Begin with Do.
package parallel

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// together is the least number of calls per goroutine.
const together = 16

// Do calls a function for each number below n, on all processors when there are many.
// Each goroutine has a worker of its own. After an error no further calls begin. A
// panic in a worker is returned as an error, as it would end the program otherwise.
func Do(n int, worker func() func(i int) error) error {
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
