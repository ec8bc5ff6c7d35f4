package store

import "crypto/rand"

const idLetters = "abcdefghijklmnopqrstuvwxyz234567"

// NewID returns a random id of 16 lower-case letters and digits with 80 bits of
// entropy.
func NewID() string {
	var random [16]byte
	rand.Read(random[:])
	return IDOf(random)
}

// IDOf returns the id that NewID makes of random bytes.
func IDOf(random [16]byte) string {
	for i, b := range random {
		random[i] = idLetters[b&31]
	}
	return string(random[:])
}
