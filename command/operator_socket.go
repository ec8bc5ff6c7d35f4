package command

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
)

// A server of an SQLite file listens on a Unix socket beside it, through which the
// commands of the operator reach it: no other process can open the file meanwhile.
// Whoever can connect may do everything, so the socket has the mode 0600.

// operatorSocket returns the path of the socket of a database file.
func operatorSocket(database string) string { return database + ".sock" }

// maxSocketPath is a length of paths that every system accepts for a socket.
const maxSocketPath = 100

// shortSocketPath returns a path of the same socket that is not too long for the
// system. It can be used until release is called.
func shortSocketPath(path string) (short string, release func(), err error) {
	if len(path) <= maxSocketPath {
		return path, func() {}, nil
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	through := fmt.Sprintf("/proc/self/fd/%d", folder.Fd())
	short = through + "/" + filepath.Base(path)
	if _, err := os.Stat(through); err != nil || len(short) > maxSocketPath {
		folder.Close()
		return "", nil, fmt.Errorf("the path %s is too long for a socket: at most %d characters", path, maxSocketPath)
	}
	return short, func() { folder.Close() }, nil
}

// operatorListener listens on the socket of the operator.
type operatorListener struct {
	*net.UnixListener
	path string
	made fs.FileInfo
	log  *slog.Logger
}

// listenOperator makes the socket, in place of one that an earlier process has left.
// The caller must have the database file locked, so that no other server has a socket
// there. The socket is made in a folder that only this user can enter, and moved when
// it has its mode.
func listenOperator(path string, log *slog.Logger) (*operatorListener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != fs.ModeSocket {
		return nil, fmt.Errorf("%s is in the way: it is not a socket", path)
	}
	private := path + ".new"
	if err := os.RemoveAll(private); err != nil {
		return nil, err
	}
	if err := os.Mkdir(private, 0o700); err != nil {
		return nil, err
	}
	defer os.RemoveAll(private)
	made := filepath.Join(private, "s")
	short, release, err := shortSocketPath(made)
	if err != nil {
		return nil, err
	}
	defer release()
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		return nil, err
	}
	socket.SetUnlinkOnClose(false) // it is moved
	l := &operatorListener{UnixListener: socket, path: path, log: log}
	err = os.Chmod(made, 0o600)
	if err == nil {
		l.made, err = os.Lstat(made)
	}
	if err == nil {
		err = os.Rename(made, path)
	}
	if err != nil {
		return nil, errors.Join(err, socket.Close())
	}
	return l, nil
}

// Accept implements net.Listener. It accepts only processes of the same user and of
// root, where the system reports their owner.
func (l *operatorListener) Accept() (net.Conn, error) {
	for {
		c, err := l.UnixListener.Accept()
		if err != nil {
			return nil, err
		}
		if id, known := peerUser(c); known && id != os.Geteuid() && id != 0 {
			l.log.Warn("a connection of another user to the operator's socket was refused", slog.Int("uid", id))
			c.Close()
			continue
		}
		return c, nil
	}
}

// Close implements net.Listener. It removes the socket, unless another is in its place.
func (l *operatorListener) Close() error {
	if info, err := os.Lstat(l.path); err == nil && os.SameFile(info, l.made) {
		_ = os.Remove(l.path) // a socket that is left is replaced at the next start
	}
	return l.UnixListener.Close()
}

// serveOperator serves the commands of the operator on a socket beside the database
// file, until end is called. Without the socket, everything else is served.
func (c *serveCommand) serveOperator(s *service, log *slog.Logger) (server *http.Server) {
	database := sqlitePath(c.Store)
	server = c.newServer(log)
	server.Handler = s.Operator()
	server.ReadTimeout, server.WriteTimeout = 0, 0 // an import takes longer; routes have deadlines
	if database == "" {
		return server
	}
	listener, err := listenOperator(operatorSocket(database), log)
	if err != nil {
		log.Warn("there is no socket for commands such as "+programName+" user, which can only be used while the service is stopped", slog.String("cause", err.Error()))
		return server
	}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("the socket of the operator is no longer served", slog.String("cause", err.Error()))
		}
	}()
	return server
}
