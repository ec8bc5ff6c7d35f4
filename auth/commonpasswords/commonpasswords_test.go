package commonpasswords

import (
	"bytes"
	"testing"
)

func TestContains(t *testing.T) {
	for _, password := range []string{
		"password", "PASSWORD", "iloveyou",
		// With at least 12 characters, and not easily guessed by the estimate of auth.
		"1q2w3e4r5t6y", "zaq1xsw2cde3", "Zaq1Xsw2Cde3", "whosyourdaddy", "needforspeed", "transformers", "4815162342lost",
	} {
		if !Contains(password) {
			t.Errorf("%s is not among them", password)
		}
	}
	for _, password := range []string{
		"", "123456", "1q2w3e4r5t6yy", " needforspeed", "needforspeed\n", "salt lamp over the fjord", "nine green boats at dawn",
		"correct horse battery", "a password to test with", "tern&mud", "\xff\xfe",
	} {
		if Contains(password) {
			t.Errorf("%q is among them", password)
		}
	}
}

// The search needs prefixes that ascend.
func TestPrefixes(t *testing.T) {
	const passwords = 38452
	if len(prefixes) != passwords*size {
		t.Fatalf("%d bytes, want those of %d passwords", len(prefixes), passwords)
	}
	for i := size; i < len(prefixes); i += size {
		if bytes.Compare(prefixes[i-size:i], prefixes[i:i+size]) >= 0 {
			t.Fatalf("the prefix at %d does not follow the one before", i)
		}
	}
}
