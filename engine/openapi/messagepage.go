package openapi

import (
	"net/http"
	"slices"
	"strings"

	"marquee/engine/message"
	"marquee/engine/rest"
	"marquee/engine/schema"
	"marquee/engine/schema/keyword"
)

// textPolicy is the policy of pages without scripts.
const textPolicy = "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

var messagesTemplate, messageTemplate, noMessageTemplate = parsePage("messages.html"), parsePage("message.html"), parsePage("nomessage.html")

// messagePage is what the page of a message shows.
type messagePage struct {
	*message.Definition
	// Status is the HTTP status of an error, 0 for other messages; Reason is its name.
	Status int
	Reason string
	// Types are the types whose schemas declare the message.
	Types []*schema.Type
}

func newMessagePage(types *schema.Registry, d *message.Definition) messagePage {
	p := messagePage{Definition: d, Status: rest.Status(d.Kind), Reason: http.StatusText(rest.Status(d.Kind))}
	for _, t := range types.Types() {
		declares := slices.ContainsFunc(t.Rules, func(rule *keyword.Rule) bool { return rule.Message.Code == d.Code })
		if _, builtIn := engineMessages.Lookup(d.Code); declares && !builtIn {
			p.Types = append(p.Types, t)
		}
	}
	return p
}

// engineMessages are those of the engine, which schemas can use, too.
var engineMessages = message.BuiltIn()

// messageGroups are the sections of the page that lists all messages.
var messageGroups = []struct {
	Title, ID string
	Types     []string
}{
	{"Errors", "errors", []string{message.TypeError, message.TypeValidation}},
	{"Warnings", "warnings", []string{message.TypeWarning}},
	{"Notifications", "notifications", []string{message.TypeNotification}},
	{"History", "history", []string{message.TypeAudit}},
}

type messageGroup struct {
	Title, ID string
	Messages  []messagePage
}

// renderMessages returns the page that lists the messages of a catalogue.
func renderMessages(types *schema.Registry) ([]byte, error) {
	var groups []messageGroup
	for _, g := range messageGroups {
		group := messageGroup{Title: g.Title, ID: g.ID}
		for _, d := range types.Catalogue().All() {
			if slices.Contains(g.Types, d.Type) {
				group.Messages = append(group.Messages, newMessagePage(types, d))
			}
		}
		if len(group.Messages) > 0 {
			groups = append(groups, group)
		}
	}
	return execute(messagesTemplate, groups)
}

// messagesPath is the path of the page that lists all messages.
const messagesPath = "/docs/messages"

// messageRoutes are the routes of the pages of messages. The type of a problem names one
// of them (rest.MessagePage).
func (s *Documents) messageRoutes() []rest.Route {
	read := []string{http.MethodGet, http.MethodHead}
	return []rest.Route{
		{Path: messagesPath, Methods: read, Public: true, Operation: rest.OperationDocument, ContentSecurityPolicy: textPolicy, Serve: func(r *rest.Call) error {
			return s.serveText(r, messagesPath, renderMessages)
		}},
		{Path: messagesPath + "/{code}", Methods: read, Public: true, Operation: rest.OperationDocument, ContentSecurityPolicy: textPolicy, Serve: func(r *rest.Call) error {
			code := r.PathValue("code")
			public := r.Engine().Registry().Without(func(t *schema.Type) bool { return !anybody.knows(t) }, func(*schema.Type, string) bool { return true })
			d, known := public.Catalogue().Lookup(code)
			if !known {
				return serveNoMessage(r, code)
			}
			return s.serveText(r, rest.MessagePage(code), func(types *schema.Registry) ([]byte, error) {
				return execute(messageTemplate, newMessagePage(types, d))
			})
		}},
	}
}

// serveText answers with the page of a path.
func (s *Documents) serveText(r *rest.Call, path string, render func(*schema.Registry) ([]byte, error)) error {
	page, err := s.text(r, path, anybody, render)
	if err != nil {
		return err
	}
	return serveFile(r, pageTypes[".html"], page)
}

// maxTexts is the number of pages and schemas that are kept.
const maxTexts = 10_000

// text returns what is at a path for an audience, rendered once for the types that the
// engine serves.
func (s *Documents) text(r *rest.Call, path string, who audience, render func(*schema.Registry) ([]byte, error)) (content, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	types, hidden := s.known(r.Engine(), who)
	if path += "\x00" + hidden; len(s.texts) >= maxTexts {
		clear(s.texts)
	}
	if page, ok := s.texts[path]; ok {
		return page, nil
	}
	body, err := render(types)
	if err != nil {
		return content{}, err
	}
	s.texts[path] = newContent(body)
	return s.texts[path], nil
}

// serveNoMessage responds that a code does not exist: to browsers with a page.
func serveNoMessage(r *rest.Call, code string) error {
	r.Header().Add("Vary", "Accept")
	if !prefersHTML(strings.Join(r.Request().Header.Values("Accept"), ",")) {
		return message.PathUnknown.Error(nil)
	}
	body, err := execute(noMessageTemplate, code)
	if err != nil {
		return err
	}
	r.Header().Set("Cache-Control", "no-store")
	r.Send(http.StatusNotFound, pageTypes[".html"], body)
	return nil
}
