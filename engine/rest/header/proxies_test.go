package header

import (
	"net/http"
	"testing"
)

func TestClientBehindProxies(t *testing.T) {
	trusted := []string{"10.0.0.0/8", "192.0.2.7", "2001:db8:1::/48"}
	for _, c := range []struct {
		header, remote string
		lines          []string
		want           string
	}{
		{XForwardedFor, "203.0.113.9:1", []string{"198.51.100.1"}, "203.0.113.9"}, // not a proxy
		{XForwardedFor, "10.0.0.1:1", nil, "10.0.0.1"},
		{XForwardedFor, "10.0.0.1:1", []string{""}, "10.0.0.1"},
		{XForwardedFor, "10.0.0.1:1", []string{"198.51.100.1"}, "198.51.100.1"},
		{XForwardedFor, "10.0.0.1:1", []string{"6.6.6.6, 198.51.100.1"}, "198.51.100.1"}, // the first is the client's invention
		{XForwardedFor, "10.0.0.1:1", []string{"6.6.6.6", "198.51.100.1, 10.2.3.4"}, "198.51.100.1"},
		{XForwardedFor, "[2001:db8:1::1]:1", []string{"198.51.100.1,192.0.2.7"}, "198.51.100.1"},
		{XForwardedFor, "[::ffff:10.0.0.1]:1", []string{"[2001:db8:9::1%eth0]:4711"}, "2001:db8:9::1"},
		{XForwardedFor, "10.0.0.1:1", []string{"198.51.100.1:4711"}, "198.51.100.1"},
		{XForwardedFor, "10.0.0.1:1", []string{"10.1.1.1, 10.2.2.2"}, "10.1.1.1"}, // proxies alone
		{XForwardedFor, "10.0.0.1:1", []string{"198.51.100.1, unknown"}, "10.0.0.1"},
		{XForwardedFor, "10.0.0.1:1", []string{"198.51.100.1, nonsense, 10.2.2.2"}, "10.2.2.2"},
		{XForwardedFor, "10.0.0.1:1", []string{"198.51.100.1,"}, "10.0.0.1"},
		{XForwardedFor, "@", []string{"198.51.100.1"}, ""},
		{Forwarded, "10.0.0.1:1", []string{`for=6.6.6.6, for=198.51.100.1;proto=https;by=10.0.0.1`}, "198.51.100.1"},
		{Forwarded, "10.0.0.1:1", []string{`proto=https; For="[2001:db8:9::1]:4711"`}, "2001:db8:9::1"},
		{Forwarded, "10.0.0.1:1", []string{`for=198.51.100.1;host="a,for=6.6.6.6"`}, "198.51.100.1"},
		{Forwarded, "10.0.0.1:1", []string{`for="6.6.6.6, for=198.51.100.1`}, "198.51.100.1"}, // a quote that the client left open
		{Forwarded, "10.0.0.1:1", []string{`for="6.6.6.6`, `for="198.51.100.1:80";proto=http`}, "198.51.100.1"},
		{Forwarded, "10.0.0.1:1", []string{`for=198.51.100.1, for=_hidden`}, "10.0.0.1"},
		{Forwarded, "10.0.0.1:1", []string{`for=198.51.100.1, by=10.0.0.1`}, "10.0.0.1"},
	} {
		p, err := NewProxies(trusted, c.header)
		if err != nil {
			t.Fatal(err)
		}
		other := map[string]string{XForwardedFor: Forwarded, Forwarded: XForwardedFor}[c.header]
		request := &http.Request{RemoteAddr: c.remote, Header: http.Header{c.header: c.lines, other: {"for=7.7.7.7"}, "X-Real-Ip": {"7.7.7.7"}}}
		if c.lines == nil {
			request.Header.Del(c.header)
		}
		got := p.Client(request)
		if got.IsValid() && got.String() != c.want || !got.IsValid() && c.want != "" {
			t.Errorf("%s %s %q: %v instead of %s", c.header, c.remote, c.lines, got, c.want)
		}
	}
	none, _ := NewProxies(nil, "")
	if got := none.Client(&http.Request{RemoteAddr: "127.0.0.1:1", Header: http.Header{XForwardedFor: {"6.6.6.6"}}}); got.String() != "127.0.0.1" {
		t.Errorf("without trusted proxies: %v", got)
	}
	for _, wrong := range []string{"", "10.0.0.0/33", "proxy.example", "fe80::1%eth0", "10.0.0.1:80"} {
		if _, err := NewProxies([]string{wrong}, ""); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
	if _, err := NewProxies(nil, "X-Real-IP"); err == nil {
		t.Error("another header is accepted")
	}
}
