package mongodb

import (
	"path/filepath"
	"strconv"
)

// An Option changes the settings of a replica set.
type Option func(*settings)

type settings struct {
	members    int
	standalone bool
	new        bool
	tls        bool
	auth       bool
	folder     string
	through    func(command ...string) []string
	oplog      int // in MB, 0 for the usual size
}

// WithTLS makes the servers refuse connections without TLS. URI trusts the
// certificate, which is made for these tests.
func WithTLS() Option { return func(s *settings) { s.tls = true } }

// WithOplog makes the log of operations hold some MB, so that it is soon overwritten.
func WithOplog(megabytes int) Option { return func(s *settings) { s.oplog = megabytes } }

// WithAuth makes the servers ask who a client is. URI and Client are those of a
// user who may do everything.
func WithAuth() Option { return func(s *settings) { s.auth = true } }

// New leaves it to the test to make the servers a replica set, and to create users.
func New() Option { return func(s *settings) { s.new = true } }

// OnDisk makes the servers write below a folder, and starts them with the command lines
// that a function makes of theirs, such as faultydisk.Disk.Command.
func OnDisk(folder string, through func(command ...string) []string) Option {
	return func(s *settings) { s.folder, s.through = folder, through }
}

// arguments are those of a member, besides what concerns access.
func (s *settings) arguments(m *member) []string {
	// A transaction of 100,000 objects must fit into the cache of a single server,
	// which may be uncommitted for the most part, as in the compose file. The
	// cache of a set is small, so that it is full soon. The log of operations
	// bounds how long a member can be away and still catch up.
	cache, log, eviction := "4", "512", ",eviction_dirty_trigger=80,eviction_updates_trigger=80"
	if s.members > 1 {
		cache, log, eviction = "0.5", "1024", ""
	}
	if s.oplog > 0 {
		log = strconv.Itoa(s.oplog)
	}
	arguments := []string{
		"--dbpath", filepath.Join(m.folder, "data"),
		"--port", strconv.Itoa(m.port), "--bind_ip", "127.0.0.1", "--nounixsocket",
		"--wiredTigerCacheSizeGB", cache, "--quiet",
		// Else each takes 300 MB of what may be memory before anything is written.
		"--wiredTigerEngineConfigString", "log=(file_max=16MB,prealloc=false)" + eviction,
		// Else the files of dropped databases stay open for five minutes, and a
		// member that was killed repeats up to a minute of writes.
		"--syncdelay", "5", "--setParameter", "minSnapshotHistoryWindowInSeconds=30",
		"--setParameter", "enableTestCommands=1",
		"--setParameter", "diagnosticDataCollectionEnabled=false",
	}
	if !s.standalone {
		arguments = append(arguments, "--replSet", setName, "--oplogSize", log)
	}
	if s.members > 1 {
		// Else members wait up to a minute for one that is paused, which they
		// copied from.
		arguments = append(arguments, "--setParameter", "oplogInitialFindMaxSeconds=2",
			"--setParameter", "oplogNetworkTimeoutBufferSeconds=1")
	}
	return arguments
}
