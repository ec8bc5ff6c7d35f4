package mongo

import (
	"testing"

	"marquee/integration/indexed"
)

func TestIndexesOfTheSchemas(t *testing.T) { indexed.Check(t, openTest(t, Options{}), explainQuery) }
