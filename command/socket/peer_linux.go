package socket

import (
	"io/fs"
	"net"
	"syscall"
)

// peerUser returns the id of the user whose process is at the other end of a Unix
// socket; known is false if the system does not report it.
func peerUser(c net.Conn) (id int, known bool) {
	socket, ok := c.(*net.UnixConn)
	if !ok {
		return 0, false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, false
	}
	err = raw.Control(func(fd uintptr) {
		if credentials, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			id, known = int(credentials.Uid), true
		}
	})
	return id, known && err == nil
}

// ownerOf returns the id of the user who owns a file.
func ownerOf(info fs.FileInfo) (id int, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}
