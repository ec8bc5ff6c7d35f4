//go:build !linux

package faultydisk

import "testing"

// Fault is a way in which a disk fails.
type Fault struct{}

// Faults is empty.
var Faults map[string]Fault

// Disk exists on Linux alone.
type Disk struct{}

// New skips the test.
func New(tb testing.TB, folder string) *Disk {
	tb.Skip("a disk that fails needs Linux")
	return nil
}

// Command returns the command line of a program on this disk.
func (d *Disk) Command(command ...string) []string { return command }

// Fail makes the disk fail.
func (d *Disk) Fail(Fault) {}

// Hits returns the number of system calls that have failed.
func (d *Disk) Hits() int { return 0 }

// Enter does nothing.
func Enter() {}
