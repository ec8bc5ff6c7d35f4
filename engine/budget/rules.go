package budget

func (b *Budget) class(n int64) int {
	switch {
	case n <= b.Total()/smallPart:
		return small
	case n <= b.Total()/mediumPart:
		return medium
	}
	return large
}

// all returns the size of all shares.
func (b *Budget) all() int64 { return b.from(small) }

// from returns the size of the shares of a class and of larger ones.
func (b *Budget) from(class int) int64 {
	var sum int64
	for _, held := range b.held[class:] {
		sum += held
	}
	return sum
}

// waits reports whether a request of a class waits.
func (b *Budget) waits(class int) bool { return b.lines[class].Len()+b.growing[class].Len() > 0 }

// room reports whether there is room for a share of a class. While requests for
// larger shares are waiting, smaller ones do not use more than their own part. A
// caller who holds little need not wait for parked shares, of which there may be
// many: they are rarely used for more than a decoded body.
func (b *Budget) room(a *account, class int, n int64) bool {
	counted := b.from
	if b.modest(a, n) {
		counted = b.running
	}
	if class == small && counted(small)-counted(medium)+n <= b.Total()-b.limits[medium] {
		return true // small shares always have their part
	}
	for c := range class + 1 {
		if counted(c)+n > b.limits[c] {
			return false
		}
	}
	for c := class + 1; c < classes; c++ {
		if b.waits(c) && b.running(small)-b.running(c)+n > b.Total()-b.limits[c] {
			return false
		}
	}
	return true
}

// modest reports whether a caller holds little, with another share.
func (b *Budget) modest(a *account, n int64) bool { return a.held+n <= b.Total()/sparePart }

// running is from without the parked shares.
func (b *Budget) running(class int) int64 {
	sum := b.from(class)
	for _, parked := range b.parked[class:] {
		sum -= parked
	}
	return sum
}

// roomToGrow reports whether there is room for a share that grows by n bytes beside
// those that do not wait for the same. It may use the part of medium shares that
// they have left, because these could keep it from growing forever.
func (b *Budget) roomToGrow(s *Share, n int64) bool {
	own, class := b.class(s.bytes), b.class(s.bytes+n)
	if !s.extra {
		b.held[own] -= s.bytes
		defer func() { b.held[own] += s.bytes }()
	}
	if class == small && b.running(small)-b.running(medium)+s.bytes+n <= b.Total()-b.limits[medium] {
		return true
	}
	if b.running(class)+s.bytes+n > b.limits[class] || b.running(small)+s.bytes+n > b.Total() {
		return false
	}
	for c := class + 1; c < classes; c++ {
		if b.growing[c].Len() > 0 && b.running(small)-b.running(c)+s.bytes+n > b.Total()-b.limits[c] {
			return false
		}
	}
	return true
}

// spares reports whether a share for a caller leaves enough for callers who hold
// little, of the budget and of the part for medium shares.
func (b *Budget) spares(a *account, class int, n int64) bool {
	spare := b.Total() / sparePart
	if a.shares == 0 || b.modest(a, n) {
		return true
	}
	return b.all()+n <= b.Total()-spare && (class != medium || b.from(medium)+n <= b.limits[medium]-spare)
}
