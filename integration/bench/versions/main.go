// Command versions compares two builds of the program: it sends ordinary requests
// to each in turn, on an embedded store of its own, and prints their sizes, and the ratios of the
// requests answered in a second and, on Linux, of the processor time that each
// request takes. The latter depends less on the load of the machine. It imports nothing
// of the project. Begin with compare.
//
//	go run ./integration/bench/versions [-only EXPRESSION] OLD NEW [MONGODB]
//
// Only kinds of requests that match the expression are sent.
// With the URI of a replica set, such as mongodb://127.0.0.1:27017/?replicaSet=rs0,
// each has a new database there, which is not removed.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	password = "correct horse battery staple"
	objects  = 1000
	rounds   = 9
)

// kinds are the kinds of requests, each sent by a number of clients.
var kinds = []struct {
	name    string
	clients int
	send    func(s *server, n int) error
}{
	{"GET, 4 clients", 4, func(s *server, n int) error { return s.send(http.MethodGet, order(n), "") }},
	{"list of 100, 2 clients", 2, func(s *server, _ int) error {
		return s.send(http.MethodGet, "/api/v1/orders?context=main&pageSize=100&orderBy=name", "")
	}},
	{"list of 1,000, 2 clients", 2, func(s *server, _ int) error {
		return s.send(http.MethodGet, "/api/v1/orders?context=main&pageSize=1000", "")
	}},
	{"write, 1 client", 1, func(s *server, n int) error { return s.send(http.MethodPost, order(n), renamed(n)) }},
	{"write, 16 clients", 16, func(s *server, n int) error { return s.send(http.MethodPost, order(n), renamed(n)) }},
	{"create, 1 client", 1, func(s *server, n int) error {
		return s.send(http.MethodPost, "/api/v1/orders?context=main", created(n))
	}},
	{"create, 64 clients", 64, func(s *server, n int) error {
		return s.send(http.MethodPost, "/api/v1/orders?context=main", created(n))
	}},
	{"collection of 1,000, 1 client", 1, func(s *server, n int) error {
		return s.send(http.MethodPost, "/api/v1/orders?context=main", collection(n))
	}},
}

func order(n int) string { return fmt.Sprintf("/api/v1/orders/o%d?context=main", n*7%objects) }

func renamed(n int) string { return fmt.Sprintf(`{"name": "Order %d %d"}`, n, time.Now().UnixNano()) }

func created(n int) string {
	return fmt.Sprintf(`{"name": "New %d %d", "advertiser": "a", "labels": ["x", "y"]}`, n, time.Now().UnixNano())
}

func collection(n int) string {
	var b bytes.Buffer
	for i := range objects {
		fmt.Fprintf(&b, `,{"id": "o%d", "name": "Order %d of %d %d", "advertiser": "a", "labels": ["x", "y"]}`, i, i, n, time.Now().UnixNano())
	}
	return "[" + b.String()[1:] + "]"
}

func main() {
	only := flag.String("only", "", "kinds of requests that match this `expression`")
	flag.Parse()
	matching, err := regexp.Compile(*only)
	if n := flag.NArg(); err != nil || n != 2 && n != 3 {
		fmt.Fprintln(os.Stderr, "usage: versions [-only EXPRESSION] OLD NEW [MONGODB]")
		os.Exit(2)
	}
	if err := compare(matching, flag.Args()[2:], flag.Arg(0), flag.Arg(1)); err != nil {
		fmt.Fprintln(os.Stderr, "versions:", err)
		os.Exit(1)
	}
}

