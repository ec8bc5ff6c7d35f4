package rest

import (
	"encoding/json"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/schema"
)

// api answers everything below /api/v1. Paths are resolved here and not by
// the router, because types come and go while the service runs, and an id may
// hold a slash.
func (s *Server) api(c *gin.Context) {
	r := &Call{s: s, c: c}
	err := r.serve()
	if err != nil && c.Writer.Written() {
		logger(c).Error("answer broken off", slog.String("cause", err.Error()))
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		Fail(c, err)
	}
}

// endpoint is what a path leads to: the methods that it supports, and what
// answers them.
type endpoint struct {
	methods []string
	read    func() error
	write   func() error
}

func (r *Call) serve() error {
	var err error
	if r.parameters, err = ParseQuery(r.c.Request.URL.RawQuery); err != nil {
		return err
	}
	e, err := r.resolve()
	method := r.c.Request.Method
	if method == http.MethodOptions {
		if err != nil {
			return err
		}
		r.c.Writer.Header().Set("Allow", strings.Join(e.allow(), ", "))
		r.c.Status(http.StatusNoContent)
		r.c.Writer.WriteHeaderNow()
		return nil
	}
	if authErr := r.authenticate(); authErr != nil {
		return authErr
	}
	switch {
	case err != nil:
		return err
	case !slices.Contains(e.methods, method):
		refused := message.MethodUnsupported.Error(message.Params{"method": method})
		refused.Allow = e.allow()
		return refused
	case method == http.MethodGet, method == http.MethodHead:
		return e.read()
	}
	return e.write()
}

func (e endpoint) allow() []string { return append(slices.Clone(e.methods), http.MethodOptions) }

// resolve finds what the path leads to. An error is of kind NotFound, or
// Malformed for an id that no object can have.
func (r *Call) resolve() (endpoint, error) {
	reading, writing := []string{http.MethodGet, http.MethodHead}, []string{http.MethodPost, http.MethodPut}
	parts, err := segments(r.c.Request.URL.EscapedPath())
	if err != nil {
		return endpoint{}, err
	}
	if route := r.s.route(strings.Join(parts, "/")); route != nil {
		serve := func() error {
			r.extend(route.Deadline)
			return route.Serve(r)
		}
		return endpoint{methods: route.Methods, read: serve, write: serve}, nil
	}
	if len(parts) == 1 {
		switch parts[0] {
		case "batch":
			return endpoint{methods: writing, write: r.batch}, nil
		case "audit":
			return endpoint{methods: reading, read: r.history}, nil
		case "notifications":
			return endpoint{methods: reading, read: r.notifications}, nil
		case "messagedefinitions":
			return endpoint{methods: reading, read: r.definitions}, nil
		}
	}
	t, err := r.s.Engine.Type(parts[0])
	if err != nil {
		return endpoint{}, err
	}
	parent, below := "", parts[1:]
	if t.Parent != "" {
		if len(below) == 0 {
			return endpoint{}, message.PathUnknown.Error(nil)
		}
		parent, below = below[0], below[1:]
		if !document.ValidID(parent) {
			return endpoint{}, message.BadID.Error(message.Params{"id": strings.ToValidUTF8(parent, "\ufffd")})
		}
	}
	switch len(below) {
	case 0:
		methods := t.Methods
		if t.Parent != "" {
			methods = reading
		}
		return endpoint{methods, func() error { return r.list(t, parent) }, func() error { return r.writeObjects(t) }}, nil
	case 1:
		id := below[0]
		if err := checkID(t, id); err != nil {
			return endpoint{}, err
		}
		return endpoint{t.Methods, func() error { return r.get(t, parent, id) }, func() error { return r.put(t, parent, id) }}, nil
	}
	return endpoint{}, message.PathUnknown.Error(nil)
}

// put writes the object that a path names, by its JSON or by a file.
func (r *Call) put(t *schema.Type, parent, id string) error {
	media, _, _ := mime.ParseMediaType(r.c.GetHeader("Content-Type"))
	if upload := r.s.Uploads[t.Name]; upload != nil && media == "multipart/form-data" {
		return r.writeUpload(upload, t, parent, id)
	}
	return r.writeObject(t, parent, id)
}

// checkParent makes sure that there is the object whose id stands before another
// in the path. An error is of kind NotFound where the caller sees none.
func (r *Call) checkParent(t *schema.Type, network, parent string) error {
	if t.Parent == "" {
		return nil
	}
	above, err := r.s.Engine.Type(t.Shape.Properties[t.Parent].Ref.Type)
	if err != nil {
		return err
	}
	_, err = r.s.Engine.Get(r.c.Request.Context(), r.caller, above, network, parent, engine.Projection{"id": nil})
	return err
}

