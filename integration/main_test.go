// Package integration tests the whole service over HTTP, by what its documents say:
// cases, the reference pages, the OpenAPI document, parameters and limits. The folders
// below have suites on one subject each. Begin with testdata/README.md, which describes
// how to add a case without Go, and fixture_test.go, which runs them.
package integration

import (
	"testing"

	"marquee/integration/process"
)

func TestMain(m *testing.M) { process.Main(m) }
