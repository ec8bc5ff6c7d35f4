package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"marquee/engine/message"
	"marquee/engine/rest"
	"marquee/engine/store/sqlite"
	"marquee/engine/walk"
)

// operator sends requests to the API as the operator: to the server that has the
// SQLite file open, or to a handler in this process, which has opened the store.
type operator struct {
	client *http.Client
	close  func() error
	// user is the id of the user for whom it acts, or "".
	user string
}

const (
	// operatorPatience is the time that a command waits for another process that has the
	// file open and does not listen: another command, or a server that starts or stops.
	operatorPatience = 10 * time.Second
	operatorInterval = 50 * time.Millisecond
	// operatorTimeout is the time limit of a request, which is longer than a server
	// lets it take.
	operatorTimeout = 2 * time.Minute
	// maxOperatorResponse is the largest response that is read, a page and more.
	maxOperatorResponse = 64 << 20
)

// operator connects to the server of the store, or opens the store.
func (f *storeFlags) operator(ctx context.Context) (*operator, error) {
	var here *operator
	served, err := f.reach(ctx, func() (err error) {
		here, err = f.operatorHere(ctx)
		return err
	})
	if served != nil {
		return served, err
	}
	return here, err
}

// reach connects to the server of the store, or has the store opened if there is none that
// must be asked, and returns nil.
func (f *storeFlags) reach(ctx context.Context, open func() error) (*operator, error) {
	database := sqlitePath(f.Store)
	if database == "" {
		return nil, open()
	}
	for began := time.Now(); ; {
		o, err := connectOperator(ctx, database)
		if o != nil || err != nil {
			return o, err
		}
		if err = open(); !errors.Is(err, sqlite.ErrInUse) {
			return nil, err
		}
		if time.Since(began) > operatorPatience {
			return nil, fmt.Errorf("another process has the store open and does not listen at %s: wait until it ends, or stop it", operatorSocket(database))
		}
		if !walk.Sleep(ctx, operatorInterval) {
			return nil, interruptedBy(ctx, ctx.Err())
		}
	}
}

// connectOperator connects to the socket of a database file; it returns nil if nothing
// listens there.
func connectOperator(ctx context.Context, database string) (*operator, error) {
	path := operatorSocket(database)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && info.Mode().Type() != fs.ModeSocket:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("the socket of the server cannot be reached: %w: run the command as the user of the server", causeOf(err))
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return dialOperator(ctx, database) }
	c, err := dial(ctx, "", "")
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist): // its server has ended
		return nil, nil
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("the server cannot be reached: %w: run the command as the user of the server", err)
	case err != nil:
		return nil, fmt.Errorf("the server cannot be reached: %w", err)
	}
	c.Close()
	transport := &http.Transport{DialContext: dial}
	return &operator{client: &http.Client{Transport: transport, Timeout: operatorTimeout}, close: func() error {
		transport.CloseIdleConnections()
		return nil
	}}, nil
}

// dialOperator opens a connection to the socket of a database file. At its other end
// must be the owner of the file, this user, or root: in a folder that others can write
// to, another user could have replaced the socket and would be sent passwords.
func dialOperator(ctx context.Context, database string) (net.Conn, error) {
	short, release, err := shortSocketPath(operatorSocket(database))
	if err != nil {
		return nil, err
	}
	defer release()
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "unix", short)
	if err != nil {
		return nil, err
	}
	id, known := peerUser(c)
	if !known || id == 0 || id == os.Geteuid() {
		return c, nil
	}
	if info, err := os.Stat(database); err == nil {
		if owner, known := ownerOf(info); known && owner == id {
			return c, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("the process that listens at %s is one of another user (%d)", operatorSocket(database), id), c.Close())
}

// operatorHere opens the store and serves the API in this process.
func (f *storeFlags) operatorHere(ctx context.Context) (*operator, error) {
	s, err := f.openExisting(ctx, "or create one with "+programName+" init")
	if err != nil {
		return nil, err
	}
	listener := newPipes()
	server := &http.Server{Handler: s.Operator(), ReadHeaderTimeout: headerTimeout}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // which ends with Close
	}()
	transport := &http.Transport{DialContext: listener.dial}
	return &operator{client: &http.Client{Transport: transport, Timeout: operatorTimeout}, close: func() error {
		transport.CloseIdleConnections()
		err := server.Close()
		<-ended
		return errors.Join(err, s.close())
	}}, nil
}

