package rest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/read"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// positionHeader has the position in the changes from which a reader follows what it has read.
const positionHeader = "Marquee-Position"

const (
	// maxChanges and maxWait bound the parameters of a page of changes, and maxChangesBytes its
	// size, beyond which it has one event at most.
	maxChanges, defaultChanges = 1000, 100
	maxWait                    = 25 * time.Second
	maxChangesBytes            = 4 << 20
	// waitMargin is the time that a request which has waited needs for its answer, and doubtEvery
	// the interval between reads while it is not certain who sees an object.
	waitMargin = 2 * time.Second
	doubtEvery = 100 * time.Millisecond
)

// position returns the position from which a reader follows what it reads of the type, or of one
// object, if that is asked for: a new one, or the one that the parameter has.
func (o *objects) position(network, id string) (string, error) {
	given := o.parameters["position"]
	if given == "" || given == "false" {
		_, err := o.parameters.Boolean("position") // as the parameter cannot be empty
		return "", err
	}
	if !read.Followed(o.t) {
		return "", message.ParameterInvalid.Error(message.Params{"parameter": "position", "expected": "false for this type, whose changes cannot be followed"})
	}
	network = o.t.NetworkOf(network)
	if given != "true" {
		return o.s.Engine.Noted(o.caller, network, given, false)
	}
	return o.s.Engine.Position(o.Context(), o.caller, read.Feed{Network: network, Types: []*schema.Type{o.t}, ID: id})
}

// followed returns the context of a read that has a position, which must see every change before it
// even where the store reads from copies that lag behind.
func (o *objects) followed(position string) context.Context {
	if position == "" {
		return o.Context()
	}
	return store.Latest(o.Context())
}

// listChanges sends the changes behind a position, and waits for some if there are none.
func listChanges(r *Call) error {
	if err := r.parameters.Only("type", "id", "after", "limit", "wait", "include"); err != nil {
		return err
	}
	q, err := r.changesQuery()
	if err != nil {
		return err
	}
	seconds, err := query.Integer(r.parameters, "wait", 0, 0, int(maxWait/time.Second))
	if err != nil {
		return err
	}
	if seconds > 0 || streamed(r.Request()) {
		leave, err := r.enterStreams()
		if err != nil {
			return err
		}
		defer leave()
	}
	if streamed(r.Request()) {
		return r.streamChanges(q)
	}
	r.Spend(q.Limit)
	var wait *waiting
	if seconds > 0 {
		wait = r.wait(q.Feed, time.Duration(seconds)*time.Second)
		defer wait.end()
	}
	for {
		events, err := r.s.Engine.Changes(r.Context(), r.caller, q)
		if err != nil {
			return err
		}
		if len(events.List) > 0 || events.More || events.Reset != "" || q.After == "" || !wait.left() {
			r.sendEvents(events)
			return nil
		}
		q.After, q.Waiter = events.Position, wait.waiter
		if err := wait.pause(events.Doubt); err != nil {
			return err
		}
	}
}

// changesQuery parses the parameters of the feed.
func (r *Call) changesQuery() (q read.ChangesQuery, err error) {
	q = read.ChangesQuery{After: r.parameters["after"], Include: read.Include(r.parameters["include"]), Bytes: maxChangesBytes}
	if _, given := r.parameters["context"]; given {
		if q.Network, err = r.Network(nil); err != nil {
			return q, err
		}
	}
	if err := r.feedTypes(&q.Feed); err != nil {
		return q, err
	}
	switch _, given := r.parameters["include"]; {
	case !given:
		q.Include = read.IncludeChanges
	case q.Include != read.IncludeChanges && q.Include != read.IncludeObject && q.Include != read.IncludeNone:
		return q, message.ParameterInvalid.Error(message.Params{"parameter": "include", "expected": "changes, object or none"})
	}
	if _, given := r.parameters["after"]; given && q.After == "" {
		return q, message.PositionInvalid.Error(message.Params{"parameter": "after"})
	}
	q.Limit, err = query.Integer(r.parameters, "limit", defaultChanges, 1, maxChanges)
	return q, err
}

