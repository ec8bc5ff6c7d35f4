//go:build darwin || freebsd

package spool

import "syscall"

func isInMemory(*syscall.Statfs_t) bool { return false }
