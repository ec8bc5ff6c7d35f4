// Package access tests who sees and changes what: sessions, tokens, roles, teams, networks,
// and that nothing else about hidden objects can be found out.
package access

import (
	"testing"

	"marquee/integration/process"
)

func TestMain(m *testing.M) { process.Main(m) }
