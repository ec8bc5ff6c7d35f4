package header

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"marquee/engine/listen"
)

// The headers in which a proxy can name the client.
const (
	XForwardedFor = "X-Forwarded-For"
	Forwarded     = "Forwarded"
)

// Proxies are the trusted proxies, and the header in which they name their client.
type Proxies struct {
	trusted []netip.Prefix
	header  string
}

// NewProxies parses addresses and CIDR ranges. An empty header is XForwardedFor.
func NewProxies(addresses []string, header string) (Proxies, error) {
	p := Proxies{header: XForwardedFor}
	switch {
	case header == "" || strings.EqualFold(header, XForwardedFor):
	case strings.EqualFold(header, Forwarded):
		p.header = Forwarded
	default:
		return p, fmt.Errorf("the header %q of proxies is neither %s nor %s", header, XForwardedFor, Forwarded)
	}
	for _, text := range addresses {
		prefix, err := parseProxy(text)
		if err != nil {
			return p, err
		}
		p.trusted = append(p.trusted, prefix)
	}
	return p, nil
}

func parseProxy(text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		address, wrong := netip.ParseAddr(text)
		if wrong != nil || address.Zone() != "" {
			return prefix, fmt.Errorf("%q is not an address or a CIDR range such as 10.0.0.0/8", text)
		}
		prefix = netip.PrefixFrom(address, address.BitLen())
	}
	if address := prefix.Addr(); address.Is4In6() && prefix.Bits() >= 96 {
		prefix = netip.PrefixFrom(address.Unmap(), prefix.Bits()-96)
	}
	return prefix, nil
}

// Trusts reports whether an address, which is not a mapped one, is a proxy's.
func (p *Proxies) Trusts(address netip.Addr) bool {
	return slices.ContainsFunc(p.trusted, func(prefix netip.Prefix) bool { return prefix.Contains(address) })
}

// Client returns the address of the client that sent a request: of the connection,
// or, if that is a trusted proxy's, the last address in the proxies' header that is
// not a trusted proxy's. What precedes that address was written by the client,
// and is not looked at. If the header has no such address, the client is the last
// proxy that was reached. A connection without addresses has the zero Addr.
func (p *Proxies) Client(r *http.Request) netip.Addr {
	last := listen.Addr(r.RemoteAddr)
	if !last.IsValid() || !p.Trusts(last) {
		return last
	}
	value, given := List(r.Header, p.header)
	for rest := value; given; {
		var hop string
		hop, rest, given = p.lastHop(rest)
		address, ok := parseHop(hop)
		if !ok {
			return last
		}
		last = address
		if !p.Trusts(last) {
			return last
		}
	}
	return last
}

// lastHop returns the last address in the value of the proxies' header, as it is
// written there, and the value before it; more is false if that was the first. It
// reads from the end, so that a quote that the client left open cannot hide what a
// proxy has added behind it.
func (p *Proxies) lastHop(value string) (hop, before string, more bool) {
	comma, quoted := len(value)-1, false
	for ; comma >= 0 && (value[comma] != ',' || quoted); comma-- {
		if value[comma] == '"' && p.header == Forwarded {
			quoted = !quoted
		}
	}
	element := value[comma+1:]
	before, more = value[:max(comma, 0)], comma >= 0
	if p.header == XForwardedFor {
		return element, before, more
	}
	for _, pair := range Split(element, ';') {
		if name, node, ok := strings.Cut(strings.TrimSpace(pair), "="); ok && strings.EqualFold(name, "for") {
			hop = node
		}
	}
	return hop, before, more
}

// parseHop parses an address, which can be quoted, in brackets and with a port (RFC
// 7239, section 6).
func parseHop(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if len(text) > 1 && text[0] == '"' && text[len(text)-1] == '"' {
		text = text[1 : len(text)-1]
	}
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	} else if len(text) > 1 && text[0] == '[' && text[len(text)-1] == ']' {
		text = text[1 : len(text)-1]
	}
	address, err := netip.ParseAddr(text)
	return address.Unmap().WithZone(""), err == nil
}