func (r *Call) get(t *schema.Type, parent, id string) error {
	if err := r.Only("context", "fields", "includeHidden"); err != nil {
		return err
	}
	// A hidden object is shown by its id anyway; a value that says neither is
	// still refused.
	if _, err := r.Boolean("includeHidden"); err != nil {
		return err
	}
	network, err := r.Network(t)
	if err != nil {
		return err
	}
	projection, err := r.projection(t)
	if err != nil {
		return err
	}
	object, err := r.s.Engine.Get(r.c.Request.Context(), r.caller, t, network, id, projection)
	if err != nil {
		return err
	}
	if object.Path != engine.Path(t, network, parent, id) {
		return message.ObjectNotFound.Error(message.Params{"type": t.Name, "id": id})
	}
	etag := object.ETag()
	r.c.Header("ETag", etag)
	r.c.Header("Cache-Control", "private, no-cache")
	if header := r.c.GetHeader("If-None-Match"); header != "" && notModified(header, etag) {
		r.c.Header("ETag", heldTag(header, etag))
		r.c.Status(http.StatusNotModified)
		r.c.Writer.WriteHeaderNow()
		return nil
	}
	write(r.c, http.StatusOK, jsonType, object.JSON)
	return nil
}

const jsonType = "application/json"

func (r *Call) projection(t *schema.Type) (engine.Projection, error) {
	text, given := r.parameters["fields"]
	if !given {
		return nil, nil
	}
	return engine.ParseProjection(t, text)
}

func (r *Call) list(t *schema.Type, parent string) error {
	if err := r.Only(append([]string{"context", "fields"}, query.Parameters...)...); err != nil {
		return err
	}
	network, err := r.Network(t)
	if err != nil {
		return err
	}
	projection, err := r.projection(t)
	if err != nil {
		return err
	}
	list, err := query.ParseList(r.parameters, r.s.Engine.Fields(t), r.caller.User, r.s.Engine.Now())
	if err != nil {
		return err
	}
	if t.Parent != "" {
		if err := r.checkParent(t, network, parent); err != nil {
			return err
		}
		above, err := t.Field("", t.Parent)
		if err != nil {
			return err
		}
		list.Below(above, parent)
	}
	r.c.Header("Content-Type", jsonType)
	r.c.Header("Cache-Control", "private, no-cache")
	return r.s.Engine.List(r.c.Request.Context(), r.caller, t, network, engine.Listing{List: list, Projection: projection}, func(part []byte) error {
		if r.c.Request.Method == http.MethodHead {
			return nil
		}
		_, err := r.c.Writer.Write(part)
		return err
	})
}

func (r *Call) history() error {
	if err := r.Only("context", "type", "id", "page", "pageSize"); err != nil {
		return err
	}
	network, err := r.Network(nil)
	if err != nil {
		return err
	}
	page := engine.HistoryPage{Network: network}
	if name, given := r.parameters["type"]; given {
		if page.Type, err = r.s.Engine.Type(name); err != nil {
			return err
		}
	}
	if id, given := r.parameters["id"]; given {
		if page.Type == nil {
			return message.ParameterMissing.Error(message.Params{"parameter": "type"})
		}
		if err := checkID(page.Type, id); err != nil {
			return err
		}
		page.ID = id
	}
	if page.Page, page.PageSize, err = query.ParsePage(r.parameters); err != nil {
		return err
	}
	body, err := r.s.Engine.History(r.c.Request.Context(), r.caller, page)
	return r.own(body, err)
}

// own answers with what is for the caller alone.
func (r *Call) own(body []byte, err error) error {
	if err == nil {
		r.c.Header("Cache-Control", "private, no-cache")
		write(r.c, http.StatusOK, jsonType, body)
	}
	return err
}

// notifications answers with what the caller is told of in a network.
func (r *Call) notifications() error {
	if err := r.Only("context", "page", "pageSize"); err != nil {
		return err
	}
	network, err := r.Network(nil)
	if err != nil {
		return err
	}
	page, size, err := query.ParsePage(r.parameters)
	if err != nil {
		return err
	}
	body, err := r.s.Engine.Notifications(r.c.Request.Context(), r.caller, network, page, size)
	return r.own(body, err)
}

func (r *Call) definitions() error {
	if err := r.Only(); err != nil {
		return err
	}
	all := r.s.Engine.Registry().Catalogue().All()
	body, err := json.Marshal(map[string]any{"results": all, "totalCount": len(all)})
	if err != nil {
		return err
	}
	write(r.c, http.StatusOK, jsonType, body)
	return nil
}
