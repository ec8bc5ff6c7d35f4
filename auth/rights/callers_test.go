package rights

import (
	"fmt"
	"runtime"
	"testing"

	"marquee/engine"
)

// TestWeight compares what callers weigh with the bytes that they are made of: of none
// can so many be remembered that they take much more than others.
func TestWeight(t *testing.T) {
	permissions := []string{"MANAGE_BUSINESS", "MANAGE_LAYOUTS", "MANAGE_SYSTEM", "MANAGE_REPORT_TEMPLATES", "RUN_REPORTS"}
	callers := map[string]func() *engine.Caller{
		"many networks": func() *engine.Caller { return callerOf(5000, "NETWORK", permissions, 0) },
		"many teams":    func() *engine.Caller { return callerOf(1000, "TEAM", permissions, 3) },
		"many objects":  func() *engine.Caller { return callerOf(1, "TEAM", permissions, 10_000) },
		"dormant": func() *engine.Caller {
			c := &engine.Caller{Dormant: map[string]bool{}}
			for i := range 5000 {
				c.Dormant[fmt.Sprintf("network-%08d", i)] = true
			}
			return c
		},
	}
	for name, build := range callers {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c := build()
		runtime.ReadMemStats(&after)
		// What was allocated and dropped again makes this an upper bound.
		if per := int(after.TotalAlloc-before.TotalAlloc) / Weight(c); per > 20_000 {
			t.Errorf("%s: %d bytes for each unit of weight", name, per)
		} else {
			t.Logf("%s: weight %d, %d bytes for each", name, Weight(c), per)
		}
		runtime.KeepAlive(c)
	}
}

// callerOf makes a caller with a role in each of some networks, which names objects.
func callerOf(networks int, scope string, permissions []string, named int) *engine.Caller {
	c := &engine.Caller{Grants: map[string]engine.Grant{}}
	for i := range networks {
		role := roleDocument{Scope: scope, bound: map[string][]string{}}
		for _, permission := range permissions {
			role.Permissions = append(role.Permissions, string([]byte(permission)))
		}
		for j := range named {
			role.bound["sites"] = append(role.bound["sites"], fmt.Sprintf("site-%08d", j))
		}
		c.Grants[fmt.Sprintf("network-%08d", i)] = withRole(engine.Grant{}, role)
	}
	return c
}
