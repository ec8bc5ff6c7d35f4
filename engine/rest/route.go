package rest

import (
	"cmp"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"marquee/engine/message"
	"marquee/engine/schema"
)

const (
	apiPath    = "/api/v1/"
	healthPath = "/healthz"
	readyPath  = "/readyz"
)

// Route is a path and what serves it. Everything that a Server answers is a
// Route, except the paths of types, which change with the schemas.
type Route struct {
	// Path is a pattern: a parameter such as {id} matches one segment, and
	// {rest...} at the end matches all remaining segments, of which there may be none. A trailing slash in a
	// request is ignored.
	Path string
	// Methods are the methods that Serve answers. The server itself answers
	// OPTIONS, and rejects other methods with the status 405.
	Methods []string
	// Public routes are served without an access token: Call.Caller is nil.
	Public bool
	// Operator routes exist for the operator alone (Server.Operator): for all others,
	// the path is unknown.
	Operator bool
	// ContentType restricts the route to writes whose body has this media type. Its
	// Path repeats the path of a type's objects, such as /api/v1/orders/{id}, or that
	// of a type below a parent, and all other requests to it remain with the type.
	ContentType string
	// Deadline is the longest that a request may take, for routes that need more than
	// Config.Deadline, which holds if it is longer.
	Deadline time.Duration
	// ContentSecurityPolicy replaces APIPolicy in the responses of Serve, for a route
	// that serves pages. Errors keep APIPolicy.
	ContentSecurityPolicy string
	// Unlimited routes do not count towards Config.RateLimits. Without an access token,
	// they need no share of the memory budget either.
	Unlimited bool
	// Refuse answers a request that a rate limit refuses, or returns an error that the
	// server answers with; nil means a problem document.
	Refuse func(*Call, error) error
	// Operation is what a Meter counts the requests as; the zero value is OperationOther,
	// or OperationOperator for a route of the operator.
	Operation Operation
	// Serve writes the answer, or returns an error that the server answers with.
	// While it serves GET or HEAD, the call holds a share of the memory budget, which
	// is smaller if the route is public. Content returns it before it sends. A write
	// takes its share in Body, WriteStream or WriteForm.
	Serve func(*Call) error

	// cost replaces the cost of a page.
	cost int64
	// keyed routes store with an idempotency key what they write.
	keyed bool
	// publicObjects routes serve reads of public objects without a token (identify).
	publicObjects bool
}

// The methods of routes that only read, and of those that only write.
var (
	readMethods  = []string{http.MethodGet, http.MethodHead}
	writeMethods = []string{http.MethodPost, http.MethodPut}
)

// reads reports whether a request reads.
func reads(r *http.Request) bool { return slices.Contains(readMethods, r.Method) }

// acceptPatch lists the media types of merge patches (RFC 7396).
const acceptPatch = "application/merge-patch+json, application/json"

func (route *Route) allow() []string { return append(slices.Clone(route.Methods), http.MethodOptions) }

// template is the path as logs name it.
func (route *Route) template() string { return strings.ReplaceAll(route.Path, "...}", "}") }

// readCost is what GET and HEAD take of the memory budget.
func (route *Route) readCost() int64 {
	switch {
	case route.Public && route.Unlimited:
		return 0
	case route.Public:
		return publicCost
	case route.cost > 0:
		return route.cost
	}
	return pageCost
}

// routes finds the Route of a path below /api/v1/.
type routes struct {
	// literal has the routes without parameters, by path.
	literal map[string]*Route
	// patterns has those with parameters, with the segments of their paths.
	patterns []pattern
	// forms has those that share a type's path.
	forms []*Route
}

type pattern struct {
	route    *Route
	segments []string
}

func (s *routes) add(route *Route) {
	switch below, _ := strings.CutPrefix(route.Path, apiPath); {
	case route.ContentType != "":
		s.forms = append(s.forms, route)
	case strings.Contains(below, "{"):
		s.patterns = append(s.patterns, pattern{route, strings.Split(below, "/")})
	default:
		s.literal[below] = route
	}
}

// find returns the route of a path and the values of its parameters, or nil.
func (s *routes) find(path []string) (*Route, []pathValue) {
	if route := s.literal[strings.Join(path, "/")]; route != nil {
		return route, nil
	}
	for _, p := range s.patterns {
		if values, ok := p.match(path); ok {
			return p.route, values
		}
	}
	return nil, nil
}

// form returns the route that takes a write away from the objects of a type, or
// nil.
func (s *routes) form(path, method, contentType string) *Route {
	for _, route := range s.forms {
		if route.Path == path && slices.Contains(route.Methods, method) {
			if media, _, _ := mime.ParseMediaType(contentType); media == route.ContentType {
				return route
			}
		}
	}
	return nil
}

// methodsBelow returns the methods of the objects of a type below a parent: it is read,
// and written by the forms alone.
func (s *routes) methodsBelow(t *schema.Type, path string) []string {
	methods := slices.Clone(readMethods)
	for _, method := range writeMethods {
		if slices.Contains(t.Methods, method) && slices.ContainsFunc(s.forms, func(route *Route) bool {
			return route.Path == path && slices.Contains(route.Methods, method)
		}) {
			methods = append(methods, method)
		}
	}
	return methods
}

