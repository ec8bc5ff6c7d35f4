// Package lineitem holds the warnings of line items that depend on time and on
// other objects: orders, tiers, what is targeted, creatives (decisions, part 5).
// They are stored, and whatever they depend on has them judged again when it
// changes, in its own transaction.
package lineitem

import (
	"context"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/resources/review"
)

// Hooks are the rules of line items, and of creatives, which line items have to
// count.
func Hooks() map[string]engine.Hooks {
	return map[string]engine.Hooks{
		"lineitems": {Judged: judged},
		"creatives": {Written: creativesWritten},
	}
}

// Due is when line items are to be judged again.
func Due() review.Due { return review.Due{Type: "lineitems", Property: "endDate"} }

// Rules tell which changes of other objects line items have to see.
func Rules() []review.Rule {
	state := func(c *engine.Change) bool { return c.State != c.StateBefore }
	visibility := func(c *engine.Change) bool { return (c.State == hidden) != (c.StateBefore == hidden) }
	rules := []review.Rule{
		{Target: "orders", Type: "lineitems", Property: "order", Matters: state},
		{Target: "tiers", Type: "lineitems", Property: "tier", Matters: state},
	}
	for _, target := range targets {
		rules = append(rules, review.Rule{Target: target.collection, Type: "lineitems", Property: target.property(), Matters: visibility})
	}
	return rules
}

const (
	active = "ACTIVE"
	hidden = "HIDDEN"
)

func judged(ctx context.Context, w *engine.Writing, changes []*engine.Change) error {
	byNetwork := map[string][]*engine.Change{}
	for _, c := range changes {
		byNetwork[c.Network] = append(byNetwork[c.Network], c)
	}
	for network, list := range byNetwork {
		s, err := look(ctx, w, network, list)
		if err != nil {
			return err
		}
		for _, c := range list {
			s.judge(c)
		}
	}
	return nil
}

// surroundings are what the line items of a network are judged by.
type surroundings struct {
	now           string
	orders, tiers map[string]engine.Seen
	targets       map[string]map[string]engine.Seen
	approved      map[string]int64
}

// look reads the surroundings of line items, with one query a type.
func look(ctx context.Context, w *engine.Writing, network string, changes []*engine.Change) (surroundings, error) {
	s := surroundings{now: document.FormatTime(w.Now()), targets: map[string]map[string]engine.Seen{}}
	wanted := map[string][]string{}
	for _, c := range changes {
		for collection, property := range map[string]string{"orders": "order", "tiers": "tier"} {
			if id := text(c.After[property]); id != "" {
				wanted[collection] = append(wanted[collection], id)
			}
		}
		for _, t := range targetedBy(c) {
			wanted[t.collection] = append(wanted[t.collection], t.ids...)
		}
	}
	for collection, ids := range wanted {
		var err error
		if s.targets[collection], err = w.See(collection, network, ids); err != nil {
			return s, err
		}
	}
	s.orders, s.tiers = s.targets["orders"], s.targets["tiers"]
	var err error
	s.approved, err = approved(ctx, w, network, changes)
	return s, err
}

// judge warns of what keeps a line item from showing ads. A reference to what
// does not exist is a fault, which is found elsewhere.
func (s *surroundings) judge(c *engine.Change) {
	if order, found := s.orders[text(c.After["order"])]; found && order.State != active {
		c.Warn(message.WarnOrderInactive, "/order", message.Params{"id": c.After["order"], "state": order.State})
	}
	if tier, found := s.tiers[text(c.After["tier"])]; found && tier.State != active {
		c.Warn(message.WarnTierInactive, "/tier", message.Params{"id": c.After["tier"], "state": tier.State})
	}
	if s.approved[c.ID] <= 0 {
		c.Warn(message.WarnNoCreative, "", nil)
	}
	if end := text(c.After["endDate"]); end != "" && end <= s.now {
		c.Warn(message.WarnEnded, "/endDate", message.Params{"endDate": end})
	}
	for _, t := range targetedBy(c) {
		s.warnOfHidden(c, t)
	}
}

func text(value any) string {
	s, _ := value.(string)
	return s
}
