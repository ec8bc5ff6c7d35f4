package console

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
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
	// maxTickets is the maximum number of tickets that a caller has at once, and maxAllTickets the
	// maximum number that a server remembers.
	maxTickets    = 20
	maxAllTickets = 10_000
)

// previewPolicy is the Content-Security-Policy of a preview: its scripts run in an origin of
// their own, without the windows of others, and it calls nobody. It is completed with the
// sources of files.
const previewPolicy = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' FROM; style-src 'unsafe-inline' FROM; " +
	"img-src data: blob: FROM; media-src data: blob: FROM; font-src data: FROM; frame-src FROM; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

// previewHead comes before a preview, which may be a part of a page.
const previewHead = "<!doctype html><style>body{margin:0}</style>"

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
	// given has the ends of the tickets of each caller, and used those of the ones that this
	// server has used, by their codes.
	given map[string][]int64
	used  map[string]int64
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
	if !p.note(r.Caller().Account(), now.UnixMilli(), one.Ends) {
		refused := message.RequestsTooMany.Error(nil)
		refused.RetryAfter = ticketTime
		return refused
	}
	digest := sha256.Sum256([]byte(html))
	one.SHA256 = digest[:]
	text, err := json.Marshal(one)
	if err != nil {
		return err
	}
	code := base64.RawURLEncoding.EncodeToString(text) + "." + base64.RawURLEncoding.EncodeToString(sign(r.Engine(), text))
	return r.SendJSON(map[string]any{"path": Path + previewsFolder + code, "seconds": int(ticketTime.Seconds())})
}

// use answers with the page that a ticket allows to see, once.
func (p *previews) use(r *rest.Call, code string) error {
	unknown := message.PathUnknown.Error(nil)
	encoded, signature, _ := strings.Cut(code, ".")
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return unknown
	}
	signed, err := base64.RawURLEncoding.DecodeString(signature)
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
	if now := r.Engine().Now().UnixMilli(); one.Ends <= now || !p.first(one.Nonce, now, one.Ends) {
		return unknown
	}
	preview := p.types[one.Type]
	html, err := render(r, &engine.Caller{System: true}, &one, preview)
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

// note remembers a ticket of a caller, unless there are too many.
func (p *previews) note(caller string, now, ends int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := 0
	for of, tickets := range p.given {
		for len(tickets) > 0 && tickets[0] <= now {
			tickets = tickets[1:]
		}
		if p.given[of] = tickets; len(tickets) == 0 {
			delete(p.given, of)
		}
		all += len(tickets)
	}
	if len(p.given[caller]) >= maxTickets || all >= maxAllTickets {
		return false
	}
	p.given[caller] = append(p.given[caller], ends)
	return true
}

// first reports whether a ticket is used for the first time here, and remembers that until it
// ends.
func (p *previews) first(nonce string, now, ends int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for of, until := range p.used {
		if until <= now {
			delete(p.used, of)
		}
	}
	if _, used := p.used[nonce]; used || len(p.used) >= maxAllTickets {
		return false
	}
	p.used[nonce] = ends
	return true
}