// match compares a path with the pattern, segment by segment.
func (p pattern) match(path []string) (values []pathValue, ok bool) {
	for i, segment := range p.segments {
		name, parameter := strings.CutPrefix(segment, "{")
		name = strings.TrimSuffix(name, "}")
		switch rest, all := strings.CutSuffix(name, "..."); {
		case parameter && all && i <= len(path):
			return append(values, pathValue{rest, strings.Join(path[i:], "/")}), true
		case i >= len(path):
			return nil, false
		case parameter && path[i] != "":
			values = append(values, pathValue{name, path[i]})
		case segment != path[i]:
			return nil, false
		}
	}
	return values, len(path) == len(p.segments)
}

// checkRoutes returns an error for routes that cannot be served.
func checkRoutes(all []Route) error {
	seen := map[string]bool{}
	for _, route := range all {
		key := route.Path + " " + route.ContentType
		switch {
		case !strings.HasPrefix(route.Path, "/"), route.Serve == nil, len(route.Methods) == 0:
			return fmt.Errorf("route %q: it needs a path that begins with a slash, methods and Serve", route.Path)
		case route.ContentType != "" && !strings.HasPrefix(route.Path, apiPath):
			return fmt.Errorf("route %q: only a path below %s can have a ContentType", route.Path, apiPath)
		case seen[key]:
			return fmt.Errorf("route %q: there are two of them", route.Path)
		}
		seen[key] = true
	}
	return nil
}

// serve answers with the route that a path led to; err says why it led to none.
func (r *Call) serve(route *Route, err error) error {
	method := r.c.Request.Method
	r.deadline = r.s.Deadline
	if err == nil {
		r.noted.route, r.noted.operation = route.template(), cmp.Or(route.Operation, OperationOther)
		switch {
		case route.Operator:
			r.noted.operation = OperationOperator
		case method == http.MethodOptions:
			r.noted.operation = OperationOther
		}
		r.deadline = max(r.deadline, route.Deadline)
	}
	r.bind()
	if err == nil && route.Operator && !operated(r.Context()) {
		if err := r.charges.admitAddress(clientAddr(r.c)); err != nil {
			return err
		}
		return message.PathUnknown.Error(nil)
	}
	if method == http.MethodOptions {
		if err != nil {
			return err
		}
		r.c.Header("Allow", strings.Join(route.allow(), ", "))
		if slices.Contains(route.Methods, http.MethodPatch) {
			r.c.Header("Accept-Patch", acceptPatch)
		}
		return r.NoContent()
	}
	if refused, failed := r.identify(route, err); refused {
		return failed
	}
	switch {
	case err != nil:
		return err
	case !slices.Contains(route.Methods, method):
		refused := message.MethodUnsupported.Error(message.Params{"method": method})
		refused.Allow = route.allow()
		return refused
	}
	if err := r.readKey(route); err != nil {
		if route.Refuse != nil {
			return route.Refuse(r, err)
		}
		return err
	}
	if cost := route.readCost(); cost > 0 && reads(r.c.Request) {
		if err := r.take(cost); err != nil {
			return err
		}
	}
	if route.Deadline > r.s.Deadline {
		extend(r.c.Writer, route.Deadline)
	}
	if route.ContentSecurityPolicy != "" {
		r.Header().Set("Content-Security-Policy", route.ContentSecurityPolicy)
	}
	return route.Serve(r)
}

// answerTime is how long a response may take that was complete at the deadline.
const answerTime = time.Minute

// extend replaces the timeouts of the connection for a route whose deadline is
// longer than the server's.
func extend(w http.ResponseWriter, deadline time.Duration) {
	control, until := http.NewResponseController(w), time.Now().Add(deadline)
	// An error means that the connection has no deadlines to extend.
	_ = control.SetReadDeadline(until)
	_ = control.SetWriteDeadline(until.Add(answerTime))
}

// identify authenticates the caller and applies the rate limits, as far as the route
// demands them. A path that leads to no route, as err says, demands both. A refusal has
// an error, unless the route has answered it.
func (r *Call) identify(route *Route, err error) (refused bool, _ error) {
	found := err == nil
	refuse := func(failed error) (bool, error) {
		if found && route.Refuse != nil {
			return true, route.Refuse(r, failed)
		}
		return true, failed
	}
	if !found || !route.Unlimited {
		if failed := r.charges.admitAddress(clientAddr(r.c)); failed != nil {
			return refuse(failed)
		}
	}
	if !found || !route.Public {
		recognise := r.authenticate
		if found && route.publicObjects && reads(r.c.Request) && r.parameters["context"] != "" {
			recognise = r.recognise
		}
		if failed := recognise(); failed != nil {
			return true, failed
		}
		if !operated(r.Context()) {
			if failed := r.charges.admit(r.s.limiters.caller, r.account()); failed != nil {
				return refuse(failed)
			}
		}
	}
	r.attribute()
	if name := r.parameters["context"]; r.caller != nil && name != "" {
		if _, member := r.caller.Grants[name]; member {
			r.noted.network = name
		}
	}
	if out := outboxOf(r.c.Writer); out != nil {
		out.caller = r.account()
	}
	return false, nil
}
