package mongo

import (
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// mishap is what the proxy does to a command.
type mishap int

const (
	// arrives delivers the command and its answer.
	arrives mishap = iota
	// unsent breaks the connection before the command arrives.
	unsent
	// unanswered delivers the command, and breaks the connection before its
	// answer.
	unanswered
	// silent delivers the command, and drops its answer without closing the
	// connection.
	silent
	// stuck delays the command until it is released, even if the client
	// disconnects meanwhile.
	stuck
)

func (m mishap) String() string {
	return [...]string{"arrives", "unsent", "unanswered", "silent", "stuck"}[m]
}

// step is a command that a store sends.
type step struct{ command, collection string }

func (s step) String() string { return strings.TrimSuffix(s.command+" "+s.collection, " ") }

// proxy forwards commands between a store and its server, and applies mishaps
// to those that a test selects.
type proxy struct {
	listener net.Listener
	server   string

	mu sync.Mutex
	// judge is called for every command, one at a time, except those with which
	// the driver monitors its server. The function that it returns, if any, is
	// called after the mishap.
	judge   func(step) (happens mishap, then func())
	release chan struct{} // releases stuck commands
	open    sync.WaitGroup
	conns   map[net.Conn]bool
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, server: server, conns: map[net.Conn]bool{}, release: make(chan struct{})}
	p.open.Go(p.accept)
	t.Cleanup(func() {
		listener.Close()
		p.mu.Lock()
		for conn := range p.conns {
			conn.Close()
		}
		p.mu.Unlock()
		p.letGo()
		p.open.Wait()
	})
	return p
}

// on sets the mishaps from now on; nil means none.
func (p *proxy) on(judge func(step) (mishap, func())) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.judge = judge
}

// letGo releases stuck commands.
func (p *proxy) letGo() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.release)
	p.release = make(chan struct{})
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.mu.Unlock()
		p.open.Go(func() { p.serve(client, server) })
	}
}

// serve forwards one connection. The driver waits for each answer before it
// sends more.
func (p *proxy) serve(client, server net.Conn) {
	defer func() {
		client.Close()
		server.Close()
		p.mu.Lock()
		delete(p.conns, client)
		delete(p.conns, server)
		p.mu.Unlock()
	}()
	for {
		request, err := readMessage(client)
		if err != nil {
			return
		}
		if streams(request) {
			p.stream(client, server, request)
			return
		}
		said := stepOf(request)
		happens, then, release := p.ask(said)
		if happens == stuck {
			then()
			<-release
		}
		if happens == unsent {
			then()
			return
		}
		if _, err := server.Write(request); err != nil {
			return
		}
		answer, err := readMessage(server)
		if err != nil {
			return
		}
		switch happens {
		case unanswered:
			then()
			return
		case silent:
			then()
			io.Copy(io.Discard, client) // until it disconnects
			return
		}
		if _, err := client.Write(answer); err != nil {
			return
		}
	}
}

// stream forwards a request that is answered repeatedly.
func (p *proxy) stream(client, server net.Conn, request []byte) {
	if _, err := server.Write(request); err != nil {
		return
	}
	p.open.Go(func() {
		io.Copy(server, client)
		server.Close()
	})
	io.Copy(client, server)
	client.Close()
}

func (p *proxy) ask(said step) (happens mishap, then func(), release chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.judge != nil && !watching(said) {
		happens, then = p.judge(said)
	}
	if then == nil {
		then = func() {}
	}
	return happens, then, p.release
}

// watching reports whether the driver itself sends a command.
func watching(s step) bool {
	return slices.Contains([]string{"", "hello", "isMaster", "ismaster", "endSessions"}, s.command)
}

// readMessage reads one message of the wire protocol.
func readMessage(from io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(from, size[:]); err != nil {
		return nil, err
	}
	message := slices.Grow(size[:], int(binary.LittleEndian.Uint32(size[:])))[:binary.LittleEndian.Uint32(size[:])]
	_, err := io.ReadFull(from, message[4:])
	return message, err
}

// Messages of the wire protocol have a header and, for OP_MSG, flags and
// sections, of which the driver sends the body first.
const (
	opMsg          = 2013
	afterHeader    = 16
	afterFlags     = afterHeader + 4
	exhaustAllowed = 1 << 16
)

func isMsg(message []byte) bool {
	return len(message) > afterFlags && binary.LittleEndian.Uint32(message[12:]) == opMsg && message[afterFlags] == 0
}

// streams reports whether the driver monitors its server with a message.
func streams(message []byte) bool {
	return isMsg(message) && binary.LittleEndian.Uint32(message[afterHeader:])&exhaustAllowed != 0
}

// stepOf returns the command of a message, and its collection.
func stepOf(message []byte) step {
	if !isMsg(message) {
		return step{} // a greeting
	}
	elements, err := bson.Raw(message[afterFlags+1:]).Elements()
	if err != nil || len(elements) == 0 {
		return step{}
	}
	collection, _ := elements[0].Value().StringValueOK()
	return step{elements[0].Key(), collection}
}
