//go:build unix

package limits

import "syscall"

// MaxOpenFiles returns the limit of open files of the process, which the Go runtime has
// raised as far as it may.
func MaxOpenFiles() (limit int, known bool) {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return 0, false
	}
	return int(min(uint64(r.Cur), 1<<30)), true // #nosec G115 -- it is small
}
