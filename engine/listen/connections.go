package listen

import (
	"log/slog"
	"net"
	"net/netip"
	"sync"

	"marquee/engine/message"
)

// The default limits of open connections, in total and for each address.
const (
	DefaultConnections        = 2048
	DefaultAddressConnections = 512
)

// Connections counts the open connections of each address, and selects the one to
// close when a new one exceeds a limit.
type Connections struct {
	Config
	log     *slog.Logger
	proxy   func(netip.Addr) bool
	problem func(e *message.Error, requestID string, overTLS bool) []byte
	// handshakes counts those that failed.
	handshakes seldom

	mu      sync.Mutex
	count   int
	origins map[origin]map[*conn]struct{}
	// multiplexed are the connections that may use HTTP/2, streams the requests on
	// them that are being handled.
	multiplexed, streams tally
	// refused counts the connections and requests that were refused for a limit.
	refused int64
}

// tally counts something by origin, and in total.
type tally struct {
	total int
	of    map[origin]int
}

// add counts one more, unless there are most in total, or mostOfAddress of an origin
// that is not a proxy. It returns the error for a client that is over a limit.
func (t *tally) add(from origin, most, mostOfAddress int) *message.Error {
	switch {
	case !from.proxy && t.of[from] >= mostOfAddress:
		return OverLimit(message.RequestsTooMany)
	case t.total >= most:
		return OverLimit(message.ServerBusy)
	}
	if t.of == nil {
		t.of = map[origin]int{}
	}
	t.total++
	t.of[from]++
	return nil
}

func (t *tally) remove(from origin) {
	t.total--
	if t.of[from]--; t.of[from] == 0 {
		delete(t.of, from)
	}
}

// multiplex reports whether a connection may use HTTP/2, and counts it if so.
func (cs *Connections) multiplex(c *conn) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if _, counted := cs.origins[c.from][c]; !counted || c.multiplexed.Load() {
		return false // it has been closed meanwhile, or is asked about again
	}
	if cs.multiplexed.add(c.from, max(1, cs.Most/multiplexedPart), max(1, cs.MostOfAddress/multiplexedPart)) != nil {
		return false
	}
	c.multiplexed.Store(true)
	return true
}

// beginStream counts a request on a connection with HTTP/2 until end is called: there
// can be as many, in total and of an address, as there can be connections. Otherwise,
// refused is the error for the request.
func (cs *Connections) beginStream(from origin) (end func(), refused *message.Error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if refused := cs.streams.add(from, cs.Most, cs.MostOfAddress); refused != nil {
		cs.refused++
		return nil, refused
	}
	return func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		cs.streams.remove(from)
	}, nil
}

// Stats are the state of the connections.
type Stats struct {
	// Limit is the maximum number of connections, Open the number of those that are open,
	// Multiplexed of those with HTTP/2, and Streams the number of requests on these.
	Limit, Open, Multiplexed, Streams int
	// Refused is the number of connections, and of requests over HTTP/2, that were refused so far
	// for a limit.
	Refused int64
}

// Stats returns the state of the connections.
func (cs *Connections) Stats() Stats {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return Stats{Limit: cs.Most, Open: cs.count, Multiplexed: cs.multiplexed.total, Streams: cs.streams.total, Refused: cs.refused}
}

// origin is the source of connections. Those of a proxy belong to many clients, so
// that only the total limit applies to them.
type origin struct {
	address netip.Addr
	proxy   bool
}

// New returns the connections of a server, of which there are none yet. Proxy reports whether
// an address is that of a trusted proxy, and problem returns a complete response with an
// error, after which the connection is closed.
func New(config Config, log *slog.Logger, proxy func(netip.Addr) bool, problem func(e *message.Error, requestID string, overTLS bool) []byte) *Connections {
	cs := &Connections{Config: config, log: log, proxy: proxy, problem: problem, origins: map[origin]map[*conn]struct{}{}}
	if cs.Most <= 0 {
		cs.Most = DefaultConnections
	}
	if cs.MostOfAddress <= 0 {
		cs.MostOfAddress = DefaultAddressConnections
	}
	return cs
}

// origin returns the origin of a remote address.
func (cs *Connections) origin(remote net.Addr) origin {
	address := Addr(remote.String())
	if !address.IsValid() {
		return origin{}
	}
	if cs.proxy(address) {
		return origin{address, true}
	}
	return origin{ClientOf(address), false}
}

// add counts a connection. If it exceeds a limit, the caller must close idle, the
// connection that has waited longest for a request; if none waits, refused is the
// error for the new connection.
func (cs *Connections) add(c *conn) (idle *conn, refused *message.Error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	switch {
	case !c.from.proxy && len(cs.origins[c.from]) >= cs.MostOfAddress:
		if idle = longestIdle(cs.origins[c.from]); idle == nil {
			cs.refused++
			return nil, OverLimit(message.RequestsTooMany)
		}
	case cs.count >= cs.Most:
		if idle = longestIdle(cs.origins[cs.largest()]); idle == nil {
			cs.refused++
			return nil, OverLimit(message.ServerBusy)
		}
	}
	if idle != nil {
		cs.drop(idle)
	}
	if cs.origins[c.from] == nil {
		cs.origins[c.from] = map[*conn]struct{}{}
	}
	cs.origins[c.from][c] = struct{}{}
	cs.count++
	return idle, nil
}

// remove stops counting a connection. It can be called more than once.
func (cs *Connections) remove(c *conn) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.drop(c)
}

func (cs *Connections) drop(c *conn) {
	same := cs.origins[c.from]
	if _, counted := same[c]; !counted {
		return
	}
	cs.count--
	if c.multiplexed.Load() {
		cs.multiplexed.remove(c.from)
	}
	if delete(same, c); len(same) == 0 {
		delete(cs.origins, c.from)
	}
}

// largest returns the origin with the most connections, except proxies.
func (cs *Connections) largest() (largest origin) {
	most := 0
	for from, same := range cs.origins {
		if len(same) > most && !from.proxy {
			largest, most = from, len(same)
		}
	}
	return largest
}

// longestIdle returns the connection that has waited longest for a request, or nil.
func longestIdle(of map[*conn]struct{}) (longest *conn) {
	for c := range of {
		if !c.handled.Load() && (longest == nil || c.since.Load() < longest.since.Load()) {
			longest = c
		}
	}
	return longest
}

// Addr parses the address of a connection, without its port.
func Addr(text string) netip.Addr {
	parsed, err := netip.ParseAddrPort(text)
	if err != nil {
		return netip.Addr{}
	}
	return parsed.Addr().Unmap().WithZone("")
}

// ClientOf returns the address of a client, or for IPv6 the /64 network, because one
// client can have all of its addresses.
func ClientOf(address netip.Addr) netip.Addr {
	address = address.Unmap().WithZone("")
	if address.Is6() {
		return netip.PrefixFrom(address, 64).Masked().Addr()
	}
	return address
}
