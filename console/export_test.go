package console

// SetMaxAllTickets sets how many tickets a server remembers, and returns how to take that back.
func SetMaxAllTickets(n int) func() {
	before := maxAllTickets
	maxAllTickets = n
	return func() { maxAllTickets = before }
}
