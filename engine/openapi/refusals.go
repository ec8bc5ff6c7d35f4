package openapi

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"marquee/engine/message"
	"marquee/engine/rest"
	"marquee/engine/schema"
)

// class is a kind of operation: operations of one class are refused for the same
// reasons.
type class string

const (
	public  class = "public"
	file    class = "file"
	plain   class = "plain"
	reading class = "read"
	listing class = "list"
	writing class = "write"
)

// classes are all classes of operations.
var classes = []class{public, file, plain, reading, listing, writing}

// The messages with which each class of operation can be refused, besides those of
// the classes that it is made of.
var (
	anyRequest    = []*message.Definition{message.RequestSyntax}
	ofFiles       = []*message.Definition{message.ContentChanged, message.RangeUnsatisfied}
	authenticated = []*message.Definition{message.TokenMissing, message.TokenInvalid, message.TokenTwice, message.TokenInPath, message.TokenInURL,
		message.QuerySyntax, message.ParameterRepeated, message.ParameterUnknown, message.ParameterInvalid, message.ParameterMissing,
		message.NetworkForbidden, message.ReadForbidden}
	ofObjects = []*message.Definition{message.ObjectNotFound, message.BadID}
	ofReads   = []*message.Definition{message.FieldUnknown, message.FieldNotQueryable}
	ofLists   = []*message.Definition{message.FieldNotSortable, message.WhereSyntax, message.WhereTooLong, message.CursorInvalid,
		message.ParameterConflict, message.BadID}
	ofWrites = []*message.Definition{message.BodySyntax, message.BodyDuplicateName, message.BodyEncoding, message.BodyTooDeep,
		message.BodyNotObject, message.BodyNotObjects, message.BodyIncomplete, message.BodyCompression,
		message.BodyTooLarge, message.BatchTooLarge, message.ObjectTooLarge, message.TooManyObjects, message.TooManyValues,
		message.MediaType, message.ContentEncoding, message.HeaderInvalid, message.IDMismatch,
		message.PermissionMissing, message.ResultInvisible, message.VersionMismatch, message.AlreadyExists, message.ConflictUnresolved}
)

// otherwise are the messages of the response that is the default of every operation:
// those that do not depend on what is asked for.
var otherwise = []*message.Definition{message.InternalError, message.HeadersTooLarge, message.PathUnknown, message.ParentMissing, message.MethodUnsupported,
	message.TypeUnknown, message.RequestsTooMany, message.RateExceeded, message.BodyTooSlow, message.DeadlineExceeded, message.Starting, message.ShuttingDown,
	message.ServerBusy, message.SpoolFull, message.StoreUnavailable, message.StoreDamaged, message.StoreFull, message.OutcomeUnknown,
	message.SchemaOutdated}

// messages are those of a class, without those about values, which depend on the
// schemas.
func (c class) messages() []*message.Definition {
	switch c {
	case public:
		return anyRequest
	case file:
		return slices.Concat(anyRequest, ofFiles)
	case plain:
		return slices.Concat(anyRequest, authenticated)
	case reading:
		return slices.Concat(anyRequest, authenticated, ofObjects, ofReads, []*message.Definition{message.VersionMismatch})
	case listing:
		return slices.Concat(anyRequest, authenticated, ofReads, ofLists)
	}
	return slices.Concat(anyRequest, authenticated, ofObjects, ofWrites)
}

// refusals are the responses to refused requests of a class. A write is refused also
// for reasons that depend on its type, or for those of all types if t is nil.
func (b *builder) refusals(c class, t *schema.Type) object {
	own, out := byStatus(b.ofTypes(c, t)), object{}
	for status, all := range byStatus(slices.Concat(c.messages(), b.ofTypes(c, t))) {
		name := camel(string(c))
		switch {
		case own[status] == nil:
		case t == nil:
			name = "AnyWrite"
		default:
			name = b.components.named[location{file: typeFile(t)}] + name
		}
		out[status] = b.refusal(name, status, all)
	}
	return out
}

// refusal returns a reference to the component for the response of a status with some
// messages, which has the name of the first operations that needed it.
func (b *builder) refusal(name, status string, messages []*message.Definition) object {
	messages = slices.Compact(slices.SortedFunc(slices.Values(messages), func(a, b *message.Definition) int { return strings.Compare(a.Code, b.Code) }))
	key := status
	for _, m := range messages {
		key += " " + m.Code
	}
	if b.refused[key] == "" {
		b.refused[key] = name + "Refused" + status
		b.answers[b.refused[key]] = b.refusalOf(status, messages)
	}
	return refTo("responses", b.refused[key])
}

// ofTypes returns the messages of a class of operations that depend on a type, or on all
// types if t is nil.
func (b *builder) ofTypes(c class, t *schema.Type) (all []*message.Definition) {
	switch {
	case c != writing:
		return nil
	case t != nil:
		return b.ofValues(t)
	}
	for _, t := range b.types.Types() {
		all = append(all, b.ofValues(t)...)
	}
	return all
}

// byStatus returns messages by their status.
func byStatus(messages []*message.Definition) map[string][]*message.Definition {
	out := map[string][]*message.Definition{}
	for _, m := range messages {
		status := strconv.Itoa(rest.Status(m.Kind))
		out[status] = append(out[status], m)
	}
	return out
}

// declared are the messages of faults that the schema of a type declares.
func declared(t *schema.Type) (all []*message.Definition) {
	if t.Frozen != nil {
		all = append(all, t.Frozen.Fault)
	}
	for _, compare := range t.Compare {
		all = append(all, compare.Fault)
	}
	return all
}

// refusalOf is the response of a status, with one of the messages as an example: if
// possible, one that is the example of another response already.
func (b *builder) refusalOf(status string, messages []*message.Definition) object {
	number, _ := strconv.Atoi(status)
	extra := map[int][]string{http.StatusUnauthorized: {"WWW-Authenticate"}, http.StatusTooManyRequests: {"Retry-After"}}
	codes := make([]any, len(messages))
	for i, m := range messages {
		codes[i] = m.Code
	}
	shown := messages[max(0, slices.IndexFunc(messages, func(m *message.Definition) bool { return b.examples[m.Code] != nil }))]
	b.examples[shown.Code] = object{"value": problem(number, shown)}
	r := object{"description": http.StatusText(number), "x-codes": codes, "content": object{"application/problem+json": object{
		"schema": refTo("schemas", "Problem"), "examples": object{"refused": refTo("examples", shown.Code)}}}}
	if names := extra[number]; names != nil {
		r["headers"] = headers(names...)
	}
	return r
}

// examples are values of the placeholders of messages.
var examples = message.Params{"field": "/name", "id": "spring", "objectId": "spring", "type": "orders", "context": "main", "index": 0, "line": 1, "column": 2,
	"limit": 1000, "parameter": "context", "permission": "MANAGE_BUSINESS", "method": "DELETE", "requestId": "yxws7fdhrjnnztr4"}

// problem is an example of a problem with a message.
func problem(status int, m *message.Definition) object {
	params := message.Params{}
	for _, name := range m.Placeholders() {
		params[name] = cmp.Or(examples[name], any(name))
	}
	one := m.With(params)
	return object{"type": rest.MessagePage(m.Code), "title": http.StatusText(status), "status": status, "detail": one.String(),
		"instance": "/api/v1/orders", "messages": []any{object{"type": m.Type, "code": m.Code, "text": m.Text, "params": params}}}
}
