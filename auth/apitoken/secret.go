package apitoken

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"strings"
)

// prefix is how every API token begins, so that people and scanners recognise it.
const prefix = "mq_"

// An API token has randomBytes random bytes and a checksum of these, so that a truncated
// or invented text is refused without reading the store.
const (
	randomBytes  = 32
	contentBytes = randomBytes + crc32.Size
)

// Is reports whether a token is an API token, valid or not.
func Is(token string) bool { return strings.HasPrefix(token, prefix) }

func newSecret() string {
	var content [contentBytes]byte
	rand.Read(content[:randomBytes])
	binary.BigEndian.PutUint32(content[randomBytes:], crc32.ChecksumIEEE(content[:randomBytes]))
	return prefix + base64.RawURLEncoding.EncodeToString(content[:])
}

// wellFormed reports whether newSecret can have returned a token.
func wellFormed(token string) bool {
	text := strings.TrimPrefix(token, prefix)
	if len(text) != base64.RawURLEncoding.EncodedLen(contentBytes) || strings.ContainsAny(text, "\r\n") { // which the decoder ignores
		return false
	}
	content, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return err == nil && binary.BigEndian.Uint32(content[randomBytes:]) == crc32.ChecksumIEEE(content[:randomBytes])
}

// hash returns the form in which the store has a secret.
func hash(token string) string {
	digest := sha256.Sum256([]byte(token))
	return hex.EncodeToString(digest[:])
}
