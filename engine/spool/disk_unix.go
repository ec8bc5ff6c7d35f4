//go:build linux || darwin || freebsd

package spool

import "syscall"

// diskOf describes the file system of a folder; ok is false if that fails.
func diskOf(dir string) (d disk, ok bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return disk{}, false
	}
	block := int64(s.Bsize)
	return disk{size: int64(s.Blocks) * block, free: int64(s.Bavail) * block, inMemory: isInMemory(&s)}, true // #nosec G115 -- no disk has 2^63 blocks
}
