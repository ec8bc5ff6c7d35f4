package rest

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/store"
)

// ownRoutes are the routes of every server.
func (s *Server) ownRoutes() []Route {
	return []Route{
		{Path: healthPath, Methods: readMethods, Public: true, Unlimited: true, Operation: OperationHealth, Serve: s.health},
		{Path: readyPath, Methods: readMethods, Public: true, Unlimited: true, Operation: OperationHealth, Serve: s.ready},
		{Path: apiPath + "batch", Methods: writeMethods, Operation: OperationBatch, keyed: true, Serve: writeBatch},
		{Path: apiPath + "audit", Methods: readMethods, Operation: OperationHistory, Serve: listHistory},
		{Path: apiPath + "changes", Methods: readMethods, Operation: OperationChanges, Serve: listChanges},
		{Path: apiPath + "notifications", Methods: readMethods, Operation: OperationHistory, Serve: listNotifications},
		{Path: apiPath + "messagedefinitions", Methods: readMethods, Operation: OperationDocument, Serve: listDefinitions},
	}
}

func (s *Server) health(r *Call) error {
	return r.SendJSON(map[string]any{"status": "ok", "version": s.Version})
}

func (s *Server) ready(r *Call) error {
	cause := s.Ready(r.Context())
	err := store.Translate(cause)
	if message.ShuttingDown.Is(err) {
		return err
	}
	notedOf(r.c.Writer).repeated = s.unready.repeats(cause)
	if cause != nil {
		for _, known := range []*message.Definition{message.StoreFull, message.StoreDamaged} {
			if known.Is(err) {
				return err
			}
		}
		e := message.StoreUnavailable.Error(nil).Caused(cause)
		e.RetryAfter = 5 * time.Second
		return e
	}
	answer := map[string]any{"status": "ready", "schemas": r.Header().Get(schemasHeader)}
	if number := r.SchemaSet(r.Header().Get(schemasHeader)); number > 0 {
		answer["set"] = number
	}
	if s.Notes != nil {
		if notes := s.Notes(); len(notes) > 0 {
			answer["notes"] = notes
		}
	}
	return r.SendJSON(answer)
}

// addRoutes registers all routes: those outside the API with the router, and the
// others to be found by resolve.
func (s *Server) addRoutes(router gin.IRoutes) (err error) {
	all := append(s.ownRoutes(), s.Routes...)
	if err := checkRoutes(all); err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil { // the router rejects overlapping patterns by panicking
			err = fmt.Errorf("routes: %v", p)
		}
	}()
	s.routes.literal = map[string]*Route{}
	for i := range all {
		route := &all[i]
		if strings.HasPrefix(route.Path, apiPath) {
			s.routes.add(route)
			continue
		}
		s.outside = append(s.outside, pattern{route, strings.Split(route.Path, "/")})
		paths := []string{routerPath(route.Path)}
		if above, tail, _ := strings.Cut(paths[0], "/*"); tail != "" {
			paths = append(paths, above)
		} else if route.Path != "/" {
			paths = append(paths, paths[0]+"/")
		}
		for _, path := range paths {
			for _, method := range routerMethods {
				router.Handle(method, path, func(c *gin.Context) { s.fixed(c, route) })
			}
		}
	}
	return nil
}

// routerMethods are those that the router knows for each route.
var routerMethods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}

// otherMethod serves a request that the router has no route for: another method than
// routerMethods, or a path that does not exist.
func (s *Server) otherMethod(c *gin.Context) {
	path := c.Request.URL.Path
	if strings.HasPrefix(path, apiPath) {
		s.api(c)
		return
	}
	if !slices.Contains(routerMethods, c.Request.Method) {
		if len(path) > 1 {
			path = strings.TrimSuffix(path, "/")
		}
		for _, p := range s.outside {
			if _, ok := p.match(strings.Split(path, "/")); ok {
				s.fixed(c, p.route)
				return
			}
		}
	}
	s.unknown(c)
}