// feedTypes restricts a feed to the types that the parameter type lists, and to the object that
// the parameter id names.
func (r *Call) feedTypes(f *read.Feed) error {
	names, given := r.parameters["type"]
	if given {
		for i, name := range strings.Split(names, ",") {
			if name == "" {
				return message.ParameterInvalid.Error(message.Params{"parameter": "type", "expected": fmt.Sprintf("types, separated by commas; the one in place %d is empty", i+1)})
			}
			t, err := r.typeNamed(name)
			switch {
			case err != nil:
				return err
			case !read.Followed(t):
				return message.ParameterInvalid.Error(message.Params{"parameter": "type", "expected": "types other than users and networks"})
			case t.Global && f.Network != "":
				return message.ParameterInvalid.Error(message.Params{"parameter": "type", "expected": "types of the network; those of all networks are followed without context"})
			case !t.Global && f.Network == "":
				return message.ParameterMissing.Error(message.Params{"parameter": "context"})
			}
			f.Types = append(f.Types, t)
		}
	}
	id, given := r.parameters["id"]
	switch {
	case !given:
		return nil
	case len(f.Types) == 0:
		return message.ParameterMissing.Error(message.Params{"parameter": "type"})
	case len(f.Types) > 1:
		return message.ParameterInvalid.Error(message.Params{"parameter": "type", "expected": "one type, as id is given"})
	}
	f.ID = id
	return checkID(f.Types[0], id)
}

// sendEvents sends a page of events.
func (r *Call) sendEvents(events engine.Events) {
	r.Spend(len(events.List))
	body := [][]byte{[]byte(`{"results":[`)}
	for i, event := range events.List {
		if i > 0 {
			body = append(body, []byte{','})
		}
		body = append(body, event.JSON)
	}
	end := document.AppendString([]byte(`],"position":`), events.Position)
	if events.More {
		end = append(end, `,"more":true`...)
	}
	if events.Reset != "" {
		end = document.AppendString(append(end, `,"reset":`...), string(events.Reset))
	}
	cacheControl(r.Header(), r.caller)
	write(r.c, 200, jsonType, append(body, append(end, '}'))...)
}

// waiting is a call that waits for changes, without a share of the memory budget.
type waiting struct {
	r      *Call
	until  time.Time
	waiter *read.Waiter
}

// wait makes the call wait for at most a time, and for less if its deadline is earlier.
func (r *Call) wait(f read.Feed, most time.Duration) *waiting {
	until := time.Now().Add(most)
	if deadline, ok := r.Context().Deadline(); ok && deadline.Add(-waitMargin).Before(until) {
		until = deadline.Add(-waitMargin)
	}
	extend(r.c.Writer, r.deadline)
	return &waiting{r, until, r.s.Engine.Wait(f)}
}

// left reports whether the call may wait longer.
func (w *waiting) left() bool { return w != nil && time.Now().Before(w.until) }

func (w *waiting) end() { w.waiter.Close() }

// pause returns when there may be changes, or the time is over. The caller's rights are then
// read again.
func (w *waiting) pause(doubt bool) error {
	r, most := w.r, time.Until(w.until)
	if doubt {
		most = min(most, doubtEvery)
	}
	r.giveMemory()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-w.waiter.Woken():
	case <-timer.C:
	case <-r.s.ending.Done():
		w.until = time.Time{}
	case <-r.Context().Done():
		return r.Context().Err()
	}
	if err := r.take(pageCost); err != nil {
		return err
	}
	return r.reconfirm()
}

// reconfirm authenticates the caller of a feed again.
func (r *Call) reconfirm() error {
	if err := r.authenticate(); err != nil || r.parameters["context"] == "" {
		return err
	}
	_, err := r.Network(nil)
	return err
}
