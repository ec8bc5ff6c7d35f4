// Package concurrency tests what concurrent clients see, while processes are killed, disks
// fail, and a replica set loses its primary.
package concurrency

import (
	"testing"

	"marquee/integration/process"
)

func TestMain(m *testing.M) { process.Main(m) }