// pipes is a net.Listener for connections within the process.
type pipes struct {
	made   chan net.Conn
	closed chan struct{}
	close  func()
}

func newPipes() *pipes {
	p := &pipes{made: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.made <- there:
		return here, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.made:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.close()
	return nil
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Net: "pipe"} }

// refusal is a request that the service has refused.
type refusal struct {
	status   int
	messages []string
	// problem is the document with the messages.
	problem []byte
}

// Error implements error.
func (r *refusal) Error() string { return strings.Join(r.messages, "\n") }

// isMissing reports whether an error says that an object does not exist.
func isMissing(err error) bool {
	var refused *refusal
	return errors.As(err, &refused) && refused.status == http.StatusNotFound
}

// call sends a request with a JSON body, nil for none, and decodes the response.
func (o *operator) call(ctx context.Context, method, path string, parameters url.Values, body, into any) error {
	_, err := o.callIf(ctx, "", method, path, parameters, body, into)
	return err
}

// callIf is call on the condition that the object has an entity tag, "" for none. It returns
// the entity tag of the response.
func (o *operator) callIf(ctx context.Context, match, method, path string, parameters url.Values, body, into any) (tag string, err error) {
	var content []byte
	if raw, ok := body.(json.RawMessage); ok {
		content = raw
	} else if body != nil {
		if content, err = json.Marshal(body); err != nil {
			return "", err
		}
	}
	target := url.URL{Scheme: "http", Host: "operator", Path: path, RawQuery: parameters.Encode()}
	if strings.Contains(path, "%") { // segments that are escaped
		target.RawPath = path
		if target.Path, err = url.PathUnescape(path); err != nil {
			return "", err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(content))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	if match != "" {
		request.Header.Set("If-Match", match)
	}
	if o.user != "" {
		request.Header.Set(rest.OnBehalfOf, o.user)
	}
	response, err := o.client.Do(request)
	if err != nil {
		return "", interruptedBy(ctx, fmt.Errorf("the service does not answer: %w", causeOf(err)))
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxOperatorResponse))
	if err != nil {
		return "", interruptedBy(ctx, fmt.Errorf("the response of the service is incomplete: %w", causeOf(err)))
	}
	if response.StatusCode >= http.StatusBadRequest {
		return "", refusalOf(response.Status, response.StatusCode, text)
	}
	if into != nil {
		err = json.Unmarshal(text, into)
	}
	return response.Header.Get("ETag"), err
}

// refusalOf returns what the messages of a problem document say, each with its place.
func refusalOf(status string, code int, text []byte) error {
	var problem struct {
		Messages []struct {
			Text   string         `json:"text"`
			Params message.Params `json:"params"`
		} `json:"messages"`
	}
	refused := &refusal{status: code, problem: text}
	if json.Unmarshal(text, &problem) == nil {
		for _, m := range problem.Messages {
			said := message.Expand(m.Text, m.Params)
			if field, _ := m.Params["field"].(string); field != "" && !strings.Contains(m.Text, "{{field}}") {
				said += " (" + field + ")"
			}
			refused.messages = append(refused.messages, printable(said))
		}
	}
	if len(refused.messages) == 0 {
		refused.messages = []string{"the service answers " + status}
	}
	return refused
}

// each calls a function with every object of a list, page by page.
func (o *operator) each(ctx context.Context, path string, parameters url.Values, yield func(json.RawMessage) error) error {
	parameters = cloned(parameters)
	for {
		var page struct {
			Results []json.RawMessage `json:"results"`
			Next    string            `json:"nextCursor"`
		}
		if err := o.call(ctx, http.MethodGet, path, parameters, nil, &page); err != nil {
			return err
		}
		for _, object := range page.Results {
			if err := yield(object); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		parameters.Set("cursor", page.Next)
	}
}

func cloned(parameters url.Values) url.Values {
	copied := url.Values{"pageSize": {"1000"}, "count": {"false"}}
	for name, values := range parameters {
		copied[name] = slices.Clone(values)
	}
	return copied
}

// as runs a function with an operator.
func (f *storeFlags) as(ctx context.Context, do func(*operator) error) error {
	o, err := f.operator(ctx)
	if err != nil {
		return err
	}
	return errors.Join(do(o), o.close())
}
