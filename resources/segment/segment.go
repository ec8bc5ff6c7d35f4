// Package segment archives segments at the end of their time to live, and serves
// the upload of many segments in one call. It may import the engine and catalogue;
// begin with Hooks, then read settleExpiry in expiry.go.
package segment

import (
	"context"
	"net/http"
	"time"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/rest"
	"marquee/resources/catalogue"
)

// Name is the name of the type.
const Name = "segments"

// Expiry is the property with the time at which a segment becomes ARCHIVED.
const Expiry = "expiryTime"

// Hooks returns the hooks of segments.
func Hooks() map[string]engine.Hooks {
	return map[string]engine.Hooks{Name: {BeforeValidate: beforeValidate}}
}

// The limits of an upload suit an export of a data management platform.
const (
	uploadBytes    = 128 << 20
	uploadObjects  = 100_000
	uploadDeadline = 2 * time.Minute
)

// Routes returns the route of the upload.
func Routes() []rest.Route {
	return []rest.Route{{Path: "/api/v1/" + Name + "/upload", Methods: []string{http.MethodPost, http.MethodPut}, Operation: rest.OperationUpload, Serve: upload, Deadline: uploadDeadline}}
}

func upload(r *rest.Call) error {
	t, err := r.Engine().Type(Name)
	if err != nil {
		return err
	}
	return r.WriteStream(t, rest.StreamLimits{Bytes: uploadBytes, Objects: uploadObjects})
}

func beforeValidate(_ context.Context, w *engine.Writing, changes []*engine.Change) error {
	zones := zones{w: w}
	for _, c := range changes {
		normalizeUnits(c)
		if err := settleExpiry(w.Now(), c, &zones); err != nil {
			return err
		}
	}
	return nil
}

// normalizeUnits stores either spelling of the unit as ttlUnits, and removes it
// from a segment whose time to live is not a fixed duration.
func normalizeUnits(c *engine.Change) {
	alias, given := c.Patch["ttlUnit"]
	units, both := c.Patch["ttlUnits"]
	delete(c.After, "ttlUnit")
	switch {
	case given && both && !document.Equal(alias, units):
		c.Refuse(catalogue.SegmentUnits, "/ttlUnit", nil)
	case given && alias == nil:
		delete(c.After, "ttlUnits")
	case given:
		c.After["ttlUnits"] = alias
		if !both {
			c.RedirectFaults("/ttlUnits", "/ttlUnit")
		}
	case !both && c.After["timeToLiveType"] != fixedDuration:
		delete(c.After, "ttlUnits")
	}
}
