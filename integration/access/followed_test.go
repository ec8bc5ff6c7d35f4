package access

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"marquee/integration/service"
)

// followed is a stream of changes that is compared with their pages.
type followed struct {
	*service.Stream
	s     *service.Service
	token string
	// path is that of the stream without a position, and position that of its last event.
	path, position string
}

// follow opens a stream behind a position, or returns nil with the answer to a refusal.
func follow(s *service.Service, token, path, position string) (*followed, *service.Answer) {
	s.TB.Helper()
	o, err := s.Stream(s.TB.Context(), token, path+"&after="+url.QueryEscape(position), "")
	if err != nil {
		s.TB.Fatal(err)
	}
	f := &followed{Stream: o, s: s, token: token, path: path, position: position}
	s.TB.Cleanup(f.close)
	a := &service.Answer{Method: http.MethodGet, Status: o.Answer.StatusCode, Header: o.Answer.Header}
	if a.Status != http.StatusOK {
		f.close()
		return nil, a
	}
	go o.Receive()
	return f, a
}

func (f *followed) close() {
	if f != nil {
		_ = f.Answer.Body.Close()
	}
}

// receive passes on the events that the stream sends, up to the last one that a page has, and
// reports whether it goes on.
func (f *followed) receive(each func(service.Event)) (goesOn bool) {
	reset := false // then it ends
	for over := time.After(time.Minute); ; {
		a := f.s.Ask(f.token, http.MethodGet, f.path+"&limit=1&after="+url.QueryEscape(f.position), "", nil)
		body := string(a.Body)
		if !reset && a.Status == http.StatusOK && strings.HasPrefix(body, `{"results":[],`) && !strings.Contains(body, `"reset"`) && !strings.Contains(body, `"more"`) {
			return true
		}
		select {
		case e := <-f.Events:
			if e.Name == "end" {
				f.close()
				return false
			}
			f.position, reset = e.ID, e.Name == "reset"
			each(e)
		case <-over:
			f.s.TB.Fatalf("the stream does not send what a page has: %d %.1000s", a.Status, a.Body)
		}
	}
}
