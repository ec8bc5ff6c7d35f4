package concurrency

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"

	"github.com/anishathalye/porcupine"

	"marquee/integration/histories"
)

const (
	historyCopies, historyLoans = "copies", "loans"
	// historyShelves is the number of shelves of a round, each of which has some copies,
	// which are removed and created again, and some loans, which refer to them.
	historyShelves, historyShelf, historyShelfLoans = 5, 2, 3
)

// shelf is which copies exist, and to which of them each loan refers, counted from 1; one
// that refers to none has 0.
type shelf struct {
	exists [historyShelf]bool
	loans  [historyShelfLoans]int
}

// shelfCall is a request about a shelf.
type shelfCall struct {
	what    string // create, remove, lend, copies or loans
	outcome histories.Outcome
	// copied is the copy that is created or removed.
	copied int
	// lends are the loans that refer to another copy, or none.
	lends map[int]int
	// found is what was read.
	found shelf
}

// apply returns the shelf after a write, and whether it is accepted.
func (s shelf) apply(call shelfCall) (shelf, bool) {
	accepted := true
	switch call.what {
	case "create":
		accepted = !s.exists[call.copied]
		s.exists[call.copied] = true
	case "remove":
		accepted = s.exists[call.copied]
		for _, to := range s.loans {
			accepted = accepted && to != call.copied+1
		}
		s.exists[call.copied] = false
	default:
		for loan, to := range call.lends {
			accepted = accepted && (to == 0 || s.exists[to-1])
			s.loans[loan] = to
		}
	}
	return s, accepted
}

// shelfModel is a shelf without concurrency. A call of unknown outcome is one that has not
// ended.
var shelfModel = porcupine.Model{
	Init: func() any { return shelf{} },
	Step: func(state, input, _ any) (bool, any) {
		is, call := state.(shelf), input.(shelfCall)
		switch call.what {
		case "copies":
			return is.exists == call.found.exists, is
		case "loans":
			return is.loans == call.found.loans, is
		}
		next, accepted := is.apply(call)
		switch {
		case call.outcome == histories.Aborted:
			return !accepted, is
		case call.outcome == histories.Unknown && !accepted:
			return true, is
		}
		return accepted, next
	},
}

func (y *history) copied(n, i int) string { return fmt.Sprintf("r%d-s%d-%d", y.round, n, i) }

func (y *history) loanObject(n, i, to int) string {
	if to == 0 {
		return fmt.Sprintf(`{"id": %q, "copy": null}`, y.copied(n, i))
	}
	return fmt.Sprintf(`{"id": %q, "copy": %q}`, y.copied(n, i), y.copied(n, to-1))
}

// useShelves removes a copy, creates it again, refers to copies with one loan or two at
// once, or reads.
func (c *historyClient) useShelves() {
	n := c.random.IntN(historyShelves)
	call := shelfCall{copied: c.random.IntN(historyShelf)}
	path := "/api/v1/" + historyCopies + "/" + c.y.copied(n, call.copied) + "?context=main"
	var s sent
	refused := 0
	switch c.random.IntN(9) {
	case 0, 1:
		call.what, refused = "create", http.StatusPreconditionFailed
		s = c.send(http.MethodPut, path, http.Header{"If-None-Match": {"*"}}, `{}`, http.StatusCreated, refused)
	case 2, 3, 4:
		call.what, refused = "remove", http.StatusNotFound
		s = c.send(http.MethodDelete, path, nil, "", http.StatusNoContent, refused)
		if s.outcome == histories.Aborted && strings.Contains(string(s.Body), `"error.object.referenced"`) {
			refused = s.Status
		}
	case 5, 6, 7:
		call.what, call.lends, refused = "lend", map[int]int{}, http.StatusUnprocessableEntity
		var objects []string
		for _, i := range c.random.Perm(historyShelfLoans)[:1+c.random.IntN(2)] {
			call.lends[i] = max(0, c.random.IntN(historyShelf+2)-1) // none as often as all
			objects = append(objects, c.y.loanObject(n, i, call.lends[i]))
		}
		s = c.send(http.MethodPost, "/api/v1/"+historyLoans+"?context=main", nil, "["+strings.Join(objects, ",")+"]", http.StatusOK, refused)
	case 8:
		c.readShelf(n)
		return
	}
	switch {
	case s.outcome != histories.Aborted:
	case s.Status != refused:
		return // for want of a turn
	default:
		c.refusedOnShelves++
	}
	if call.outcome = s.outcome; call.what == "remove" && call.outcome == histories.Committed {
		c.removed++
	}
	c.noteShelf(n, s, call)
}

