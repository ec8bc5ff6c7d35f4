// Package siege attacks the service beside an honest client, and judges its memory and
// the times of requests.
package siege

import (
	"testing"

	"marquee/integration/process"
)

func TestMain(m *testing.M) { process.Main(m) }
