package marqueetest

import (
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Change is a change of an object, as the administrator sees it.
type Change struct {
	// Type and ID name the object, and Kind says what happened to it: created, changed or deleted.
	Type, ID, Kind string
	Version        int64
	// Object is the object as it was when the change was read; nil if it had been removed.
	Object map[string]any
}

// Changes are the changes of Network from a moment on, in the order in which they are committed.
type Changes struct {
	s         *Server
	parameter string
	position  string
	read      []Change
}

// changesTime is how long Await waits for a change.
const changesTime = 20 * time.Second

// Changes returns the changes of the objects of some types, or of all, from now on. Some that were
// made just before can be among them.
func (s *Server) Changes(types ...string) *Changes {
	s.tb.Helper()
	c := &Changes{s: s, parameter: "/api/v1/changes?context=" + Network}
	if len(types) > 0 {
		c.parameter += "&type=" + url.QueryEscape(strings.Join(types, ","))
	}
	c.position, _ = s.Do(http.MethodGet, c.parameter, "", http.StatusOK)["position"].(string)
	return c
}

// Await returns the next change that meets a condition, and passes over those before it. If there
// is none within 20 seconds, the test ends.
func (c *Changes) Await(meets func(Change) bool) Change {
	c.s.tb.Helper()
	for until := time.Now().Add(changesTime); ; {
		for len(c.read) > 0 {
			next := c.read[0]
			c.read = c.read[1:]
			if meets(next) {
				return next
			}
		}
		if time.Now().After(until) {
			c.s.tb.Fatalf("there was no such change within %v", changesTime)
		}
		c.more()
	}
}

// more reads changes, and waits for some if there are none.
func (c *Changes) more() {
	c.s.tb.Helper()
	page := c.s.Do(http.MethodGet, c.parameter+"&include=object&wait=2&after="+url.QueryEscape(c.position), "", http.StatusOK)
	if page["reset"] != nil {
		c.s.tb.Fatal("the schemas, or the rights of the administrator, have changed: call Changes again")
	}
	c.position, _ = page["position"].(string)
	results, _ := page["results"].([]any)
	for _, result := range results {
		members, _ := result.(map[string]any)
		text := func(name string) string { value, _ := members[name].(string); return value }
		change := Change{Type: text("type"), ID: text("id"), Kind: text("kind")}
		change.Version, _ = members["version"].(int64)
		change.Object, _ = members["object"].(map[string]any)
		c.read = append(c.read, change)
	}
}