// readShelf reads the copies of a shelf, or its loans.
func (c *historyClient) readShelf(n int) {
	if c.random.IntN(2) == 0 {
		c.readCopies(n)
	} else {
		c.readLoans(n)
	}
}

func (c *historyClient) readCopies(n int) {
	found, s := c.listShelf(n, historyCopies, historyShelf)
	call := shelfCall{what: "copies"}
	for i := range historyShelf {
		call.found.exists[i] = found[historyCopies+"/"+c.y.copied(n, i)] != nil
	}
	if s.outcome == histories.Committed {
		c.noteShelf(n, s, call)
	}
}

func (c *historyClient) readLoans(n int) {
	found, s := c.listShelf(n, historyLoans, historyShelfLoans)
	call := shelfCall{what: "loans"}
	for i := range historyShelfLoans {
		to, _ := found[historyLoans+"/"+c.y.copied(n, i)]["copy"].(map[string]any)
		for k := range historyShelf {
			if to["id"] == c.y.copied(n, k) {
				call.found.loans[i] = k + 1
			}
		}
		if to != nil && call.found.loans[i] == 0 {
			c.fail("a loan refers to what is of no shelf: %s", s.Body)
		}
	}
	if s.outcome == histories.Committed {
		c.noteShelf(n, s, call)
	}
}

// listShelf reads the objects of a type from one snapshot.
func (c *historyClient) listShelf(n int, kind string, size int) (map[string]map[string]any, sent) {
	var ids []string
	for i := range size {
		ids = append(ids, c.y.copied(n, i))
	}
	s := c.send(http.MethodGet, "/api/v1/"+kind+"?context=main&id="+strings.Join(ids, "%3B"), nil, "", http.StatusOK)
	if s.outcome != histories.Committed {
		return nil, s
	}
	return c.results(s.Answer), s
}

func (c *historyClient) noteShelf(n int, s sent, call shelfCall) {
	end := s.end
	if s.outcome == histories.Unknown {
		end = math.MaxInt64
	}
	c.shelves[n] = append(c.shelves[n], porcupine.Operation{ClientId: c.number, Input: call, Call: s.begin, Return: end})
}

// judgeShelf compares what the clients have seen of a shelf with every order in which
// their requests may have been made: in none of them, a loan refers to a copy that is
// gone. The history of each copy goes on from one creation to the next.
func (y *history) judgeShelf(n int) (wrong []string) {
	var all []porcupine.Operation
	for _, c := range y.clients {
		all = append(all, c.shelves[n]...)
	}
	if result := judged(shelfModel, all, func(o porcupine.Operation) (bool, histories.Outcome) {
		call := o.Input.(shelfCall)
		return call.what == "copies" || call.what == "loans", call.outcome
	}); result != string(porcupine.Ok) {
		wrong = append(wrong, fmt.Sprintf("shelf %d: %s", n, result))
	}
	for i := range historyShelf {
		a, err := y.h.p.Send(http.MethodGet, fmt.Sprintf("/api/v1/audit?context=main&type=%s&id=%s&pageSize=1000", historyCopies, y.copied(n, i)), nil, nil)
		var page struct{ Results []auditEntry }
		if err == nil {
			err = json.Unmarshal(a.Body, &page)
		}
		if err != nil || a.Status != http.StatusOK && a.Status != http.StatusNotFound {
			return append(wrong, fmt.Sprintf("the history of copy %d of shelf %d: %v %v", i, n, err, a))
		}
		for k, entry := range page.Results { // newest first
			if want := int64(len(page.Results) - k); entry.Version != want || entry.Revision != want {
				wrong = append(wrong, fmt.Sprintf("in place of version and revision %d, the history of copy %d of shelf %d has %d and %d", want, i, n, entry.Version, entry.Revision))
			}
		}
	}
	return wrong
}
