package siege

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"marquee/integration/service"
)

// strikeBeginnings sends the beginnings of bodies on as many sockets as there can
// be, and nothing more.
func strikeBeginnings(s *siege) {
	const sockets, held = 10_000, 12 * time.Second // longer than they are waited for
	paths := []string{"/api/v1/batch?context=main", "/api/v1/users/reader", "/api/v1/advertisers?context=main", "/api/authenticate"}
	s.hold(sockets, held, func(i int) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", paths[i%len(paths)], s.reader)
	})
}

// strikeUnreadPages asks for pages of large objects, and reads none of them.
func strikeUnreadPages(s *siege) {
	const sockets, held = 600, 20 * time.Second
	s.dialer.Control = littleAhead
	s.hold(sockets, held, func(int) string {
		return "GET /api/v1/layouts?context=main HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + s.reader + "\r\n\r\n"
	})
}

// strikeStreams opens a thousand streams of changes of large objects for one caller, and reads none of
// them, while another caller connects a hundred times a second.
func strikeStreams(s *siege) {
	const sockets, held = 1000, 20 * time.Second
	ask := func(token string) string {
		return "GET /api/v1/changes?context=main&include=object&after=begin HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nAuthorization: Bearer " + token + "\r\n\r\n"
	}
	s.dialer.Control = littleAhead
	restless := s.from(200)
	var again sync.WaitGroup
	again.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for range held / (10 * time.Millisecond) {
			if conn := restless.dial(); conn != nil {
				_, _ = io.WriteString(conn, ask(s.authors[0])) // it may have been refused
				conn.Close()
			}
			<-tick.C
		}
	})
	s.hold(sockets, held, func(int) string { return ask(s.reader) })
	again.Wait()
}

// strikeScrapes asks for the metrics a hundred times a second, and on connections that neither
// read nor send anything more.
func strikeScrapes(s *siege) {
	const hanging, held = 8, 10 * time.Second
	dialer := s.dialer
	dialer.Control = littleAhead
	for range hanging {
		conn, err := dialer.Dial("tcp", strings.TrimPrefix(s.private, "http://"))
		if err != nil {
			s.t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range held / (10 * time.Millisecond) {
		s.p.Metrics(s.private)
		<-tick.C
	}
}

// hold sends a text on each of many sockets, and keeps them open for a time. What
// is refused meanwhile has a code.
func (s *siege) hold(sockets int, held time.Duration, text func(i int) string) {
	const lanes = 16
	var end atomic.Bool
	var opened, answered sync.WaitGroup
	var conns [lanes][]net.Conn
	for lane := range lanes {
		opened.Go(func() {
			for i := lane; i < sockets; i += lanes {
				conn := s.dial()
				if conn == nil {
					return
				}
				conns[lane] = append(conns[lane], conn)
				_, _ = io.WriteString(conn, text(i)) // it may have been refused
				answered.Go(func() {
					answer := make([]byte, 512)
					n, _ := io.ReadAtLeast(conn, answer, 12)
					switch {
					case end.Load():
					case n == 0:
						s.answers.add("closed")
					default:
						s.answers.add(strings.TrimPrefix(string(answer[:min(n, 12)]), "HTTP/1.1 "))
					}
				})
			}
		})
	}
	opened.Wait()
	time.Sleep(held)
	end.Store(true)
	for _, lane := range conns {
		for _, conn := range lane {
			conn.Close()
		}
	}
	answered.Wait()
}

// largeLayouts is the number of layouts changed at once.
const largeLayouts = 60

// prepareLayouts stores layouts of almost the largest size, and has users who may
// change them.
func prepareLayouts(s *siege) {
	if s.authors != nil {
		return
	}
	for i := range 4 {
		s.authors = append(s.authors, s.user(fmt.Sprintf("author-%d", i), "author"))
	}
	body, header := gzipped(fmt.Sprintf(`{"name": "Big", "html": %q}`, strings.Repeat("<p>0123456789</p>\n", 980_000/18)))
	for i := range largeLayouts {
		if a := s.as(s.author, http.MethodPost, fmt.Sprintf("/api/v1/layouts/big%02d?context=main", i), header, body); a.Status != http.StatusCreated {
			s.t.Fatalf("%d %.200s", a.Status, a.Body)
		}
	}
}

// strikeLayouts has each of four users change all large layouts by little.
func strikeLayouts(s *siege) {
	s.changeLayouts(1)
}

// strikeLayoutsOften sends more of these changes at once than can be made before
// their deadline, which takes as long.
func strikeLayoutsOften(s *siege) {
	s.changeLayouts(25)
}

// changeLayouts has users change all large layouts, each a number of times at once.
func (s *siege) changeLayouts(times int) {
	atOnce(times*len(s.authors), func(i int) {
		s.as(s.authors[i%len(s.authors)], http.MethodPost, "/api/v1/layouts?context=main", http.Header{"Prefer": {"return=minimal"}},
			[]byte(service.Listing(largeLayouts, func(k int) string { return fmt.Sprintf(`{"id": "big%02d", "name": "By %d"}`, k, i) })))
	})
}
