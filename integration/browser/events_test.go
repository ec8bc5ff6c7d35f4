package browser

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/chromedp/chromedp"

	"marquee"
	"marquee/integration/marqueetest"
)

// following keeps the notes of a list in window.held with an EventSource, as
// docs/how-to/following-changes.md describes. Window.save and window.drop write notes, and
// window.listed is what the list has when they have been written.
const following = `(async () => {
	const token = (await (await fetch("/api/authenticate", {method: "POST", headers: {"Content-Type": "application/json"},
		body: JSON.stringify({grant_type: "password", username: %q, password: %q})})).json()).access_token
	const ask = (method, path, body) => fetch("/api/v1/" + path, {method, body, headers: {"Authorization": "Bearer " + token, "Content-Type": "application/json"}})
	const list = async () => {
		const answer = await ask("GET", "notes?context=main&position=true&includeHidden=true")
		return [answer.headers.get("Marquee-Position"), Object.fromEntries((await answer.json()).results.map(o => [o.id, o.text]))]
	}
	const text = held => JSON.stringify(Object.keys(held).sort().map(id => [id, held[id]]))
	const write = async (method, id, body) => {
		await ask(method, "notes/" + id + "?context=main", body)
		window.listed = text((await list())[1])
	}
	window.save = (id, text) => write("PUT", id, JSON.stringify({text}))
	window.drop = id => write("DELETE", id)
	const [position, held] = await list()
	window.held = text(held)
	window.opened = 0
	const source = new EventSource("/api/v1/changes?context=main&type=notes&include=object&after=" + position + "&auth_token=" + token)
	source.onopen = () => window.opened++
	source.addEventListener("change", e => {
		const event = JSON.parse(e.data)
		if (event.object) held[event.id] = event.object.text
		else if (event.kind == "left" || event.kind == "deleted") delete held[event.id]
		window.held = text(held)
	})
	window.ready = true
})()`

// TestEventSource follows a list in a browser, over HTTP/1.1 and HTTP/2, and behind a proxy that
// buffers what does not ask to be passed on, and that loses the first connection.
func TestEventSource(t *testing.T) {
	ctx, _ := open(t)
	certificate := httptest.NewTLSServer(nil)
	certificate.Close()
	for _, c := range []struct {
		name, protocol string
		options        marquee.Options
		front          func(t *testing.T, url string) string
		opened         int
	}{
		{name: "HTTP/1.1", protocol: "http/1.1", opened: 1},
		{name: "HTTP/2", protocol: "h2", opened: 1, options: marquee.Options{Certificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &certificate.TLS.Certificates[0], nil }}},
		{name: "a buffering proxy", protocol: "http/1.1", front: buffering, opened: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			url := serve(t, c.options)
			if c.front != nil {
				url = c.front(t, url)
			}
			if err := chromedp.Do(ctx, chromedp.Navigate(url+"/docs")); err != nil {
				t.Fatal(err)
			}
			do := func(script string) {
				t.Helper()
				evaluate[bool](t, ctx, "("+script+", true)")
			}
			if protocol := evaluate[string](t, ctx, `performance.getEntriesByType("navigation")[0].nextHopProtocol`); protocol != c.protocol {
				t.Errorf("the protocol is %s", protocol)
			}
			do(fmt.Sprintf(following, marqueetest.Username, marqueetest.Password))
			await(t, ctx, "window.ready && window.opened > 0")
			for _, step := range []struct{ script, want string }{
				{`save("a", "1")`, `[["a","1"]]`},
				{`save("b", "2")`, `[["a","1"],["b","2"]]`},
				{`save("a", "3")`, `[["a","3"],["b","2"]]`},
				{`drop("b")`, `[["a","3"]]`},
			} {
				do(step.script)
				await(t, ctx, fmt.Sprintf("window.listed === %q && window.held === window.listed", step.want))
			}
			if opened := evaluate[int](t, ctx, "window.opened"); opened != c.opened {
				t.Errorf("the stream was opened %d times, want %d", opened, c.opened)
			}
		})
	}
}

// serve serves notes.
func serve(t *testing.T, options marquee.Options) (url string) {
	t.Helper()
	options.Folder, options.First = t.TempDir(), marquee.First{Username: marqueetest.Username, Password: marqueetest.Password}
	options.Schemas = fstest.MapFS{"notes.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Note", "type": "object",
		"x-resource": {"path": "notes", "methods": ["GET", "HEAD", "PUT", "DELETE"]}, "properties": {"text": {"type": "string"}}}`)}}
	s, err := marquee.New(options)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{}
	l = s.Listen(server, l)
	go func() { _ = server.Serve(l) }() // until it is closed
	t.Cleanup(func() {
		s.Drain()
		_ = server.Close()
		_ = s.Close()
	})
	if options.Certificate != nil {
		return "https://" + l.Addr().String()
	}
	return "http://" + l.Addr().String()
}

// buffering is a proxy that passes a response on when it is complete, unless its header asks for
// something else, and loses the first stream after its first change.
func buffering(t *testing.T, origin string) (url string) {
	t.Helper()
	var lost atomic.Bool
	transport := &http.Transport{DisableCompression: true}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request := r.Clone(r.Context())
		request.URL.Scheme, request.URL.Host, request.RequestURI = "http", strings.TrimPrefix(origin, "http://"), ""
		answer, err := transport.RoundTrip(request)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer answer.Body.Close()
		for name, values := range answer.Header {
			w.Header()[name] = values
		}
		if answer.Header.Get("X-Accel-Buffering") != "no" {
			whole, err := io.ReadAll(answer.Body)
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			w.WriteHeader(answer.StatusCode)
			_, _ = w.Write(whole)
			return
		}
		w.WriteHeader(answer.StatusCode)
		piece := make([]byte, 4096)
		for {
			n, err := answer.Body.Read(piece)
			_, _ = w.Write(piece[:n])
			_ = http.NewResponseController(w).Flush()
			if err != nil {
				return
			}
			if strings.Contains(string(piece[:n]), "event: change") && lost.CompareAndSwap(false, true) {
				panic(http.ErrAbortHandler)
			}
		}
	}))
	t.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
		transport.CloseIdleConnections()
	})
	return proxy.URL
}
