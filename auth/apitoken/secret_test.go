package apitoken

import "testing"

// An API token that was cut off, changed or made up is recognised without the store.
func TestAPITokensAreWellFormed(t *testing.T) {
	for range 100 {
		token := newSecret()
		if !Is(token) || !wellFormed(token) {
			t.Fatalf("%s is not well-formed", token)
		}
		for i := range token {
			changed := byte('A')
			if token[i] == changed {
				changed = 'B'
			}
			if i >= len(prefix) && wellFormed(token[:i]+string(changed)+token[i+1:]) {
				t.Errorf("%s is well-formed with another character %d", token, i)
			}
			if wellFormed(token[:i]) {
				t.Errorf("%s is well-formed", token[:i])
			}
		}
		for _, longer := range []string{token + "A", token + "=", token + "\n", token[:10] + "\n" + token[11:], token[:10] + "\r\n" + token[10:]} {
			if wellFormed(longer) {
				t.Errorf("%q is well-formed", longer)
			}
		}
	}
}
