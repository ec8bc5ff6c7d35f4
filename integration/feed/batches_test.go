package feed

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"marquee"
	"marquee/engine/spool"
	"marquee/integration/service"
)

// TestStreamBatches checks that no more of a stream is rendered at once than 64 KiB and an event,
// whether the events are small or large, and that the changes which are read with them follow.
func TestStreamBatches(t *testing.T) { service.EachStore(t, testStreamBatches) }

func testStreamBatches(t *testing.T, fresh service.NewStore) {
	const atOnce = 64 << 10
	files := spool.New(t.TempDir(), 0)
	c := hospital(t, fresh)
	c.Service.Stop()
	c.Service.Configure = func(o *marquee.Options) { o.Spool = files }
	c.Service.Start()
	c.Service.Client = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if tcp, ok := connection.(*net.TCPConn); ok {
			err = errors.Join(err, tcp.SetReadBuffer(64<<10)) // so that a batch is kept until most of it has been received
		}
		return connection, err
	}}}
	defer c.Service.Client.CloseIdleConnections()
	for _, some := range []struct {
		kind          string
		number, bytes int
	}{{"wards", 1000, 100}, {"beds", 4, largeText}} {
		var operations []string
		for i := range some.number {
			operations = append(operations, fmt.Sprintf(`{"type": %q, "object": {"id": "o%d", "text": %q}}`, some.kind, i, strings.Repeat("x", some.bytes)))
		}
		c.Send("POST", "/api/v1/batch?context=main", `{"operations": [`+strings.Join(operations, ",")+`]}`, http.StatusOK, "")
		o := unread(t, c.Service, c.Token, "&include=object&after=begin&type="+some.kind, "")
		for begun := time.Now(); files.Stats().Used+files.Stats().Memory < atOnce/2; runtime.Gosched() {
			if time.Since(begun) > soon {
				t.Fatalf("%s: no batch waits for the client", some.kind)
			}
		}
		lines, most, seen := bufio.NewReader(o.Answer.Body), int64(0), map[string]bool{}
		for len(seen) < some.number {
			part, err := lines.ReadSlice('\n')
			if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
				t.Fatalf("%s: %v after %d events", some.kind, err, len(seen))
			}
			if _, rest, found := strings.Cut(string(part), `"id":"o`); found && strings.HasPrefix(string(part), "data: ") {
				id, _, _ := strings.Cut(rest, `"`)
				if seen[id] || id != fmt.Sprint(len(seen)) {
					t.Fatalf("%s: o%s is event %d", some.kind, id, len(seen))
				}
				seen[id] = true
			}
			used := files.Stats()
			most = max(most, used.Used+used.Memory)
		}
		// The id of an event is its position again, which at most doubles a small event.
		if limit := int64(2*atOnce + some.bytes*11/10); most > limit {
			t.Errorf("%s: up to %d bytes were rendered and not sent, not %d", some.kind, most, limit)
		}
		_ = o.Answer.Body.Close()
	}
}
