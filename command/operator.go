package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"marquee/command/exit"
	"marquee/command/socket"
	"marquee/command/terminal"
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
			return nil, fmt.Errorf("another process has the store open and does not listen at %s: wait until it ends, or stop it", socket.Path(database))
		}
		if !walk.Sleep(ctx, operatorInterval) {
			return nil, exit.InterruptedBy(ctx, ctx.Err())
		}
	}
}

// connectOperator connects to the socket of a database file; it returns nil if nothing
// listens there.
func connectOperator(ctx context.Context, database string) (*operator, error) {
	path := socket.Path(database)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && info.Mode().Type() != fs.ModeSocket:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("the socket of the server cannot be reached: %w: run the command as the user of the server", exit.Cause(err))
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return socket.Dial(ctx, database) }
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

// operatorHere opens the store and serves the API in this process.
func (f *storeFlags) operatorHere(ctx context.Context) (*operator, error) {
	s, err := f.openExisting(ctx, "or create one with "+programName+" init")
	if err != nil {
		return nil, err
	}
	listener := socket.NewPipes()
	server := &http.Server{Handler: s.Operator(), ReadHeaderTimeout: headerTimeout}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // which ends with Close
	}()
	transport := &http.Transport{DialContext: listener.Dial}
	return &operator{client: &http.Client{Transport: transport, Timeout: operatorTimeout}, close: func() error {
		transport.CloseIdleConnections()
		err := server.Close()
		<-ended
		return errors.Join(err, s.close())
	}}, nil
}

// followLines sends a request that may take long, and passes each line of the answer to a
// function that returns whether it is the last. What is what a server of an earlier version
// does not do.
func followLines[Line any](ctx context.Context, o *operator, path string, body []byte, what string, next func(Line) (last bool, err error)) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://operator"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	client := &http.Client{Transport: o.client.Transport} // without a time limit
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("the service does not answer: %w", exit.Cause(err))
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotFound {
		return errors.New("the running server is of an earlier version, which does not " + what + ": restart it with this version")
	}
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, maxOperatorResponse))
		return refusalOf(response.Status, response.StatusCode, text)
	}
	lines := json.NewDecoder(response.Body)
	for {
		var line Line
		if err := lines.Decode(&line); err != nil {
			return fmt.Errorf("the response of the service is incomplete: %w", exit.Cause(err))
		}
		if last, err := next(line); last || err != nil {
			return err
		}
	}
}

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
		return "", exit.InterruptedBy(ctx, fmt.Errorf("the service does not answer: %w", exit.Cause(err)))
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxOperatorResponse))
	if err != nil {
		return "", exit.InterruptedBy(ctx, fmt.Errorf("the response of the service is incomplete: %w", exit.Cause(err)))
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
			refused.messages = append(refused.messages, terminal.Printable(said))
		}
	}
	if len(refused.messages) == 0 {
		refused.messages = []string{"the service answers " + status}
	}
	return refused
}

// each calls a function with every object of a list, page by page.
func each[T any](ctx context.Context, o *operator, path string, parameters url.Values, yield func(T) error) error {
	all := url.Values{"pageSize": {"1000"}, "count": {"false"}}
	maps.Copy(all, parameters)
	for {
		var page struct {
			Results []T    `json:"results"`
			Next    string `json:"nextCursor"`
		}
		if err := o.call(ctx, http.MethodGet, path, all, nil, &page); err != nil {
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
		all.Set("cursor", page.Next)
	}
}

// as runs a function with an operator.
func (f *storeFlags) as(ctx context.Context, do func(*operator) error) error {
	o, err := f.operator(ctx)
	if err != nil {
		return err
	}
	return errors.Join(do(o), o.close())
}

// list prints the objects of a list, each as a line of JSON or as a row of a table.
func list[T any](ctx context.Context, o *operator, path string, parameters url.Values, asJSON bool, titles []string, row func(T) []string) error {
	if asJSON {
		return each(ctx, o, path, parameters, terminal.PrintLine)
	}
	table := terminal.NewTable(titles...)
	err := each(ctx, o, path, parameters, func(object T) error {
		table.Row(row(object)...)
		return nil
	})
	if err != nil {
		return err
	}
	return table.End()
}

// serveOperator serves the commands of the operator on a socket beside the database
// file, until end is called. Without the socket, everything else is served.
func (c *serveCommand) serveOperator(s *service, log *slog.Logger) (server *http.Server) {
	database := sqlitePath(c.Store)
	server = c.newServer(log)
	server.Handler = s.Operator()
	server.ReadTimeout, server.WriteTimeout = 0, 0 // an import takes longer; routes have deadlines
	server.RegisterOnShutdown(s.checks.end)
	if database == "" {
		return server
	}
	listener, err := socket.Listen(database, log)
	if err != nil {
		log.Warn("there is no socket for commands such as "+programName+" user, which can only be used while the service is stopped", slog.String("cause", err.Error()))
		return server
	}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("the socket of the operator is no longer served", slog.String("cause", err.Error()))
		}
	}()
	return server
}
