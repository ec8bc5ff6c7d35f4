package marqueetest_test

import (
	"testing"

	"marquee/auth/seal"
)

func sealer(t *testing.T) *seal.Sealer {
	t.Helper()
	s, err := seal.New(make([]byte, seal.KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