func compare(only *regexp.Regexp, databases []string, paths ...string) error {
	var servers []*server
	for i, path := range paths {
		store := ""
		for _, database := range databases {
			at, err := url.Parse(database)
			if err != nil {
				return err
			}
			at.Path = fmt.Sprintf("/versions-%d-%d", time.Now().Unix(), i)
			store = at.String()
		}
		s, err := start(path, store)
		if err != nil {
			return err
		}
		defer s.stop()
		servers = append(servers, s)
	}
	old, err := os.Stat(paths[0])
	if err != nil {
		return err
	}
	grown, err := os.Stat(paths[1])
	if err != nil {
		return err
	}
	fmt.Printf("%-30s %6.1f MB, %+.1f MB\n", "size of the program", float64(grown.Size())/1e6, float64(grown.Size()-old.Size())/1e6)
	for _, kind := range kinds {
		if !only.MatchString(kind.name) {
			continue
		}
		var ratios, rates, costs []float64
		for round := range rounds {
			var rate, cost [2]float64
			for turn := range 2 {
				which := (turn + round) % 2
				var err error
				if rate[which], cost[which], err = servers[which].rate(kind.clients, kind.send); err != nil {
					return err
				}
			}
			if round > 0 { // the first warms up
				ratios, rates, costs = append(ratios, rate[1]/rate[0]), append(rates, rate[1]), append(costs, cost[1]/cost[0])
			}
		}
		slices.Sort(rates)
		fmt.Printf("%-30s %6.0f/s, new / old %s, processor time %s\n", kind.name, rates[len(rates)/2], median(ratios), median(costs))
	}
	return nil
}

// median formats the median and the range of values.
func median(values []float64) string {
	slices.Sort(values)
	return fmt.Sprintf("%.2f (%.2f to %.2f)", values[len(values)/2], values[0], values[len(values)-1])
}

// server is a build that is running.
type server struct {
	url, token, folder string
	cmd                *exec.Cmd
	client             http.Client
}

// start starts a build, on an embedded store if store is "".
func start(path, store string) (*server, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return nil, err
	}
	s := &server{url: "http://" + address, client: http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	if s.folder, err = os.MkdirTemp("", "marquee-versions-"); err != nil {
		return nil, err
	}
	if store == "" {
		store = "sqlite:" + filepath.Join(s.folder, "marquee.db")
	}
	s.cmd = exec.Command(path, "serve", "--addr", address, "--store", store, "--log-level", "error")
	s.cmd.Env, s.cmd.Dir, s.cmd.Stderr = append(os.Environ(), "MARQUEE_BOOTSTRAP_PASSWORD="+password), s.folder, os.Stderr
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(time.Minute); s.send(http.MethodGet, "/readyz", "") != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.stop()
			return nil, fmt.Errorf("%s is not ready", path)
		}
	}
	if err := s.prepare(); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *server) stop() {
	_ = s.cmd.Process.Kill() // may have ended
	_ = s.cmd.Wait()
	_ = os.RemoveAll(s.folder) // a temporary one
}

// prepare signs in and creates the objects.
func (s *server) prepare() error {
	response, err := s.client.PostForm(s.url+"/api/authenticate", url.Values{"grant_type": {"password"}, "username": {"admin"}, "password": {password}})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer struct {
		Token string `json:"access_token"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return err
	}
	s.token = answer.Token
	if err := s.send(http.MethodPost, "/api/v1/advertisers/a?context=main", `{"name": "Advertiser"}`); err != nil {
		return err
	}
	return s.send(http.MethodPost, "/api/v1/orders?context=main", collection(0))
}

func (s *server) send(method, path, body string) error {
	request, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %d %.300s", method, path, response.StatusCode, answer)
	}
	return err
}

// rate returns the number of requests that are answered in a second, and the
// processor time of one, in nanoseconds.
func (s *server) rate(clients int, send func(s *server, n int) error) (rate, cost float64, err error) {
	counts, errs := make([]int, clients), make([]error, clients)
	began, before := time.Now(), s.processorTime()
	var wait sync.WaitGroup
	for c := range clients {
		wait.Go(func() {
			for n := c; time.Since(began) < time.Second && errs[c] == nil; n += clients {
				errs[c] = send(s, n)
				counts[c]++
			}
		})
	}
	wait.Wait()
	total := 0
	for c := range clients {
		if errs[c] != nil {
			return 0, 0, errs[c]
		}
		total += counts[c]
	}
	return float64(total) / time.Since(began).Seconds(), (s.processorTime() - before) / float64(total), nil
}

// processorTime returns the processor time of the process in nanoseconds, 0 if
// the system does not provide it.
func (s *server) processorTime() (sum float64) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for _, thread := range threads {
		content, err := os.ReadFile(thread)
		if err != nil {
			continue // it has ended
		}
		var ran float64
		if _, err := fmt.Sscan(string(content), &ran); err == nil {
			sum += ran
		}
	}
	return sum
}