// unknown answers that a path does not exist.
func (s *Server) unknown(c *gin.Context) {
	s.answer(c, func(r *Call) error {
		if err := r.charges.admitAddress(clientAddr(c)); err != nil {
			return err
		}
		return message.PathUnknown.Error(nil)
	})
}

// encodedDots are spellings of a dot in a path.
var encodedDots = strings.NewReplacer("%2e", ".", "%2E", ".")

// refuseDots answers that a path does not exist if its segments "." and ".." lead out of its
// first one: for clients and proxies that resolve them, it is another path. An id that is one
// of them is refused as an id.
func (s *Server) refuseDots(c *gin.Context) {
	if !strings.Contains(c.Request.URL.Path, "/.") {
		return
	}
	plain := encodedDots.Replace(c.Request.URL.EscapedPath())
	first, _, _ := strings.Cut(strings.TrimPrefix(plain, "/"), "/")
	if !strings.HasPrefix(path.Clean(plain)+"/", "/"+first+"/") {
		s.unknown(c)
	}
}

// routerPath is a pattern as the router writes it.
func routerPath(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			if rest, all := strings.CutSuffix(name, "..."); all {
				segments[i] = "*" + rest
			} else {
				segments[i] = ":" + name
			}
		}
	}
	return strings.Join(segments, "/")
}

// fixed serves a route outside the API.
func (s *Server) fixed(c *gin.Context, route *Route) {
	s.answer(c, func(r *Call) (err error) {
		for _, param := range c.Params {
			r.path = append(r.path, pathValue{param.Key, strings.TrimPrefix(param.Value, "/")})
		}
		if !route.Public { // the query may hold a token
			if r.parameters, err = ParseQuery(c.Request.URL.RawQuery); err != nil {
				return err
			}
		}
		return r.serve(route, nil)
	})
}

// api serves everything below /api/v1. It resolves paths itself, because types
// come and go while the service runs, and because an id may hold a slash.
func (s *Server) api(c *gin.Context) {
	s.answer(c, func(r *Call) (err error) {
		if r.parameters, err = ParseQuery(c.Request.URL.RawQuery); err != nil {
			return err
		}
		r.noted.parameters = r.parameters
		return r.serve(s.resolve(r))
	})
}

// answer runs a call, and answers with the error that it returns.
func (s *Server) answer(c *gin.Context, run func(*Call) error) {
	r := &Call{s: s, c: c, charges: charges{limiters: &s.limiters, header: c.Writer.Header()}, noted: notedOf(c.Writer)}
	r.unbound = engine.WithDoubt(c.Request.Context(), &r.doubt)
	r.attribute()
	s.nameSchemas(c.Writer.Header(), c.Request.URL.Path)
	defer r.close()
	err := run(r)
	if r.doubt.Load() {
		warn(r.Header(), message.WarningOwnersInDoubt.With(nil))
	}
	if err != nil && c.Writer.Written() {
		s.logger(c).Error("answer broken off", slog.String("cause", err.Error()))
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		s.fail(c, err)
	}
}

// resolve finds the route that a path below /api/v1 leads to, and makes that of a
// type. An error is of kind NotFound, or Malformed for an id that no object can
// have.
func (s *Server) resolve(r *Call) (*Route, error) {
	// A token must not become an id, and with it a part of a url.
	if _, found := withoutToken(r.c.Request.URL.Path); found {
		return nil, message.TokenInPath.Error(nil)
	}
	path, err := segments(r.c.Request.URL.EscapedPath())
	if err != nil {
		return nil, err
	}
	if route, values := s.routes.find(path); route != nil {
		r.path = values
		return route, nil
	}
	t, err := s.Engine.Type(path[0])
	if err == nil && t.Secluded() && r.authenticate() != nil { // then it does not matter what the path leads to
		err = message.TypeUnknown.Error(message.Params{"type": path[0]})
	}
	if err == nil {
		err = mustKnow(s.Engine.Access, r.caller, t, path[0], r.parameters["context"])
	}
	if err != nil {
		return nil, err
	}
	present := t.Served().Name
	if path[0] != present {
		r.Deprecate(t, apiPath)
	}
	r.noted.typeName = present
	return (&objects{Call: r, t: t, template: apiPath + present}).route(path[1:])
}

