//go:build darwin || freebsd

package disk

import "syscall"

func isInMemory(*syscall.Statfs_t) bool { return false }
