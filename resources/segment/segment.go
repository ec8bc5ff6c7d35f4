// Package segment holds the rules of segments that no schema can say: how long
// they live, and the upload of many.
package segment

import (
	"context"
	"net/http"
	"time"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/rest"
)

// Name is the type.
const Name = "segments"

// Expiry is the property that says when a segment becomes ARCHIVED.
const Expiry = "expiryTime"

// Hooks are those of segments.
func Hooks() map[string]engine.Hooks {
	return map[string]engine.Hooks{Name: {Merged: merged}}
}

// The upload takes what a data management platform has.
const (
	uploadBytes    = 128 << 20
	uploadObjects  = 100_000
	uploadDeadline = 2 * time.Minute
)

// Routes are those of segments.
func Routes() []rest.Route {
	return []rest.Route{{Path: Name + "/upload", Methods: []string{http.MethodPost, http.MethodPut}, Serve: upload, Deadline: uploadDeadline}}
}

func upload(r *rest.Call) error {
	t, err := r.Engine().Type(Name)
	if err != nil {
		return err
	}
	return r.WriteStream(t, rest.StreamLimits{Bytes: uploadBytes, Objects: uploadObjects})
}

func merged(_ context.Context, w *engine.Writing, changes []*engine.Change) error {
	zones := zones{w: w}
	for _, c := range changes {
		settleUnits(c)
		if err := settleLife(w.Now(), c, &zones); err != nil {
			return err
		}
	}
	return nil
}

// settleUnits brings both spellings of the unit into one. A unit is of a fixed
// duration alone: one that is stored goes when the segment lives otherwise.
func settleUnits(c *engine.Change) {
	alias, given := c.Patch["ttlUnit"]
	units, both := c.Patch["ttlUnits"]
	delete(c.After, "ttlUnit")
	switch {
	case given && both && !document.Equal(alias, units):
		c.Refuse(message.SegmentUnits, "/ttlUnit", nil)
	case given && alias == nil:
		delete(c.After, "ttlUnits")
	case given:
		c.After["ttlUnits"] = alias
		if !both {
			c.Point("/ttlUnits", "/ttlUnit")
		}
	case !both && c.After["timeToLiveType"] != fixedDuration:
		delete(c.After, "ttlUnits")
	}
}
