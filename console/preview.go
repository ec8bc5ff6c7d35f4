package console

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/rest"
)

const (
	// previewsFolder has the pages that tickets lead to.
	previewsFolder = "previews/"
	// ticketsPath gives tickets to callers who see an object.
	ticketsPath = "/api/console/previews/{type}/{id...}"
	// ticketTime is how long a ticket can be used.
	ticketTime = 20 * time.Second
	// maxTickets is the maximum number of tickets that a user, with all API tokens, has at once.
	maxTickets = 20
)

// maxAllTickets is the maximum number of tickets that a server remembers.
var maxAllTickets = 10_000

// previewPolicy is the Content-Security-Policy of a preview: its scripts run in an origin of
// their own, without the windows of others, and it calls nobody. It is completed with the
// sources of files.
const previewPolicy = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' FROM; style-src 'unsafe-inline' FROM; " +
	"img-src data: blob: FROM; media-src data: blob: FROM; font-src data: FROM; frame-src FROM; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

// previewHead comes before a preview, which may be a part of a page, and leaves no room around and below an image that
// is as large as the frame. It tells the page with the frame that a preview is shown, as frames load answers of all
// kinds alike.
const previewHead = `<!doctype html><style>body{margin:0}img{vertical-align:top}</style><script>parent.postMessage("shown","*")</script>`

// ticket allows somebody to see a page once. It is in its path, authenticated by the store, so
// that each server can serve the page, and has the digest of what its caller was allowed to see.
type ticket struct {
	Type    string `json:"type"`
	Network string `json:"network"`
	ID      string `json:"id"`
	// SHA256 is the digest of the page, Ends a time in milliseconds, and Nonce distinguishes tickets.
	SHA256 []byte `json:"sha256"`
	Ends   int64  `json:"ends"`
	Nonce  string `json:"nonce"`
	// Elsewhere allows files of all hosts.
	Elsewhere bool `json:"elsewhere,omitempty"`
}

// previews gives and uses tickets.
type previews struct {
	types map[string]Preview

	mu sync.Mutex
	// given are the tickets that this server has given, and used has the ends of those that it
	// has used, by their nonces.
	given map[string]given
	used  map[string]int64
}

// given is a ticket of a user, who is authenticated again when it is used.
type given struct {
	user  string
	ends  int64
	again func(context.Context) (*engine.Caller, error)
}

// give answers a caller who sees an object with the path of its preview.
func (p *previews) give(r *rest.Call) error {
	if err := r.Parameters().Only("elsewhere"); err != nil {
		return err
	}
	elsewhere, err := r.Parameters().Boolean("elsewhere")
	if err != nil {
		return err
	}
	one := ticket{Type: r.PathValue("type"), ID: r.PathValue("id"), Nonce: rand.Text(), Elsewhere: elsewhere}
	preview, known := p.types[one.Type]
	if !known {
		return message.PathUnknown.Error(nil)
	}
	t, err := r.Engine().Type(one.Type)
	if err != nil {
		return err
	}
	if one.Network, err = r.Network(t); err != nil {
		return err
	}
	if r.Engine().Seen(r.Caller(), t, one.Network).Shape.Properties[preview.Property] == nil {
		return message.PathUnknown.Error(nil)
	}
	html, err := render(r, r.Caller(), &one, preview)
	if err != nil {
		return err
	}
	r.Header().Set("Cache-Control", "no-store")
	if html == "" {
		return r.SendJSON(struct{}{})
	}
	now := r.Engine().Now()
	one.Ends = now.Add(ticketTime).UnixMilli()
	if err := p.note(one.Nonce, given{r.Caller().User, one.Ends, r.Credential()}, now.UnixMilli()); err != nil {
		return err
	}
	digest := sha256.Sum256([]byte(html))
	one.SHA256 = digest[:]
	text, err := json.Marshal(one)
	if err != nil {
		return err
	}
	code := encoding.EncodeToString(text) + "." + encoding.EncodeToString(sign(r.Engine(), text))
	return r.SendJSON(map[string]any{"path": Path + previewsFolder + code, "seconds": int(ticketTime.Seconds())})
}

