package mongodb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// member is one mongod with a port and a folder, which it keeps when it is
// killed and started again.
type member struct {
	folder  string
	port    int
	command []string
	uri     string

	logged  int64 // how much had been logged when it was started
	process *os.Process
	exited  chan struct{}
	paused  bool
	client  *mongo.Client // to this member alone, without a user
}

func (m *member) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(m.port)) }

// start runs the server; await says when it is there.
func (m *member) start() error {
	if m.process != nil {
		return fmt.Errorf("the member on port %d is running", m.port)
	}
	output, err := os.OpenFile(m.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer output.Close()
	if m.logged, err = output.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	enter := append([]string{"-c", entering, filepath.Join(m.folder, "pid")}, m.command...)
	command := exec.Command("sh", enter...)
	command.Stdout, command.Stderr = output, output
	setApart(command)
	if err := command.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	m.process, m.exited = command.Process, exited
	go func() {
		command.Wait()
		close(exited)
	}()
	return nil
}

// await returns when the server accepts connections.
func (m *member) await(ctx context.Context) error {
	if err := m.awaitListening(ctx); err != nil {
		m.kill()
		return fmt.Errorf("mongod on port %d: %w; its log says\n%s", m.port, err, m.complaint())
	}
	var err error
	m.client, err = mongo.Connect(options.Client().ApplyURI(m.uri).SetServerSelectionTimeout(5 * time.Second))
	return err
}

var errExited = errors.New("it ended at once")

// awaitListening looks into the log: the port alone may be another's.
func (m *member) awaitListening(ctx context.Context) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		log, err := os.ReadFile(m.logFile())
		if err != nil {
			return err
		}
		if bytes.Contains(log[m.logged:], []byte("Waiting for connections")) {
			return nil
		}
		select {
		case <-m.exited:
			return errExited
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// kill ends the server as a power cut would. A server that is down stays so.
func (m *member) kill() {
	if m.process != nil {
		m.process.Kill()
		<-m.exited
		m.process, m.paused = nil, false
		os.Remove(filepath.Join(m.folder, "pid")) // the number may be another's soon
	}
	if m.client != nil {
		leave(m.client)
		m.client = nil
	}
}

// leave gives a client up without a word to its server, which may not answer.
func leave(client *mongo.Client) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	client.Disconnect(ctx)
}

var errDown = errors.New("the member is down")

func (m *member) pause() error {
	if m.process == nil {
		return errDown
	}
	if err := pause(m.process); err != nil {
		return err
	}
	for m.answers() {
	}
	m.paused = true
	return nil
}

// answers reports whether the server answers soon. One that was asked to stop may
// go on for some milliseconds on a busy machine.
func (m *member) answers() bool {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_, err := m.hello(ctx)
	return err == nil
}

func (m *member) resume() error {
	if m.process == nil {
		return errDown
	}
	m.paused = false
	return resume(m.process)
}

// greeting is what a member says about itself.
type greeting struct {
	Primary   bool          `bson:"isWritablePrimary"`
	Secondary bool          `bson:"secondary"`
	Election  bson.ObjectID `bson:"electionId"`
	LastWrite struct {
		OpTime struct {
			Time bson.Timestamp `bson:"ts"`
		} `bson:"opTime"`
	} `bson:"lastWrite"`
}

func (g *greeting) written() bson.Timestamp { return g.LastWrite.OpTime.Time }

func (m *member) hello(ctx context.Context) (greeting, error) {
	var answer greeting
	if m.client == nil || m.paused {
		return answer, errDown
	}
	// A member that is overwhelmed does not hold up the others.
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	err := m.client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&answer)
	return answer, err
}

func (m *member) logFile() string { return filepath.Join(m.folder, "log") }

// complaint is what the log says since the start: its errors, or else its end.
func (m *member) complaint() string {
	log, err := os.ReadFile(m.logFile())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(log[m.logged:])), "\n")
	var telling []string
	for _, line := range lines {
		if !strings.HasPrefix(line, "{") || strings.Contains(line, `"s":"E"`) || strings.Contains(line, `"s":"F"`) {
			telling = append(telling, line)
		}
	}
	if len(telling) == 0 {
		telling = lines
	}
	return strings.Join(telling[max(0, len(telling)-15):], "\n")
}
