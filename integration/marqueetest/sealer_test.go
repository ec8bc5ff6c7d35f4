package marqueetest_test

import (
	"testing"

	"marquee/auth"
)

func sealer(t *testing.T) *auth.Sealer {
	t.Helper()
	s, err := auth.NewSealer(make([]byte, auth.KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
