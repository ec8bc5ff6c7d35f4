package rest

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/schema"
)

// api answers everything below /api/v1. Paths are resolved here and not by
// the router, because types come and go while the service runs, and an id may
// hold a slash.
func (s *Server) api(c *gin.Context) {
	r := &request{s: s, c: c}
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

func (r *request) serve() error {
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
func (r *request) resolve() (endpoint, error) {
	reading, writing := []string{http.MethodGet, http.MethodHead}, []string{http.MethodPost, http.MethodPut}
	parts, err := segments(r.c.Request.URL.EscapedPath())
	if err != nil {
		return endpoint{}, err
	}
	if len(parts) == 1 {
		switch parts[0] {
		case "batch":
			return endpoint{methods: writing, write: r.batch}, nil
		case "audit":
			return endpoint{methods: reading, read: r.history}, nil
		case "messagedefinitions":
			return endpoint{methods: reading, read: r.definitions}, nil
		}
	}
	t, err := r.s.Engine.Type(parts[0])
	if err != nil {
		return endpoint{}, err
	}
	switch len(parts) {
	case 1:
		return endpoint{t.Methods, func() error { return r.list(t) }, func() error { return r.writeObjects(t) }}, nil
	case 2:
		if err := checkID(t, parts[1]); err != nil {
			return endpoint{}, err
		}
		return endpoint{t.Methods, func() error { return r.get(t, parts[1]) }, func() error { return r.writeObject(t, parts[1]) }}, nil
	}
	return endpoint{}, message.PathUnknown.Error(nil)
}

func (r *request) get(t *schema.Type, id string) error {
	if err := r.only("context", "fields", "includeHidden"); err != nil {
		return err
	}
	// A hidden object is shown by its id anyway; a value that says neither is
	// still refused.
	if _, err := r.boolean("includeHidden"); err != nil {
		return err
	}
	network, err := r.network(t)
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
	etag := object.ETag()
	r.c.Header("ETag", etag)
	r.c.Header("Cache-Control", "private, no-cache")
	if header := r.c.GetHeader("If-None-Match"); header != "" && notModified(header, etag) {
		if packed := strings.TrimSuffix(etag, `"`) + compressedSuffix + `"`; strings.Contains(header, packed) {
			r.c.Header("ETag", packed) // what the client holds is the compressed answer
		}
		r.c.Status(http.StatusNotModified)
		r.c.Writer.WriteHeaderNow()
		return nil
	}
	write(r.c, http.StatusOK, jsonType, object.JSON)
	return nil
}

const jsonType = "application/json"

func (r *request) projection(t *schema.Type) (engine.Projection, error) {
	text, given := r.parameters["fields"]
	if !given {
		return nil, nil
	}
	return engine.ParseProjection(t, text)
}

func (r *request) list(t *schema.Type) error {
	if err := r.only(append([]string{"context", "fields"}, query.Parameters...)...); err != nil {
		return err
	}
	network, err := r.network(t)
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

func (r *request) history() error {
	if err := r.only("context", "type", "id", "page", "pageSize"); err != nil {
		return err
	}
	network, err := r.network(nil)
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
	if err != nil {
		return err
	}
	r.c.Header("Cache-Control", "private, no-cache")
	write(r.c, http.StatusOK, jsonType, body)
	return nil
}

func (r *request) definitions() error {
	if err := r.only(); err != nil {
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
