package openapi

import (
	"net/http"
	"slices"
	"strconv"

	"marquee/engine/message"
	"marquee/engine/rest"
	"marquee/engine/schema"
)

// class is a kind of operation: operations of one class are refused for the same
// reasons.
type class string

const (
	public  class = "public"
	plain   class = "plain"
	reading class = "read"
	listing class = "list"
	writing class = "write"
)

// The messages with which each class of operation can be refused, besides those of
// the classes that it is made of.
var (
	anyRequest = []*message.Definition{message.RequestSyntax, message.RequestsTooMany, message.HeadersTooLarge, message.PathUnknown,
		message.MethodUnsupported, message.InternalError, message.DeadlineExceeded, message.Starting, message.ShuttingDown}
	authenticated = []*message.Definition{message.TokenMissing, message.TokenInvalid, message.TokenTwice, message.TokenInPath, message.TokenInURL,
		message.QuerySyntax, message.ParameterRepeated, message.ParameterUnknown, message.ParameterInvalid, message.ParameterMissing,
		message.NetworkForbidden, message.ReadForbidden, message.ServerBusy, message.SpoolFull, message.StoreUnavailable, message.StoreDamaged, message.StoreFull}
	ofTypes = []*message.Definition{message.TypeUnknown, message.ObjectNotFound, message.BadID}
	ofReads = []*message.Definition{message.FieldUnknown, message.FieldNotQueryable, message.VersionMismatch}
	ofLists = []*message.Definition{message.FieldNotSortable, message.WhereSyntax, message.WhereTooLong, message.CursorInvalid,
		message.ParameterConflict}
	ofWrites = []*message.Definition{message.BodySyntax, message.BodyDuplicateName, message.BodyEncoding, message.BodyTooDeep,
		message.BodyNotObject, message.BodyNotObjects, message.BodyIncomplete, message.BodyTooSlow, message.BodyCompression,
		message.BodyTooLarge, message.BatchTooLarge, message.ObjectTooLarge, message.TooManyObjects, message.TooManyValues,
		message.MediaType, message.ContentEncoding, message.HeaderInvalid, message.IDMismatch, message.BatchMember,
		message.PermissionMissing, message.ResultInvisible, message.GrantNotHeld, message.GrantUnseen, message.UserNotManaged, message.UserRequired,
		message.NetworkNotManaged, message.VersionMismatch, message.AlreadyExists, message.ConflictUnresolved,
		message.OutcomeUnknown, message.SchemaOutdated, message.AttemptsTooMany, message.SignInsFailed}
)

// messages are those of a class, without those about values, which depend on the
// schemas.
func (c class) messages() []*message.Definition {
	switch c {
	case public:
		return anyRequest
	case plain:
		return slices.Concat(anyRequest, authenticated)
	case reading:
		return slices.Concat(anyRequest, authenticated, ofTypes, ofReads)
	case listing:
		return slices.Concat(anyRequest, authenticated, ofTypes, ofReads, ofLists)
	}
	return slices.Concat(anyRequest, authenticated, ofTypes, ofWrites)
}

// refusals are the responses to refused requests of a class. A write is refused also
// for the reasons that the application has, and that the schema of its type names;
// t may be nil.
func (b *builder) refusals(c class, t *schema.Type) object {
	found := c.messages()
	var own []*message.Definition
	if c == writing {
		found = append(found, b.values...)
		own = declared(t)
	}
	out := object{}
	for status, codes := range byStatus(found) {
		name := camel(string(c)) + "Refused" + status
		if mine := byStatus(own)[status]; len(mine) > 0 {
			name = names(t).one + name
			codes = slices.Concat(codes, mine)
		}
		b.answers[name] = refusal(status, codes)
		out[status] = refTo("responses", name)
	}
	return out
}

// byStatus returns the codes of messages by their status.
func byStatus(messages []*message.Definition) map[string][]string {
	out := map[string][]string{}
	for _, m := range messages {
		status := strconv.Itoa(rest.Status(m.Kind))
		out[status] = append(out[status], m.Code)
	}
	return out
}

// declared are the messages of faults that the schema of a type declares.
func declared(t *schema.Type) (all []*message.Definition) {
	if t == nil {
		return nil
	}
	if t.Frozen != nil {
		all = append(all, t.Frozen.Fault)
	}
	for _, compare := range t.Compare {
		all = append(all, compare.Fault)
	}
	return all
}

// refusal is the response of a status.
func refusal(status string, codes []string) object {
	slices.Sort(codes)
	codes = slices.Compact(codes)
	number, _ := strconv.Atoi(status)
	extra := map[int][]string{
		http.StatusUnauthorized: {"WWW-Authenticate"}, http.StatusMethodNotAllowed: {"Allow"},
		http.StatusTooManyRequests: {"Retry-After"}, http.StatusServiceUnavailable: {"Retry-After"},
	}
	r := object{"description": http.StatusText(number), "x-codes": codes,
		"content": object{"application/problem+json": object{"schema": refTo("schemas", "Problem")}}}
	if names := extra[number]; names != nil {
		r["headers"] = headers(names...)
	}
	return r
}

// ofValues are the messages about values in a catalogue: those of the engine, and
// those that the application adds and may refuse any write with.
func ofValues(types *schema.Registry) (all []*message.Definition) {
	builtIn, bySchema := message.BuiltIn(), map[string]bool{}
	for _, t := range types.Types() {
		for _, m := range declared(t) {
			bySchema[m.Code] = true
		}
	}
	for _, m := range types.Catalogue().All() {
		_, ofEngine := builtIn.Lookup(m.Code)
		if m.Kind == message.None || bySchema[m.Code] && !ofEngine || ofEngine && m.Kind != message.Invalid {
			continue
		}
		all = append(all, m)
	}
	return all
}
