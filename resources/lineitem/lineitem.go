// Package lineitem computes the warnings of line items that depend on time and on
// other objects: orders, tiers, targets and creatives. They are stored, and computed
// again when such an object changes. It may import the engine and catalogue; begin
// with Hooks.
package lineitem

import (
	"context"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/review"
	"marquee/resources/catalogue"
)

// Hooks returns the hooks of line items, of creatives, which are counted, and of
// the types that line items refer to.
func Hooks() map[string]engine.Hooks {
	hooks := map[string]engine.Hooks{
		"lineitems": {Validate: validate},
		"creatives": {BeforeStore: creativesBeforeStore},
	}
	for collection, dependants := range dependants() {
		hooks[collection] = engine.Hooks{Dependants: dependants}
	}
	return hooks
}

// Due makes line items be validated again at their end date.
func Due() review.Due { return review.Due{Type: "lineitems", Property: "endDate"} }

// dependants returns, by type, which changes of other objects revisit line items.
func dependants() map[string][]engine.Dependants {
	state := func(c *engine.Change) bool { return c.State != c.StateBefore }
	visibility := func(c *engine.Change) bool { return (c.State == hidden) != (c.StateBefore == hidden) }
	all := map[string][]engine.Dependants{
		"orders": {{Type: "lineitems", Property: "order", Matters: state}},
		"tiers":  {{Type: "lineitems", Property: "tier", Matters: state}},
		eventTypes: {{Type: "lineitems", Property: "bidSpecification.cpa.customEventType", New: true,
			Matters: func(c *engine.Change) bool { return c.Created() }}},
	}
	for _, target := range targets {
		all[target.collection] = append(all[target.collection], engine.Dependants{Type: "lineitems", Property: target.property(), Matters: visibility})
	}
	return all
}

const (
	active = "ACTIVE"
	hidden = "HIDDEN"
)

func validate(ctx context.Context, w *engine.Writing, changes []*engine.Change) error {
	byNetwork := map[string][]*engine.Change{}
	for _, c := range changes {
		byNetwork[c.Network] = append(byNetwork[c.Network], c)
	}
	for network, list := range byNetwork {
		s, err := readSurroundings(ctx, w, network, list)
		if err != nil {
			return err
		}
		for _, c := range list {
			s.warn(c)
		}
	}
	return nil
}

// surroundings are the objects and the time that the warnings of a network's line
// items depend on.
type surroundings struct {
	now string
	// states are the states of referenced objects by type and id.
	states map[string]map[string]string
	// approved are the numbers of approved, active creatives by line item.
	approved map[string]int64
}

// readSurroundings reads the surroundings of line items, with one query per type.
func readSurroundings(ctx context.Context, w *engine.Writing, network string, changes []*engine.Change) (surroundings, error) {
	s := surroundings{now: document.FormatTime(w.Now()), states: map[string]map[string]string{}}
	wanted := map[string][]string{}
	for _, c := range changes {
		for collection, id := range map[string]string{"orders": text(c.After["order"]), "tiers": text(c.After["tier"]), eventTypes: eventType(c)} {
			if id != "" {
				wanted[collection] = append(wanted[collection], id)
			}
		}
		for _, t := range targetedBy(c) {
			wanted[t.collection] = append(wanted[t.collection], t.ids...)
		}
	}
	for collection, ids := range wanted {
		var err error
		if s.states[collection], err = w.States(collection, network, ids); err != nil {
			return s, err
		}
	}
	var err error
	s.approved, err = approved(ctx, w, network, changes)
	return s, err
}

// warn warns of what keeps a line item from showing ads. It ignores references to
// missing objects, which the engine refuses.
func (s *surroundings) warn(c *engine.Change) {
	if state, found := s.states["orders"][text(c.After["order"])]; found && state != active {
		c.Warn(catalogue.WarnOrderInactive, "/order", message.Params{"id": c.After["order"], "state": state})
	}
	if state, found := s.states["tiers"][text(c.After["tier"])]; found && state != active {
		c.Warn(catalogue.WarnTierInactive, "/tier", message.Params{"id": c.After["tier"], "state": state})
	}
	if id := eventType(c); id != "" && s.states[eventTypes][id] == "" {
		c.Warn(catalogue.WarnEventTypeUnknown, "/bidSpecification/cpa/customEventType", message.Params{"id": id})
	}
	if s.approved[c.ID] <= 0 {
		c.Warn(catalogue.WarnNoCreative, "", nil)
	}
	if end := text(c.After["endDate"]); end != "" && end <= s.now {
		c.Warn(catalogue.WarnEnded, "/endDate", message.Params{"endDate": end})
	}
	for _, t := range targetedBy(c) {
		s.warnOfHidden(c, t)
	}
}

const eventTypes = "customeventtypes"

// eventType returns the id of the custom event type that a line item pays for, or
// "". The property is a string, not a reference: the event type need not exist.
func eventType(c *engine.Change) string {
	return text(document.ValueAt(c.After, "bidSpecification.cpa.customEventType"))
}

func text(value any) string {
	s, _ := value.(string)
	return s
}
