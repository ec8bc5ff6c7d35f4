package walk

import (
	"cmp"
	"time"
)

// leastTimed is Pace.Least of transactions whose objects take long: beginning and
// committing a smaller one takes most of the time.
const leastTimed = 16

// Pace adjusts the number of objects in a transaction to the time that the
// transaction should take, the time that a write may have to wait for it.
type Pace struct {
	Target time.Duration
	Size   int
	Max    int
	// Least is the size below which a transaction is not made smaller for the time that it
	// takes, leastTimed if it is 0.
	Least int
}

// Again halves the size after the transaction met a write, so that writes cannot
// keep it from its end.
func (p *Pace) Again() { p.Size = max(1, p.Size/2) }

// Took adjusts the size to the duration of the last run and the number of runs.
func (p *Pace) Took(d time.Duration, runs int) {
	switch {
	case d > 2*p.Target:
		p.Size = max(min(p.Size, cmp.Or(p.Least, leastTimed)), p.Size/2)
	case d < p.Target && runs == 1:
		p.Size = min(2*p.Size, p.Max)
	}
}
