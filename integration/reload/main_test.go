// Package reload tests changes of schemas while objects are there and clients write,
// through one server and several.
package reload

import (
	"testing"

	"marquee/integration/process"
)

func TestMain(m *testing.M) { process.Main(m) }
