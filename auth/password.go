// Package auth signs users in and decides what they see and may change:
// passwords, tokens, roles, visibility, and the middleware that finds the
// caller of a request.
package auth

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/crypto/argon2"
)

// Argon2id with OWASP's first recommended parameters (Password Storage Cheat
// Sheet): 19 MiB of memory, 2 passes, 1 lane.
const (
	argonMemoryKB = 19 * 1024
	argonPasses   = 2
	argonLanes    = 1
	argonBytes    = 32
	saltBytes     = 16
)

// hashing bounds the memory that hashing takes at once.
var hashing = make(chan struct{}, runtime.NumCPU())

func argon(password string, salt []byte) []byte {
	hashing <- struct{}{}
	defer func() { <-hashing }()
	return argon2.IDKey([]byte(password), salt, argonPasses, argonMemoryKB, argonLanes, argonBytes)
}

// HashPassword makes the stored form of a password, in the PHC string format.
func HashPassword(password string) string {
	salt := make([]byte, saltBytes)
	rand.Read(salt)
	encode := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemoryKB, argonPasses, argonLanes,
		encode(salt), encode(argon(password, salt)))
}

// nobody is checked in place of a user who does not exist, so that the time
// does not tell.
var nobody = HashPassword("nobody")

// CheckPassword compares a password with its stored form. With an empty form
// it takes the same time and fails.
func CheckPassword(password, stored string) bool {
	known := stored != ""
	if !known {
		stored = nobody
	}
	parts := strings.Split(stored, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false
	}
	var memory, passes uint32
	var lanes uint8
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &passes, &lanes); err != nil {
		return false
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil {
		return false
	}
	want, err := base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil {
		return false
	}
	hashing <- struct{}{}
	got := argon2.IDKey([]byte(password), salt, passes, memory, lanes, uint32(len(want)))
	<-hashing
	return subtle.ConstantTimeCompare(got, want) == 1 && known
}
