package disk

import "syscall"

// Types of file systems in memory (statfs(2)).
const (
	tmpfs = 0x01021994
	ramfs = 0x858458f6
)

func isInMemory(s *syscall.Statfs_t) bool {
	kind := uint32(s.Type) // #nosec G115 -- magic numbers have 32 bits
	return kind == tmpfs || kind == ramfs
}
