package concurrency

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"

	"marquee/integration/process"
)

// crashWriter writes until the process dies. Objects are its own, but for the
// hot ones and the urls that all writers claim.
type crashWriter struct {
	m      *crashModel
	p      *process.Process
	random *rand.Rand
	name   string
	n      int
	own    []*crashObject // acknowledged orders and advertisers
	claims []*crashObject // acknowledged articles
}

// run writes this and that. It ends when a request gets no answer, or when it is
// to stop.
func (w *crashWriter) run() {
	steps := []func() bool{w.single, w.single, w.collection, w.batch, w.update, w.update, w.hot, w.hot, w.claim, w.move}
	for steps[w.random.IntN(len(steps))]() {
		select {
		case <-w.m.ended:
			return
		default:
		}
	}
}

// known returns one of the objects, or nil if there is none: the outcome of the last
// write of the others is unknown.
func (w *crashWriter) known(objects []*crashObject) *crashObject {
	for _, i := range w.random.Perm(len(objects)) {
		if objects[i].doubt == nil {
			return objects[i]
		}
	}
	return nil
}

// object is a new object of this writer.
func (w *crashWriter) object(kind string) *crashObject {
	w.n++
	return &crashObject{kind: kind, id: fmt.Sprintf("%s-%d", w.name, w.n)}
}

// text is a value that no other write has.
func (w *crashWriter) text() string {
	w.n++
	return fmt.Sprintf("text %d of %s", w.n, w.name)
}

// expect judges a status, and reports whether to go on.
func (w *crashWriter) expect(what string, status int, allowed ...int) bool {
	if status == 0 {
		return false
	}
	if w.m.outages && (status == http.StatusServiceUnavailable || status == crashUnknown) {
		return true
	}
	for _, s := range allowed {
		if s == status {
			return true
		}
	}
	w.m.fail("%s: %d", what, status)
	return true
}

func (w *crashWriter) single() bool {
	o := w.object("orders")
	patch := map[string]any{"name": w.text(), "advertiser": crashRef("base"), "externalReference": w.name}
	status := w.m.post(w.p, "an object", o.path()+"?context=main", nil, patch, crashChange{o, patch})
	if status == http.StatusCreated {
		w.own = append(w.own, o)
	}
	return w.expect("an object", status, http.StatusCreated)
}

// collection writes new objects and changes some that are there, in one call.
func (w *crashWriter) collection() bool {
	const size = 20
	var changes []crashChange
	var objects []map[string]any
	add := func(o *crashObject, patch map[string]any) {
		changes = append(changes, crashChange{o, patch})
		posted := map[string]any{"id": o.id}
		for name, value := range patch {
			posted[name] = value
		}
		objects = append(objects, posted)
	}
	for _, o := range w.own {
		if o.kind == "advertisers" && o.doubt == nil && len(changes) < size/4 {
			add(o, map[string]any{"description": w.text()})
		}
	}
	var added []*crashObject
	for len(changes) < size {
		o := w.object("advertisers")
		added = append(added, o)
		add(o, map[string]any{"name": w.text(), "description": w.text()})
	}
	status := w.m.post(w.p, "a collection", "/api/v1/advertisers?context=main", nil, objects, changes...)
	if status == http.StatusOK {
		w.own = append(w.own, added[:3]...)
	}
	return w.expect("a collection", status, http.StatusOK)
}

// batch writes objects of several types that refer to each other, forward and
// back.
func (w *crashWriter) batch() bool {
	item, order, advertiser := w.object("lineitems"), w.object("orders"), w.object("advertisers")
	tier, article := w.object("tiers"), w.object("articles")
	changes := []crashChange{
		{item, map[string]any{"name": w.text(), "order": crashRef(order.id), "tier": crashRef(tier.id)}},
		{order, map[string]any{"name": w.text(), "advertiser": crashRef(advertiser.id)}},
		{advertiser, map[string]any{"name": w.text()}},
		{tier, map[string]any{"name": w.text(), "priority": w.n}},
		{article, map[string]any{"url": "https://example.com/" + article.id, "title": w.text()}},
	}
	var operations []any
	for _, c := range changes {
		object := map[string]any{"id": c.object.id}
		for name, value := range c.patch {
			object[name] = value
		}
		operations = append(operations, map[string]any{"type": c.object.kind, "object": object})
	}
	status := w.m.post(w.p, "a batch", "/api/v1/batch?context=main", nil, map[string]any{"operations": operations}, changes...)
	if status == http.StatusOK {
		w.own = append(w.own, advertiser)
		w.claims = append(w.claims, article)
	}
	return w.expect("a batch", status, http.StatusOK)
}

// update changes an object of this writer, from the version that it knows.
func (w *crashWriter) update() bool {
	o := w.known(w.own)
	if o == nil {
		return w.single()
	}
	patch := map[string]any{"description": w.text()}
	status := w.m.post(w.p, "an update", o.path()+"?context=main", crashIfMatch(o.version), patch, crashChange{o, patch})
	return w.expect("an update", status, http.StatusOK)
}

// crashIfMatch is the condition that an object is at a version: If-Match
// compares no more of an entity tag.
func crashIfMatch(version int) http.Header {
	return http.Header{"If-Match": {fmt.Sprintf(`"%d-0000000000000000"`, version)}}
}

// hot updates an object that others update at the same time.
func (w *crashWriter) hot() bool {
	h := w.m.hot[w.random.IntN(len(w.m.hot))]
	path := "/api/v1/tiers/" + h.id
	f, err := crashRead(w.p, path)
	if err != nil {
		if w.m.outages && !errors.Is(err, errCrashOutage) {
			w.m.fail("%v", err)
		}
		return w.m.outages
	}
	next := f.version + 1
	status := w.m.post(w.p, "a hot update", path+"?context=main", crashIfMatch(f.version), map[string]any{"description": crashHotText(next)})
	if status == crashUnknown {
		w.m.mu.Lock()
		h.doubted[next] = true
		w.m.mu.Unlock()
	}
	if status == http.StatusOK {
		w.m.mu.Lock()
		twice := h.acked[next]
		h.acked[next] = true
		w.m.mu.Unlock()
		if twice {
			w.m.fail("two writers got version %d of %s in their answers", next, h.id)
		}
	}
	return w.expect("a hot update", status, http.StatusOK, http.StatusPreconditionFailed)
}

// place is an url that other writers claim, too.
func (w *crashWriter) place() string {
	return fmt.Sprintf("https://example.com/%s/%d", w.m.prefix, w.random.IntN(30))
}

func (w *crashWriter) claim() bool {
	o := w.object("articles")
	patch := map[string]any{"url": w.place(), "title": w.text()}
	status := w.m.post(w.p, "a claim", o.path()+"?context=main", nil, patch, crashChange{o, patch})
	if status == http.StatusCreated {
		w.claims = append(w.claims, o)
	}
	return w.expect("a claim", status, http.StatusCreated, http.StatusUnprocessableEntity)
}

// move gives an article another url: one claim is given up, one is made.
func (w *crashWriter) move() bool {
	o := w.known(w.claims)
	if o == nil {
		return w.claim()
	}
	patch := map[string]any{"url": w.place(), "title": w.text()}
	status := w.m.post(w.p, "a move", o.path()+"?context=main", crashIfMatch(o.version), patch, crashChange{o, patch})
	return w.expect("a move", status, http.StatusOK, http.StatusUnprocessableEntity)
}
