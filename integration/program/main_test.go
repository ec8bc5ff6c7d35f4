// Package program tests the real program: its start, settings, output, signals, reloads,
// files and end.
package program

import (
	"testing"

	"marquee/integration/process"
)

func TestMain(m *testing.M) { process.Main(m) }
