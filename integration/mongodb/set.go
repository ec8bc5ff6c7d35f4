package mongodb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// setName is what every replica set of the tests is called.
const setName = "rs0"

// set is servers that belong together: a replica set, or a single server without.
type set struct {
	settings
	folder   string
	guardian *guardian
	members  []*member
	client   *mongo.Client // of the whole set, as one who may do everything

	certificates *certificates // nil without TLS
}

// startSet returns a set that is ready: it has a primary, and all others follow.
func startSet(binary string, s settings) (*set, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	for attempt := 1; ; attempt++ {
		own, err := tryStart(ctx, binary, s)
		// Another process may have been faster to take a port that was free.
		if errors.Is(err, errExited) && strings.Contains(err.Error(), "in use") && attempt < 5 {
			continue
		}
		return own, err
	}
}

func tryStart(ctx context.Context, binary string, s settings) (_ *set, err error) {
	folder, err := os.MkdirTemp(cmp.Or(s.folder, place(s.members)), "marquee-mongod-")
	if err != nil {
		return nil, err
	}
	own := &set{settings: s, folder: folder}
	if own.guardian, err = guard(guarding, folder); err != nil {
		os.RemoveAll(folder)
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, own.stop())
		}
	}()
	if err := own.addMembers(binary); err != nil {
		return nil, err
	}
	for _, m := range own.members {
		if err := m.start(); err != nil {
			return nil, err
		}
	}
	for _, m := range own.members {
		if err := m.await(ctx); err != nil {
			return nil, err
		}
	}
	if own.client, err = mongo.Connect(options.Client().ApplyURI(own.uri(own.owner(), ""))); err != nil {
		return nil, err
	}
	if !s.standalone && !s.new {
		if err := own.initiate(ctx); err != nil {
			return nil, fmt.Errorf("initiate the replica set: %w; the log of its first member says\n%s", err, own.members[0].complaint())
		}
	}
	return own, nil
}

// owner is the user of who started the set.
func (s *set) owner() *url.Userinfo {
	if s.auth {
		return administrator
	}
	return nil
}

func (s *set) addMembers(binary string) error {
	guarded, err := s.guarded()
	if err != nil {
		return err
	}
	ports, err := freePorts(s.settings.members)
	if err != nil {
		return err
	}
	query := s.transport()
	query.Set("directConnection", "true")
	for i, port := range ports {
		folder := filepath.Join(s.folder, strconv.Itoa(i))
		if err := os.MkdirAll(filepath.Join(folder, "data"), 0o700); err != nil {
			return err
		}
		m := &member{folder: folder, port: port}
		m.command = slices.Concat([]string{binary}, s.arguments(m), guarded)
		if s.through != nil {
			m.command = s.through(m.command...)
		}
		m.uri = "mongodb://" + m.address() + "/?" + query.Encode()
		s.members = append(s.members, m)
	}
	return nil
}

// stop ends all servers and removes what they wrote.
func (s *set) stop() error {
	for _, m := range s.members {
		m.kill()
	}
	if s.client != nil {
		leave(s.client)
	}
	return s.guardian.release()
}

// place is where servers write: in memory where there is room, because
// creating a collection or an index waits for the disk several times.
func place(members int) string {
	const memory = "/dev/shm"
	if free(memory) >= uint64(members)*2<<30 {
		return memory
	}
	return os.TempDir()
}

// freePorts are below those that systems give to outgoing connections, so that
// none is taken while its member is down.
func freePorts(n int) ([]int, error) {
	var ports []int
	for tries := 0; len(ports) < n && tries < 1000; tries++ {
		port := 20000 + rand.IntN(10000)
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		defer listener.Close() // not before all are found
		ports = append(ports, port)
	}
	if len(ports) < n {
		return nil, errors.New("no free ports on 127.0.0.1")
	}
	return ports, nil
}
