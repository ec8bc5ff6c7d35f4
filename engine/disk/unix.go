//go:build linux || darwin || freebsd

package disk

import "syscall"

// Of describes the file system of a folder; ok is false if that fails.
func Of(folder string) (d Disk, ok bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		return Disk{}, false
	}
	block := int64(s.Bsize)
	return Disk{Size: int64(s.Blocks) * block, Free: int64(s.Bavail) * block, InMemory: isInMemory(&s)}, true // #nosec G115 -- no disk has 2^63 blocks
}