// route returns the route that the segments of a path below a type lead to.
func (o *objects) route(below []string) (*Route, error) {
	t := o.t
	if t.Parent != "" {
		switch {
		case len(below) > 0:
		case o.c.Request.Method == http.MethodOptions: // of a type that exists
			return &Route{Path: o.template}, nil
		default:
			return nil, message.ParentMissing.Error(message.Params{"type": t.Name, "parent": o.s.Engine.Registry().Path(t.Shape.Properties[t.Parent].Ref.Type)})
		}
		o.parent, below, o.template = below[0], below[1:], o.template+"/{"+t.Parent+"}"
		if !document.ValidID(o.parent) {
			return nil, message.BadID.Error(message.Params{"id": strings.ToValidUTF8(o.parent, "\ufffd")})
		}
	}
	if len(below) == 0 {
		return o.collection(), nil
	}
	o.id, o.template = below[0], o.template+"/{id}"
	switch {
	case len(below) == 1:
		return o.object()
	case len(below) == 2 && below[1] == erasePath && t.Shape.HasPersonal:
		return o.erasure()
	}
	return nil, message.PathUnknown.Error(nil)
}

// collection is the route of the objects of a type, or of those below a parent, or the
// Route of its content type.
func (o *objects) collection() *Route {
	if form := o.form(); form != nil {
		return form
	}
	methods := o.t.ListMethods()
	if o.t.Parent != "" {
		methods = o.s.routes.methodsBelow(o.t, o.template)
	}
	return &Route{Path: o.template, Methods: methods, Operation: operationOf(o.c.Request, false), keyed: true, publicObjects: o.t.Public != nil, Serve: func(*Call) error {
		switch {
		case reads(o.c.Request):
			return o.list()
		case o.t.Parent != "":
			return message.MediaType.Error(message.Params{"value": o.c.GetHeader("Content-Type"), "expected": formType})
		}
		return o.writeObjects()
	}}
}

// form returns the Route of the request's content type at a path of a type, or nil.
func (o *objects) form() *Route {
	method := o.c.Request.Method
	form := o.s.routes.form(o.template, method, o.c.GetHeader("Content-Type"))
	if form == nil || !slices.Contains(o.t.Methods, method) {
		return nil
	}
	o.path = []pathValue{{"id", o.id}, {o.t.Parent, o.parent}}
	return form
}

// object is the route of one object, or the Route of its content type.
func (o *objects) object() (*Route, error) {
	if err := checkID(o.t, o.id); err != nil {
		return nil, err
	}
	if form := o.form(); form != nil {
		return form, nil
	}
	return &Route{Path: o.template, Methods: o.t.ObjectMethods(), Operation: operationOf(o.c.Request, true), cost: readCost, keyed: true, publicObjects: o.t.Public != nil, Serve: func(*Call) error {
		switch {
		case reads(o.c.Request):
			return o.get()
		case o.c.Request.Method == http.MethodDelete:
			return o.remove()
		}
		return o.writeObject()
	}}, nil
}

// segments splits the escaped path after /api/v1 and unescapes each segment. A
// trailing slash is ignored.
func segments(escaped string) ([]string, error) {
	rest, found := strings.CutPrefix(escaped, "/api/v1/")
	if !found {
		return nil, message.PathUnknown.Error(nil)
	}
	if rest = strings.TrimSuffix(rest, "/"); rest == "" {
		return nil, message.PathUnknown.Error(nil)
	}
	parts := strings.Split(rest, "/")
	for i, part := range parts {
		unescaped, err := url.PathUnescape(part)
		if err != nil {
			return nil, message.PathUnknown.Error(nil)
		}
		parts[i] = unescaped
	}
	return parts, nil
}
