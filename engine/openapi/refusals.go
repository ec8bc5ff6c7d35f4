package openapi

import (
	"cmp"
	"maps"
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
	public       class = "public"
	file         class = "file"
	plain        class = "plain"
	inNetwork    class = "network"
	reading      class = "read"
	listing      class = "list"
	listingBelow class = "listBelow"
	writing      class = "write"
	collecting   class = "collection"
	batching     class = "batch"
	removing     class = "remove"
)

// classes are all classes of operations.
var classes = []class{public, file, plain, inNetwork, reading, listing, listingBelow, writing, collecting, batching, removing}

// The messages with which each class of operation can be refused, besides those of
// the classes that it is made of.
var (
	anyRequest = []*message.Definition{message.RequestSyntax, message.HeadersTooLarge, message.RequestsTooMany, message.RateExceeded,
		message.DeadlineExceeded, message.Starting, message.ShuttingDown, message.ServerBusy, message.SpoolFull, message.StoreUnavailable,
		message.StoreDamaged, message.InternalError}
	ofFiles       = []*message.Definition{message.ContentChanged, message.RangeUnsatisfied}
	authenticated = []*message.Definition{message.TokenMissing, message.TokenInvalid, message.TokenTwice, message.TokenInPath, message.TokenInURL,
		message.HeaderInvalid, message.QuerySyntax, message.ParameterRepeated, message.ParameterUnknown, message.ParameterInvalid}
	ofNetworks = []*message.Definition{message.ParameterMissing, message.NetworkForbidden, message.ReadForbidden}
	ofObjects  = []*message.Definition{message.ObjectNotFound, message.BadID}
	ofReads    = []*message.Definition{message.FieldUnknown, message.FieldNotQueryable, message.PositionInvalid}
	ofLists    = []*message.Definition{message.FieldNotSortable, message.WhereSyntax, message.WhereTooLong, message.CursorInvalid,
		message.ParameterConflict, message.BadID}
	ofWrites = []*message.Definition{message.BodySyntax, message.BodyDuplicateName, message.BodyEncoding, message.BodyTooDeep,
		message.BodyIncomplete, message.BodyTooSlow, message.BodyCompression, message.BodyTooLarge, message.ObjectTooLarge, message.TooManyValues,
		message.BatchTooLarge, message.MediaType, message.ContentEncoding, message.BodyNotObject, message.IDMismatch,
		message.PermissionMissing, message.ResultInvisible, message.VersionMismatch, message.AlreadyExists, message.ConflictUnresolved,
		message.StoreFull, message.OutcomeUnknown, message.SchemaOutdated, message.IdempotencyKeysTooMany}
	ofRemovals = []*message.Definition{message.PermissionMissing, message.VersionMismatch, message.AlreadyExists,
		message.ObjectReferenced, message.ConflictUnresolved, message.StoreFull, message.OutcomeUnknown, message.SchemaOutdated}
	ofCollections = []*message.Definition{message.BodyNotObjects, message.TooManyObjects}
	ofBatches     = []*message.Definition{message.BatchCondition, message.BatchMember, message.BatchTypeUnknown}
)

// messages are those of a class. Writes can be refused with others, which depend on
// their types.
func (c class) messages() []*message.Definition {
	switch c {
	case public:
		return anyRequest
	case file:
		return slices.Concat(anyRequest, ofFiles)
	case plain:
		return slices.Concat(anyRequest, authenticated)
	case inNetwork:
		return slices.Concat(plain.messages(), ofNetworks)
	case reading:
		return slices.Concat(inNetwork.messages(), ofObjects, ofReads, []*message.Definition{message.VersionMismatch})
	case listing:
		return slices.Concat(inNetwork.messages(), ofReads, ofLists)
	case listingBelow: // of a parent
		return slices.Concat(listing.messages(), []*message.Definition{message.ObjectNotFound})
	case writing:
		return slices.Concat(inNetwork.messages(), ofObjects, ofWrites, always)
	case removing:
		return slices.Concat(inNetwork.messages(), ofObjects, ofRemovals)
	case batching: // the schema of batches has the others
		return writing.messages()
	}
	return slices.Concat(writing.messages(), ofCollections)
}

// writes reports whether operations of a class write objects.
func (c class) writes() bool { return c.base() == writing }

// base is the class whose refusals are the default response of the operations of a class.
func (c class) base() class {
	switch c {
	case public, file, plain:
		return public
	case writing, collecting, batching:
		return writing
	}
	return inNetwork
}

// refusals are the responses to refused requests of a class with more messages than those
// of the class. The default is that of the base of the class: statuses for which an
// operation has other codes have responses of their own. New components have names that
// begin with a name.
func (b *builder) refusals(c class, name string, more []*message.Definition) object {
	ofBase := byStatus(slices.Concat(c.base().messages(), b.unlistedOf(c)))
	out := object{"default": refTo("responses", camel(string(c.base()))+refusedSuffix)}
	for status, messages := range byStatus(slices.Concat(c.messages(), b.unlistedOf(c), more)) {
		if status == values || status == malformed && !c.writes() || !slices.Equal(messages, ofBase[status]) {
			out[status] = b.refusal(name+status, messages)
		}
	}
	return out
}

