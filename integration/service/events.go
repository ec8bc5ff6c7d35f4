package service

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
)

// Event is an event of a stream. Its name is "end" when the stream has ended.
type Event struct{ ID, Name, Data string }

// Stream is a client of text/event-stream.
type Stream struct {
	Answer *http.Response
	// Events has what Receive has received.
	Events chan Event
}

// Stream asks for a stream of changes, which goes on behind the event last unless it is "". It is not
// judged, and without Receive, nothing of it is received.
func (s *Service) Stream(ctx context.Context, token, path, last string) (*Stream, error) {
	return OpenStream(ctx, s.Client, token, s.Server.URL+path, last)
}

// OpenStream is Service.Stream of a server anywhere.
func OpenStream(ctx context.Context, client *http.Client, token, url, last string) (*Stream, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header = http.Header{"Accept": {"text/event-stream"}, "Accept-Encoding": {"gzip"}, "Authorization": {"Bearer " + token}}
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	return &Stream{answer, make(chan Event, 10_000)}, nil
}

// Receive receives events until the stream has ended.
func (o *Stream) Receive() {
	var e Event
	lines := bufio.NewScanner(o.Answer.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			e.ID = value
		case "event":
			e.Name = value
		case "data":
			e.Data = value
		case "":
			if e.Name != "" {
				o.Events <- e
			}
			e = Event{}
		}
	}
	o.Events <- Event{Name: "end", Data: fmt.Sprint(lines.Err())}
}
