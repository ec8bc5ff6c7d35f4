// Package advertising tests what the advertising types do beyond their schemas, where
// that needs more than a case in testdata.
package advertising

import (
	"testing"

	"marquee/integration/process"
)

func TestMain(m *testing.M) { process.Main(m) }