// Statuses with responses of their own: that of values that are refused, and, so
// that each operation has one, that of reads which cannot be understood.
const (
	values    = "422"
	malformed = "400"
)

// unlistedOf returns the messages of the application that belong to no type, for writes.
func (b *builder) unlistedOf(c class) []*message.Definition {
	if !c.writes() {
		return nil
	}
	return b.unlisted
}

// byStatus returns messages by their status, each once and in the order of their codes.
func byStatus(messages []*message.Definition) map[string][]*message.Definition {
	out := map[string][]*message.Definition{}
	for _, m := range messages {
		out[statusOf(m)] = append(out[statusOf(m)], m)
	}
	for status, all := range out {
		slices.SortFunc(all, func(a, b *message.Definition) int { return strings.Compare(a.Code, b.Code) })
		out[status] = slices.Compact(all)
	}
	return out
}

// shareRefusals adds the responses that the operations of a class share, so that they have
// the name of the class. Those of types have no others: a response of one type would
// depend, with its name or its codes, on which other types there are.
func (b *builder) shareRefusals() {
	for _, c := range classes {
		name := camel(string(c))
		all := slices.Concat(c.messages(), b.unlistedOf(c))
		for status, messages := range byStatus(all) {
			b.refusal(name+status, messages)
		}
		if c == c.base() {
			b.refusal(name+refusedSuffix, slices.DeleteFunc(all, func(m *message.Definition) bool {
				return statusOf(m) == values || statusOf(m) == malformed && !c.writes()
			}))
		}
	}
}

// refusal returns a reference to the component for a response with one of some messages,
// which has the name of the first operations that needed it, with a number if operations
// of that name need another one.
func (b *builder) refusal(name string, messages []*message.Definition) object {
	slices.SortFunc(messages, func(a, b *message.Definition) int { return strings.Compare(a.Code, b.Code) })
	messages = slices.Compact(messages)
	var key strings.Builder
	for _, m := range messages {
		key.WriteString(m.Code + " ")
	}
	if b.refused[key.String()] == "" {
		for first, i := name, 2; b.answers[name] != nil; i++ {
			name = first + "Or" + strconv.Itoa(i)
		}
		b.refused[key.String()] = name
		b.answers[name] = b.refusalOf(messages)
	}
	return refTo("responses", b.refused[key.String()])
}

// ofTypes returns the messages of a class of operations that depend on a type, or on all
// types if t is nil. The schemas of batches have theirs, as those of types do.
func (b *builder) ofTypes(c class, t *schema.Type) (all []*message.Definition) {
	switch {
	case !c.writes() || c == batching:
		return nil
	case t != nil:
		return b.ofValues(t)
	}
	for _, t := range b.types.Types() {
		all = append(all, b.ofValues(t)...)
	}
	return all
}

// statusOf is the status of a response with a message.
func statusOf(m *message.Definition) string { return strconv.Itoa(rest.Status(m.Kind)) }

// declared are the messages of faults that the schema of a type declares.
func declared(t *schema.Type) (all []*message.Definition) {
	for _, rule := range t.Rules {
		if rule.Check != nil {
			all = append(append(all, rule.Message), rule.Others...)
		}
	}
	return all
}

// ofStatus are the headers of responses with a status, besides those of every refusal.
var ofStatus = map[string][]string{"401": {"WWW-Authenticate"}, "429": {"Retry-After"}, "503": {"Retry-After"}}

// refusalOf is the response with one of some messages. It has an example for each status:
// of a message whose example other responses have already, or else of the shortest.
func (b *builder) refusalOf(messages []*message.Definition) object {
	codes, shown := make([]any, len(messages)), map[string]*message.Definition{}
	rank := func(m *message.Definition) int {
		if b.shown[m] != "" {
			return 0
		}
		return len(m.Text)
	}
	for i, m := range messages {
		codes[i] = m.Code
		if status := statusOf(m); shown[status] == nil || rank(m) < rank(shown[status]) {
			shown[status] = m
		}
	}
	statuses := slices.Sorted(maps.Keys(shown))
	with, each := []string{"RateLimit", "RateLimit-Policy"}, object{}
	for _, status := range statuses {
		m, name := shown[status], status
		if b.shown[m] == "" && b.examples[name] != nil {
			name = m.Code
		}
		b.shown[m] = cmp.Or(b.shown[m], name)
		b.examples[b.shown[m]] = object{"value": problem(rest.Status(m.Kind), m)}
		each[status] = refTo("examples", b.shown[m])
		with = append(with, ofStatus[status]...)
	}
	description := "The request was refused, or failed: " + strings.Join(statuses, ", ") + "."
	if len(statuses) == 1 {
		description, with = http.StatusText(rest.Status(messages[0].Kind)), nil
	}
	response := object{"description": description, "x-codes": codes,
		"content": object{"application/problem+json": object{"schema": refTo("schemas", "Problem"), "examples": each}}}
	if len(with) > 0 {
		response["headers"] = headers(with...)
	}
	return response
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
