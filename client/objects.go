package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"iter"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Objects are the objects of a type in a network, as values of a Go type that is
// encoded in JSON. A field that can be absent needs omitempty or omitzero: a property
// that is sent replaces the stored one.
type Objects[T any] struct {
	network *Network
	path    string
}

// Of returns the objects of a type, such as orders, or of the type beneath an object,
// such as assets/ and the id of a creative.
func Of[T any](n *Network, path string) Objects[T] {
	return Objects[T]{n, "/api/v1/" + path}
}

func (o Objects[T]) at(id string) string { return o.path + "/" + url.PathEscape(id) }

// Get returns an object and its entity tag, with which it can be updated. Fields are
// the properties to return, all if there are none. If the caller may not see the
// object, the status is 404, too.
func (o Objects[T]) Get(ctx context.Context, id string, fields ...string) (object T, tag string, err error) {
	r := &request{method: http.MethodGet, path: o.at(id), query: o.network.query(nil), idempotent: true}
	if len(fields) > 0 {
		r.query.Set("fields", strings.Join(fields, ","))
	}
	answer, err := o.network.client.send(ctx, r, &object)
	if err != nil {
		return object, "", err
	}
	return object, answer.header.Get("ETag"), nil
}

// A WriteOption changes how objects are written.
type WriteOption func(*request)

// IfMatch writes only if the object has still the version of an entity tag, and is
// otherwise refused with the status 412.
func IfMatch(tag string) WriteOption {
	return func(r *request) { r.set("If-Match", tag); r.idempotent = false }
}

// IfExists writes objects that exist, and is otherwise refused with the status 412.
func IfExists() WriteOption { return func(r *request) { r.set("If-Match", "*") } }

// IfAbsent writes objects that do not exist, and is otherwise refused with the status
// 412.
func IfAbsent() WriteOption {
	return func(r *request) { r.set("If-None-Match", "*"); r.idempotent = false }
}

// ValidateOnly checks the request and stores nothing; the result is what would be
// stored.
func ValidateOnly() WriteOption {
	return func(r *request) { r.query.Set("validateOnly", "true"); r.idempotent = true }
}

// Strict refuses properties that the server does not know, instead of dropping them.
func Strict() WriteOption { return func(r *request) { r.query.Set("fieldValidation", "Strict") } }

// write sends an object, several, or a batch. A request that would not have the same effect
// twice has an idempotency key, unless the server does not support that, as for new API tokens.
func (n *Network) write(ctx context.Context, method, path string, in, out any, idempotent bool, options []WriteOption) error {
	r := &request{method: method, path: path, query: n.query(nil), idempotent: idempotent}
	if err := r.json(in); err != nil {
		return err
	}
	for _, option := range options {
		option(r)
	}
	keyed := !r.idempotent && method != http.MethodDelete
	if keyed {
		r.set("Idempotency-Key", rand.Text())
		r.idempotent = true
	}
	_, err := n.client.send(ctx, r, out)
	if keyed && (HasCode(err, codeHeaderInvalid) || HasCode(err, codeKeysTooMany)) {
		r.header.Del("Idempotency-Key")
		r.idempotent = false
		_, err = n.client.send(ctx, r, out)
	}
	return err
}

// Save creates an object or updates it, and returns it as it is stored. The value is
// one of T, or any other that is encoded as an object: properties that it does not have
// keep their values, and null removes one. It is sent again if a response is lost.
func (o Objects[T]) Save(ctx context.Context, id string, value any, options ...WriteOption) (saved T, err error) {
	err = o.network.write(ctx, http.MethodPost, o.at(id), value, &saved, true, options)
	return saved, err
}

// Patch changes an object that exists by a merge patch (RFC 7396), and returns it as it is
// stored. The patch is encoded as an object: members of it and of objects within it
// change, others keep their values, null removes one, and arrays are replaced. It is sent
// again if a response is lost. If there is no such object, or the caller may not see it,
// the status is 404.
func (o Objects[T]) Patch(ctx context.Context, id string, patch any, options ...WriteOption) (saved T, err error) {
	err = o.network.write(ctx, http.MethodPatch, o.at(id), patch, &saved, true, options)
	return saved, err
}

// Remove removes an object of a type that supports it. If other objects refer to it, the
// status is 409; if there is no such object, or the caller may not see it, 404. It is not
// sent again if a response is lost.
func (o Objects[T]) Remove(ctx context.Context, id string, options ...WriteOption) error {
	return o.network.write(ctx, http.MethodDelete, o.at(id), nil, nil, false, options)
}

