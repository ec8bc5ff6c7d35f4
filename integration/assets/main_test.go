// Package assets tests uploads, bundles and the delivery of files.
package assets

import (
	"testing"

	"marquee/integration/process"
)

func TestMain(m *testing.M) { process.Main(m) }
