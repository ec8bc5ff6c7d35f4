package write

import (
	"encoding/json"
	"slices"

	"marquee/engine/history"
	"marquee/engine/message"
)

// Warn adds a warning that the object is stored with. The order of warnings must
// depend on the objects alone.
func (c *Change) Warn(d *message.Definition, pointer string, params message.Params) {
	if c.WarningsFull() {
		c.unlisted++
		return
	}
	c.warned = append(c.warned, history.Encode(d.With(params).Adding(message.Params{"field": pointer})))
}

// WarningsFull reports whether the object has history.MaxWarnings warnings, so that
// further ones are only counted.
func (c *Change) WarningsFull() bool { return len(c.warned) == history.MaxWarnings }

// Warned reports whether the stored object has a warning.
func (c *Change) Warned(d *message.Definition) bool {
	if c.stored == nil || len(c.stored.Warnings) == 0 {
		return false
	}
	var warnings []struct {
		Code string `json:"code"`
	}
	return json.Unmarshal(c.stored.Warnings, &warnings) == nil &&
		slices.ContainsFunc(warnings, func(w struct {
			Code string `json:"code"`
		}) bool {
			return w.Code == d.Code
		})
}

// Refuse adds a fault, so that nothing of the call is stored. Only the first faults of
// an object are listed.
func (c *Change) Refuse(d *message.Definition, pointer string, params message.Params) {
	if len(c.refused) == message.MaxFaults {
		return
	}
	c.refused = append(c.refused, c.Fault(d, pointer, params))
}