// SaveAll creates or updates several objects in one transaction, at most 1,000, and
// returns them in their order. Values that are no T, such as maps, change only the
// properties that they have. The request is sent again if its response is lost.
func (o Objects[T]) SaveAll(ctx context.Context, values any, options ...WriteOption) ([]T, error) {
	encoded, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	var answer struct {
		Results []T `json:"results"`
	}
	err = o.network.write(ctx, http.MethodPost, o.path, json.RawMessage(encoded), &answer, haveIDs(encoded), options)
	return answer.Results, err
}

// haveIDs reports whether each object of an array has an id.
func haveIDs(encoded []byte) bool {
	var objects []struct {
		ID *string `json:"id"`
	}
	if json.Unmarshal(encoded, &objects) != nil {
		return false
	}
	for _, object := range objects {
		if object.ID == nil || *object.ID == "" {
			return false
		}
	}
	return true
}

// maxUpdates is the maximum number of times that Update begins anew.
const maxUpdates = 20

// Update changes an object depending on its state: it reads the object, and writes what
// change returns for it, unless somebody else has changed the object meanwhile. In that case it
// begins anew, at most 20 times. The change has the properties that are written, and may
// be a map; nil leaves the object as it is. An error of change is returned.
//
// If the response of the write is lost, it is sent again, and the change is made once.
func (o Objects[T]) Update(ctx context.Context, id string, change func(current T) (any, error)) (T, error) {
	for attempt := 1; ; attempt++ {
		current, tag, err := o.Get(ctx, id)
		if err != nil {
			return current, err
		}
		value, err := change(current)
		if err != nil || value == nil {
			return current, err
		}
		saved, err := o.Save(ctx, id, value, IfMatch(tag))
		if !HasStatus(err, http.StatusPreconditionFailed) || attempt == maxUpdates {
			return saved, err
		}
		if !pause(ctx, mathrand.N(time.Duration(attempt)*10*time.Millisecond)) { // #nosec G404 -- nothing secret depends on it
			return current, ctx.Err()
		}
	}
}

// List says which objects are listed, and how. The zero List is all that are not hidden.
type List struct {
	// Where are conditions, separated by semicolons, such as "createTime>3 days ago".
	Where string
	// Query are words that the objects contain.
	Query string
	// OrderBy is a property that the objects are ordered by; Descending reverses them.
	OrderBy    string
	Descending bool
	// Fields are the properties to return, all if there are none.
	Fields []string
	// PageSize is the number of objects requested at once, at most 1,000; 0 means 500.
	PageSize int
	// Parameters are further parameters, such as includeHidden.
	Parameters url.Values
}

func (l List) values() url.Values {
	values := url.Values{"count": {"false"}}
	for name, all := range l.Parameters {
		values[name] = all
	}
	for name, value := range map[string]string{"where": l.Where, "q": l.Query, "orderBy": l.OrderBy, "fields": strings.Join(l.Fields, ",")} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if l.Descending {
		values.Set("orderByDirection", "DESCENDING")
	}
	if l.PageSize > 0 {
		values.Set("pageSize", strconv.Itoa(l.PageSize))
	}
	return values
}

// All iterates over the objects of a list, with a request for each page. After an
// error, the iteration ends.
func (o Objects[T]) All(ctx context.Context, list List) iter.Seq2[T, error] {
	return Iterate[T](ctx, o.network, o.path, list.values())
}

// Iterate iterates over the results of a path that has pages with cursors, such as
// /api/v1/audit and /api/v1/notifications. The parameter pageSize is 500 if it is not
// given. After an error, the iteration ends.
func Iterate[T any](ctx context.Context, n *Network, path string, parameters url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		query := n.query(parameters)
		if !query.Has("pageSize") {
			query.Set("pageSize", "500")
		}
		for {
			var page struct {
				Results    []T    `json:"results"`
				NextCursor string `json:"nextCursor"`
			}
			if _, err := n.client.send(ctx, &request{method: http.MethodGet, path: path, query: query, idempotent: true}, &page); err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, object := range page.Results {
				if !yield(object, nil) {
					return
				}
			}
			if page.NextCursor == "" {
				return
			}
			query.Del("page")
			query.Set("cursor", page.NextCursor)
		}
	}
}
