package rest

import (
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

// connections counts the open connections of each address, and selects the one to
// close when a new one exceeds a limit.
type connections struct {
	most, mostOfAddress int
	proxies             []netip.Prefix

	mu      sync.Mutex
	count   int
	origins map[origin]map[*conn]struct{}
}

// origin is the source of connections. Those of a proxy belong to many clients, so
// that only the total limit applies to them.
type origin struct {
	address netip.Addr
	proxy   bool
}

// newConnections returns an empty set with its limits; 0 means the default. Proxies
// are addresses or CIDR ranges.
func newConnections(most, mostOfAddress int, proxies []string) *connections {
	cs := &connections{most: most, mostOfAddress: mostOfAddress, origins: map[origin]map[*conn]struct{}{}}
	if cs.most <= 0 {
		cs.most = DefaultConnections
	}
	if cs.mostOfAddress <= 0 {
		cs.mostOfAddress = DefaultAddressConnections
	}
	for _, proxy := range proxies {
		if prefix, err := netip.ParsePrefix(proxy); err == nil {
			cs.proxies = append(cs.proxies, prefix)
		} else if address, err := netip.ParseAddr(proxy); err == nil {
			cs.proxies = append(cs.proxies, netip.PrefixFrom(address, address.BitLen()))
		}
	}
	return cs
}

// origin returns the origin of a remote address.
func (cs *connections) origin(remote net.Addr) origin {
	parsed, err := netip.ParseAddrPort(remote.String())
	if err != nil {
		return origin{}
	}
	address := parsed.Addr().Unmap().WithZone("")
	for _, proxy := range cs.proxies {
		if proxy.Contains(address) {
			return origin{address, true}
		}
	}
	return origin{clientOf(address), false}
}

// clientOf returns the address of a client, or for IPv6 the /64 network, because one
// client can have all of its addresses.
func clientOf(address netip.Addr) netip.Addr {
	address = address.Unmap().WithZone("")
	if address.Is6() {
		return netip.PrefixFrom(address, 64).Masked().Addr()
	}
	return address
}

// add counts a connection. If it exceeds a limit, the caller must close idle, the
// connection that has waited longest for a request; if none waits, refused is the
// error for the new connection.
func (cs *connections) add(c *conn) (idle *conn, refused *message.Error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	switch {
	case !c.from.proxy && len(cs.origins[c.from]) >= cs.mostOfAddress:
		if idle = longestIdle(cs.origins[c.from]); idle == nil {
			return nil, tooManyRequests()
		}
	case cs.count >= cs.most:
		if idle = longestIdle(cs.origins[cs.largest()]); idle == nil {
			return nil, tooManyConnections()
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
func (cs *connections) remove(c *conn) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.drop(c)
}

func (cs *connections) drop(c *conn) {
	same := cs.origins[c.from]
	if _, counted := same[c]; !counted {
		return
	}
	cs.count--
	if delete(same, c); len(same) == 0 {
		delete(cs.origins, c.from)
	}
}

// largest returns the origin with the most connections, except proxies.
func (cs *connections) largest() (largest origin) {
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
