package concurrency

import (
	"fmt"
	"net/http"
	"strings"

	"marquee/integration/histories"
)

const (
	historyAccounts = "accounts"
	// historyBank is the number of accounts of a round, and historyBalance what each has at
	// first.
	historyBank, historyBalance = 4, 100
)

func (y *history) account(i int) string { return fmt.Sprintf("%s-a%d", y.id(0), i) }

// useBank moves money from one account to another if nobody has changed either since they
// were read, or reads all.
func (c *historyClient) useBank() {
	if c.random.IntN(3) == 0 {
		c.readBank()
		return
	}
	from := c.random.IntN(historyBank)
	to := (from + 1 + c.random.IntN(historyBank-1)) % historyBank
	amount := 1 + c.random.IntN(10)
	var operations []any
	for i, change := range map[int]int{from: -amount, to: amount} {
		s := c.send(http.MethodGet, "/api/v1/"+historyAccounts+"/"+c.y.account(i)+"?context=main", nil, "", http.StatusOK)
		if s.outcome != histories.Committed {
			return
		}
		balance, _ := c.object(s.Body)["balance"].(float64)
		operations = append(operations, map[string]any{"type": historyAccounts, "ifMatch": s.Header.Get("ETag"),
			"object": map[string]any{"id": c.y.account(i), "balance": int(balance) + change}})
	}
	c.send(http.MethodPost, "/api/v1/batch?context=main", nil, historyJSON(map[string]any{"operations": operations}), http.StatusOK, http.StatusPreconditionFailed)
}

// readBank reads all accounts from one snapshot, in which no money is lost or made.
func (c *historyClient) readBank() {
	var ids []string
	for i := range historyBank {
		ids = append(ids, c.y.account(i))
	}
	s := c.send(http.MethodGet, "/api/v1/"+historyAccounts+"?context=main&id="+strings.Join(ids, "%3B"), nil, "", http.StatusOK)
	if s.outcome != histories.Committed {
		return
	}
	sum := 0
	for _, account := range c.results(s.Answer) {
		balance, _ := account["balance"].(float64)
		sum += int(balance)
	}
	if sum != historyBank*historyBalance {
		c.fail("the accounts have %d: %s", sum, s.Body)
	}
}
