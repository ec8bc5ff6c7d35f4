// Package commonpasswords knows the 100,000 most common passwords.
//
// It embeds the first 40 bits of the SHA-256 hash of each one with at least 8
// characters, the least that the policy of passwords can be set to. Of random
// passwords that are not among them, one in 28 million is taken for one that is.
//
// README.md describes the origin of the list, and its licence.
package commonpasswords

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"sort"
	"strings"
)

//go:generate go run ./generate -o prefixes.bin

// size is the number of bytes of a prefix.
const size = 5

// prefixes has the prefixes in ascending order, without separators.
//
//go:embed prefixes.bin
var prefixes []byte

// Contains reports whether a password is one of the 100,000 most common, whatever its
// case. It knows none with fewer than 8 characters.
func Contains(password string) bool {
	sum := sha256.Sum256([]byte(strings.ToLower(password)))
	_, found := sort.Find(len(prefixes)/size, func(i int) int {
		return bytes.Compare(sum[:size], prefixes[i*size:(i+1)*size])
	})
	return found
}