// use answers with the page that a ticket allows to see, once.
func (p *previews) use(r *rest.Call, code string) error {
	unknown := message.PathUnknown.Error(nil)
	encoded, signature, _ := strings.Cut(code, ".")
	text, err := encoding.DecodeString(encoded)
	if err != nil {
		return unknown
	}
	signed, err := encoding.DecodeString(signature)
	if err != nil || !hmac.Equal(signed, sign(r.Engine(), text)) {
		return unknown
	}
	var one ticket
	if err := json.Unmarshal(text, &one); err != nil {
		return unknown
	}
	// Browsers say what a page is for, if they trust the connection. It is for a frame.
	if dest := r.Request().Header.Get("Sec-Fetch-Dest"); r.Request().Method != http.MethodGet || dest != "" && dest != "iframe" {
		return unknown
	}
	now := r.Engine().Now().UnixMilli()
	if one.Ends <= now {
		return unknown
	}
	again, err := p.first(one.Nonce, now, one.Ends)
	if err != nil {
		return err
	}
	caller := &engine.Caller{System: true} // for tickets of other servers
	if again != nil {
		var refused *message.Error
		switch caller, err = again(r.Context()); {
		case errors.As(err, &refused) && refused.Kind == message.Unauthenticated:
			return unknown // the token has been revoked, or the session has ended
		case err != nil:
			return err
		}
	}
	preview := p.types[one.Type]
	html, err := render(r, caller, &one, preview)
	if err != nil {
		return err
	}
	if digest := sha256.Sum256([]byte(html)); !hmac.Equal(digest[:], one.SHA256) {
		return unknown // what the caller was allowed to see has changed
	}
	r.Header().Set("Cache-Control", "no-store")
	r.Header().Set("Content-Security-Policy", preview.policy(one.Elsewhere))
	r.Send(http.StatusOK, mediaTypes[".html"], []byte(previewHead+html))
	return nil
}

// policy returns the policy of a preview.
func (p Preview) policy(elsewhere bool) string {
	from := "'self'"
	if p.Sources != nil {
		from = strings.Join(append([]string{from}, p.Sources()...), " ")
	}
	if elsewhere {
		from += " https:"
	}
	return strings.ReplaceAll(previewPolicy, "FROM", from)
}

// encoding is that of the parts of tickets, of which each has one form.
var encoding = base64.RawURLEncoding.Strict()

// sign authenticates the text of a ticket.
func sign(e *engine.Engine, text []byte) []byte { return e.Authenticate("preview", text) }

// render returns the page of an object as a caller sees it, "" if it has none.
func render(r *rest.Call, caller *engine.Caller, one *ticket, preview Preview) (string, error) {
	t, err := r.Engine().Type(one.Type)
	if err != nil {
		return "", err
	}
	object, err := r.Engine().Get(r.Context(), caller, t, one.Network, one.ID, engine.Projection{preview.Property: nil})
	if err != nil {
		return "", err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object.JSON, &members); err != nil {
		return "", err
	}
	var html string
	if members[preview.Property] != nil {
		err = json.Unmarshal(members[preview.Property], &html)
	}
	return html, err
}

// later refuses what is possible again when tickets have ended.
func later(refusal *message.Definition) error {
	refused := refusal.Error(nil)
	refused.RetryAfter = ticketTime
	return refused
}

// note remembers a ticket, unless there are too many.
func (p *previews) note(nonce string, one given, now int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := 0
	for other, ticket := range p.given {
		if ticket.ends <= now {
			delete(p.given, other)
		} else if ticket.user == one.user {
			own++
		}
	}
	switch {
	case own >= maxTickets:
		return later(message.RequestsTooMany)
	case len(p.given) >= maxAllTickets:
		return later(message.ServerBusy)
	}
	p.given[nonce] = one
	return nil
}

// first returns an error unless a ticket is used for the first time here, and remembers that until
// it ends. It also returns what authenticates the user again, nil for a ticket of another server.
func (p *previews) first(nonce string, now, ends int64) (func(context.Context) (*engine.Caller, error), error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for of, until := range p.used {
		if until <= now {
			delete(p.used, of)
		}
	}
	if _, used := p.used[nonce]; used {
		return nil, message.PathUnknown.Error(nil)
	}
	if len(p.used) >= maxAllTickets {
		return nil, later(message.ServerBusy)
	}
	p.used[nonce] = ends
	return p.given[nonce].again, nil
}
