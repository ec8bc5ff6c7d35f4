package concurrency

import (
	"fmt"
	"net/http"
	"time"

	"marquee/integration/histories"
)

const (
	historyRegisters = "registers"
	// historyFirst is the value of a register that nobody has written.
	historyFirst = "first"
	// historyPatience is the time limit for deciding whether the operations on one
	// register are linearizable. It takes milliseconds if they are.
	historyPatience = 20 * time.Second
)

func (c *historyClient) registerPath(i int) string {
	return "/api/v1/" + historyRegisters + "/" + c.y.id(i) + "?context=main"
}

// useRegister reads or writes a register. A condition names the version that this client
// saw last, which may be an old one.
func (c *historyClient) useRegister(i int) {
	switch n := c.random.IntN(10); {
	case n < 4 || c.versions[i] == 0:
		c.readRegister(i)
	case n < 6:
		c.writeRegister(i, histories.WriteValue)
	default:
		c.writeRegister(i, histories.CompareAndSet)
	}
}

func (c *historyClient) readRegister(i int) {
	s := c.send(http.MethodGet, c.registerPath(i), nil, "", http.StatusOK)
	if s.outcome == histories.Committed {
		c.access(i, s, histories.Access{Kind: histories.ReadValue, Value: fmt.Sprint(c.object(s.Body)["value"])})
	}
}

// writeRegister writes a value that nobody else writes.
func (c *historyClient) writeRegister(i int, kind histories.AccessKind) {
	a := histories.Access{Kind: kind, Value: fmt.Sprint(c.y.values.Add(1))}
	header, allowed := http.Header{}, []int{http.StatusOK}
	if kind == histories.CompareAndSet {
		a.Expected = c.versions[i]
		header, allowed = crashIfMatch(int(a.Expected)), append(allowed, http.StatusPreconditionFailed)
	}
	method := []string{http.MethodPut, http.MethodPatch}[c.random.IntN(2)]
	s := c.send(method, c.registerPath(i), header, fmt.Sprintf(`{"value": %q}`, a.Value), allowed...)
	switch {
	case s.outcome == histories.Aborted && s.Status != http.StatusPreconditionFailed:
		return // neither a write nor a condition that did not hold
	case s.outcome == histories.Committed:
		if is := c.object(s.Body)["value"]; is != a.Value {
			c.fail("the answer to a write of %s is %v", a.Value, is)
		}
	}
	c.access(i, s, a)
}

// access notes an operation on a register.
func (c *historyClient) access(i int, s sent, a histories.Access) {
	a.Client, a.Begin, a.End, a.Outcome = c.number, s.begin, s.end, s.outcome
	if s.outcome == histories.Committed {
		a.Version = s.version()
		c.versions[i] = a.Version
	}
	c.accesses[i] = append(c.accesses[i], a)
}

// judgeRegister compares what the clients have seen of a register with every order in
// which their operations may have happened, and with the history of the service.
func (y *history) judgeRegister(i int) (wrong []string) {
	var all []histories.Access
	for _, c := range y.clients {
		all = append(all, c.accesses[i]...)
	}
	if err := histories.CheckRegister(historyFirst, all, historyPatience); err != nil {
		wrong = append(wrong, fmt.Sprintf("%s: %v", y.id(i), err))
	}
	entries, err := y.audit(historyRegisters, i)
	if err != nil {
		return append(wrong, err.Error())
	}
	known := map[string]histories.Access{historyFirst: {Kind: histories.WriteValue, Outcome: histories.Committed, Version: 1}}
	for _, a := range all {
		if a.Kind != histories.ReadValue {
			known[a.Value] = a
		}
	}
	found := map[string]bool{}
	for _, entry := range entries {
		value, _ := entry.to("/value").(string)
		a, ok := known[value]
		switch {
		case !ok || a.Outcome == histories.Aborted:
			wrong = append(wrong, fmt.Sprintf("the history of %s has the value %q at version %d, and no write that may have stored it", y.id(i), value, entry.Version))
		case found[value] || a.Version != 0 && a.Version != entry.Version:
			wrong = append(wrong, fmt.Sprintf("the history of %s has, at version %d, what was written once: %v", y.id(i), entry.Version, a))
		}
		found[value] = true
	}
	for value, a := range known {
		if a.Outcome == histories.Committed && !found[value] {
			wrong = append(wrong, fmt.Sprintf("the history of %s lacks what was acknowledged: %v", y.id(i), a))
		}
	}
	return wrong
}
