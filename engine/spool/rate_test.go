package spool

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"marquee/engine/message"
)

// send writes pieces of a body to one end of a connection, each after a pause,
// and reads them at the other through LeastRate. It returns what came, and when
// it ended.
func send(t *testing.T, rate int64, grace time.Duration, pause time.Duration, piece string, pieces int) (got string, took time.Duration, err error) {
	client, server := net.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer client.Close()
		for range pieces {
			time.Sleep(pause)
			if _, err := io.WriteString(client, piece); err != nil {
				return
			}
		}
	}()
	begun := time.Now()
	body, err := io.ReadAll(LeastRate(server, rate, grace, func() { _ = server.SetReadDeadline(time.Unix(1, 0)) }))
	took = time.Since(begun)
	err = errors.Join(err, server.Close())
	<-ended
	return string(body), took, err
}

func TestLeastRate(t *testing.T) {
	for name, c := range map[string]struct {
		pause  time.Duration
		pieces int
		took   time.Duration // 0: all comes
	}{
		"at the rate":       {pause: time.Second, pieces: 60},
		"bursts":            {pause: 0, pieces: 60},
		"below it":          {pause: 2 * time.Second, pieces: 60, took: 20 * time.Second},
		"nothing":           {pause: time.Hour, pieces: 1, took: 10 * time.Second},
		"below it, in time": {pause: 2 * time.Second, pieces: 8},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				piece := strings.Repeat("x", 100)
				got, took, err := send(t, 100, 10*time.Second, c.pause, piece, c.pieces)
				switch {
				case c.took == 0 && (err != nil || got != strings.Repeat(piece, c.pieces)):
					t.Errorf("%d bytes: %v", len(got), err)
				case c.took > 0 && !message.BodyTooSlow.Is(err):
					t.Errorf("%d bytes: %v", len(got), err)
				case c.took > 0 && (took < c.took-3*time.Second || took > c.took+time.Second):
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// A client that sends much and then stops has not earned more than the grace.
func TestBurstEarnsNoStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		defer client.Close()
		go func() { _, _ = io.WriteString(client, strings.Repeat("x", 1<<20)) }()
		begun := time.Now()
		n, err := io.Copy(io.Discard, LeastRate(server, 100, 10*time.Second, func() { _ = server.SetReadDeadline(time.Unix(1, 0)) }))
		if !message.BodyTooSlow.Is(err) || n != 1<<20 || time.Since(begun) > 11*time.Second {
			t.Errorf("%d bytes after %s: %v", n, time.Since(begun), err)
		}
	})
}

// What the server does between two reads is not held against the client.
func TestPausesOfTheReaderDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := LeastRate(strings.NewReader("abc"), 1, time.Second, func() {})
		for range 3 {
			time.Sleep(time.Minute)
			if _, err := io.ReadFull(r, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Other faults of the reader stay.
func TestLeastRateKeepsFaults(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	if err := server.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := LeastRate(server, 1, time.Minute, func() {}).Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v", err)
	}
}
