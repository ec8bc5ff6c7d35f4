// Package feed tests that readers of the feed of changes hold what lists return.
package feed

import (
	"testing"

	"marquee/integration/process"
)

func TestMain(m *testing.M) { process.Main(m) }
