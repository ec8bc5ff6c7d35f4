package program

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"marquee/integration/process"
	"marquee/integration/service"
)

// procCutOff is the maximum time that a server with the timeouts of the tests takes to
// close a connection; those that it has by default are longer.
const procCutOff = 5 * time.Second

// ended waits until the server has closed the connection.
func (c *procConn) ended(tb testing.TB) {
	tb.Helper()
	if err := c.SetReadDeadline(time.Now().Add(procCutOff)); err != nil {
		tb.Fatal(err)
	}
	_, err := io.Copy(io.Discard, c.reader)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		tb.Error("the connection stays open")
	}
}

// TestSlowClientsAreCutOff: who sends slowly does not hold a connection
// longer than the read timeout, whatever it sends.
func TestSlowClientsAreCutOff(t *testing.T) { service.EachStore(t, testSlowClientsAreCutOff) }

func testSlowClientsAreCutOff(t *testing.T, fresh service.NewStore) {
	p := process.Serve(t, fresh(t), "--read-timeout", "300ms", "--idle-timeout", "400ms")
	p.SignIn("admin", process.Password)
	for name, start := range map[string]string{
		"nothing":     "",
		"headers":     "GET /api/v1/orders?context=main HTTP/1.1\r\nHost: marquee\r\nX-Slow: ",
		"idle":        "GET /healthz HTTP/1.1\r\nHost: marquee\r\n\r\n",
		"second":      "GET /healthz HTTP/1.1\r\nHost: marquee\r\n\r\nGET /healthz HTTP/1.1\r\nHost: ",
		"body":        postHead(p, "/api/v1/orders/slow?context=main", 100) + `{"name": "a`,
		"chunks":      strings.Replace(postHead(p, "/api/v1/orders/slow?context=main", 0), "Content-Length: 0", "Transfer-Encoding: chunked", 1) + "5\r\n{\"nam",
		"credentials": "POST /api/authenticate HTTP/1.1\r\nHost: marquee\r\nContent-Length: 100\r\n\r\ngrant_type=",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(p)
			c.write(t, start)
			stop := make(chan struct{})
			defer close(stop)
			if name == "headers" || name == "body" {
				go c.drip(stop) // a byte now and then keeps nothing open
			}
			if name == "body" || name == "chunks" {
				if a := c.answer(t); a == nil || a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), "error.body") {
					t.Errorf("the answer is %v", a)
				}
			}
			c.ended(t)
		})
	}
	t.Cleanup(func() {
		p.Ask(http.StatusNotFound, http.MethodGet, "/api/v1/orders/slow?context=main", "")
		p.Stop()
	})
}

// drip sends a byte each 20 milliseconds.
func (c *procConn) drip(stop chan struct{}) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			if _, err := c.Write([]byte("a")); err != nil {
				return
			}
		}
	}
}

// TestHugeHeadersAreRefused without being read to their end.
func TestHugeHeadersAreRefused(t *testing.T) { service.EachStore(t, testHugeHeadersAreRefused) }

func testHugeHeadersAreRefused(t *testing.T, fresh service.NewStore) {
	p := process.Serve(t, fresh(t))
	p.SignIn("admin", process.Password)
	get := "GET /api/v1/orders?context=main HTTP/1.1\r\nHost: marquee\r\nAuthorization: Bearer " + p.Token + "\r\n"
	for name, request := range map[string]string{
		"one":  get + "X-Huge: " + strings.Repeat("a", 80<<10) + "\r\n\r\n",
		"many": get + strings.Repeat("X-Many: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n", 2000) + "\r\n",
		"path": "GET /api/v1/orders?context=" + strings.Repeat("a", 80<<10) + " HTTP/1.1\r\nHost: marquee\r\n\r\n",
	} {
		c := dial(p)
		// The server may close before it has read all, so that an error is none.
		go io.WriteString(c, request)
		if a := c.answer(t); a == nil || a.Status != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%s: the answer is %v", name, a)
		}
	}
	c := dial(p)
	c.write(t, get+"X-Large: "+strings.Repeat("a", 48<<10)+"\r\n\r\n")
	if a := c.answer(t); a == nil || a.Status != http.StatusOK {
		t.Errorf("48 KiB of headers are answered with %v", a)
	}
	c.Close()
	p.Stop()
}
