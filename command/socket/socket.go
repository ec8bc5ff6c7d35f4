// Package socket is the way from the commands of an operator to the server that has an SQLite
// file open: a Unix socket beside the file, or pipes where this process has opened it. No
// other process can open the file meanwhile. Whoever can connect may do everything, so the
// socket has the mode 0600.
package socket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
)

// Path returns the path of the socket of a database file.
func Path(database string) string { return database + ".sock" }

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

// listener listens on the socket of the operator.
type listener struct {
	*net.UnixListener
	path string
	made fs.FileInfo
	log  *slog.Logger
}

// Listen makes the socket of a database file, in place of one that an earlier process has left.
// The caller must have the database file locked, so that no other server has a socket
// there. The socket is made in a folder that only this user can enter, and moved when
// it has its mode.
func Listen(database string, log *slog.Logger) (net.Listener, error) {
	path := Path(database)
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
	l := &listener{UnixListener: socket, path: path, log: log}
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
func (l *listener) Accept() (net.Conn, error) {
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
func (l *listener) Close() error {
	if info, err := os.Lstat(l.path); err == nil && os.SameFile(info, l.made) {
		_ = os.Remove(l.path) // a socket that is left is replaced at the next start
	}
	return l.UnixListener.Close()
}

// Dial opens a connection to the socket of a database file. At its other end
// must be the owner of the file, this user, or root: in a folder that others can write
// to, another user could have replaced the socket and would be sent passwords.
func Dial(ctx context.Context, database string) (net.Conn, error) {
	short, release, err := shortSocketPath(Path(database))
	if err != nil {
		return nil, err
	}
	defer release()
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "unix", short)
	if err != nil {
		return nil, err
	}
	id, known := peerUser(c)
	if !known || id == 0 || id == os.Geteuid() {
		return c, nil
	}
	if info, err := os.Stat(database); err == nil {
		if owner, known := ownerOf(info); known && owner == id {
			return c, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("the process that listens at %s is one of another user (%d)", Path(database), id), c.Close())
}
