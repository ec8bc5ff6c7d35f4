package concurrency

import (
	"fmt"
	"math"
	"net/http"
	"strings"

	"github.com/anishathalye/porcupine"

	"marquee/integration/histories"
)

const (
	historyBookings = "bookings"
	// historyHalls is the number of halls of a round, and historyHall that of the bookings
	// of each, which are moved to and fro.
	historyHalls, historyHall = 5, 4
	// historyDays and historySeats are how much of a hall can be booked.
	historyDays, historySeats = 8, 3
)

// historyBookingRules are what is unique of bookings.
const historyBookingRules = `, "unique": [["hall", "seat"]]}, "x-exclusive": [{"properties": ["hall"], "from": "begin", "to": "end"}], "$defs": {"none": true`

// booking is an interval of a hall, and a seat; without a seat, 0, it is none.
type booking struct{ begin, end, seat int }

// hall are its bookings.
type hall [historyHall]booking

// accepts reports whether a booking can be as it is, beside the others.
func (h hall) accepts(i int) bool {
	for j, other := range h {
		if b := h[i]; j != i && b.seat > 0 && other.seat > 0 && (b.seat == other.seat || b.begin < other.end && other.begin < b.end) {
			return false
		}
	}
	return true
}

// bookingCall changes two bookings, or one that is named twice, or reads all of a hall.
type bookingCall struct {
	read    bool
	outcome histories.Outcome
	booked  [2]int
	want    [2]booking
	found   hall
}

// bookingModel is a hall without concurrency. A call of unknown outcome is one that has not
// ended.
var bookingModel = porcupine.Model{
	Init: func() any { return hall{} },
	Step: func(state, input, _ any) (bool, any) {
		is, call := state.(hall), input.(bookingCall)
		if call.read {
			return is == call.found, is
		}
		next := is
		for n, i := range call.booked {
			next[i] = call.want[n]
		}
		accepted := next.accepts(call.booked[0]) && next.accepts(call.booked[1])
		switch {
		case call.outcome == histories.Aborted:
			return !accepted, is
		case call.outcome == histories.Unknown && !accepted:
			return true, is
		}
		return accepted, next
	},
}

func (y *history) booking(hall, i int) string { return fmt.Sprintf("r%d-h%d-%d", y.round, hall, i) }

// useBookings changes one or two bookings of a hall at random, or reads all of it.
func (c *historyClient) useBookings() {
	n := c.random.IntN(historyHalls)
	if c.random.IntN(4) == 0 {
		c.readBookings(n)
		return
	}
	call := bookingCall{}
	var objects []string
	for k, i := range c.random.Perm(historyHall)[:2] {
		call.booked[k], call.want[k] = i, c.randomBooking()
		if k == 1 && c.random.IntN(2) == 0 {
			call.booked[1], call.want[1] = call.booked[0], call.want[0]
			break
		}
		objects = append(objects, c.y.bookingObject(n, call.booked[k], call.want[k]))
	}
	s := c.send(http.MethodPost, "/api/v1/"+historyBookings+"?context=main", nil, "["+strings.Join(objects, ",")+"]", http.StatusOK, http.StatusUnprocessableEntity)
	if s.outcome == histories.Aborted && s.Status != http.StatusUnprocessableEntity {
		return
	}
	if s.outcome == histories.Aborted {
		c.refusedBookings++
	}
	call.outcome = s.outcome
	c.noteBooking(n, s, call)
}

func (c *historyClient) randomBooking() booking {
	if c.random.IntN(3) == 0 {
		return booking{}
	}
	begin := c.random.IntN(historyDays)
	return booking{begin, begin + 1 + c.random.IntN(2), 1 + c.random.IntN(historySeats)}
}

func (y *history) bookingObject(hall, i int, b booking) string {
	if b.seat == 0 {
		return fmt.Sprintf(`{"id": %q, "hall": null, "begin": null, "end": null, "seat": null}`, y.booking(hall, i))
	}
	return fmt.Sprintf(`{"id": %q, "hall": "r%d-h%d", "begin": %d, "end": %d, "seat": %d}`, y.booking(hall, i), y.round, hall, b.begin, b.end, b.seat)
}

// readBookings reads all bookings of a hall from one snapshot.
func (c *historyClient) readBookings(n int) {
	var ids []string
	for i := range historyHall {
		ids = append(ids, c.y.booking(n, i))
	}
	s := c.send(http.MethodGet, "/api/v1/"+historyBookings+"?context=main&id="+strings.Join(ids, "%3B"), nil, "", http.StatusOK)
	if s.outcome != histories.Committed {
		return
	}
	call := bookingCall{read: true}
	results := c.results(s.Answer)
	if len(results) != historyHall {
		c.fail("hall %d has %d bookings: %s", n, len(results), s.Body)
		return
	}
	for i := range historyHall {
		object := results[historyBookings+"/"+c.y.booking(n, i)]
		number := func(name string) int { value, _ := object[name].(float64); return int(value) }
		call.found[i] = booking{number("begin"), number("end"), number("seat")}
	}
	c.noteBooking(n, s, call)
}

func (c *historyClient) noteBooking(n int, s sent, call bookingCall) {
	end := s.end
	if s.outcome == histories.Unknown {
		end = math.MaxInt64
	}
	c.bookings[n] = append(c.bookings[n], porcupine.Operation{ClientId: c.number, Input: call, Call: s.begin, Return: end})
}

// judgeBookings compares what the clients have seen of a hall with every order in which
// their requests may have been made.
func (y *history) judgeBookings(n int) []string {
	var all []porcupine.Operation
	for _, c := range y.clients {
		all = append(all, c.bookings[n]...)
	}
	if result := judged(bookingModel, all, func(o porcupine.Operation) (bool, histories.Outcome) {
		call := o.Input.(bookingCall)
		return call.read, call.outcome
	}); result != string(porcupine.Ok) {
		return []string{fmt.Sprintf("the bookings of hall %d: %s", n, result)}
	}
	return nil
}
