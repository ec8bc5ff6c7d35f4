// Package password computes and compares the hashes of passwords, has the policy that new
// ones must satisfy, and counts failed attempts. It imports commonpasswords, message,
// schema, store and turn. Begin with Hash and Attempts.
package password

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/crypto/argon2"
)

// Argon2id with OWASP's first recommended parameters (Password Storage Cheat
// Sheet): 19 MiB of memory, 2 passes, 1 lane.
var (
	argonMemoryKB uint32 = 19 * 1024
	argonPasses   uint32 = 2
)

const (
	argonLanes = 1
	argonBytes = 32
	saltBytes  = 16
)

// Cheapen makes hashes cheap for the tests of a package that are not about them. It must
// be called before any other function, and panics in a program that is not a test's.
func Cheapen() {
	if !testing.Testing() {
		panic("password: cheap hashes are for tests")
	}
	argonMemoryKB, argonPasses = 64, 1
}

// hashesAtOnce bounds the processors and the memory that hashing uses: about 40 MB,
// and as much garbage.
const hashesAtOnce = 2

// How many hashes can wait, of one origin and in total.
const (
	maxWaitingOfOrigin = 64
	maxWaiting         = 1024
)

// hashing is the line for computing hashes, hashes their number.
var (
	hashing = newLine(min(hashesAtOnce, runtime.NumCPU()), maxWaitingOfOrigin, maxWaiting)
	hashes  atomic.Int64
)

func argon(ctx context.Context, from, password string, salt []byte, passes, memory uint32, lanes uint8, length uint32) ([]byte, error) {
	if err := hashing.enter(ctx, from); err != nil {
		return nil, err
	}
	defer hashing.leave(from)
	hashes.Add(1)
	return argon2.IDKey([]byte(password), salt, passes, memory, lanes, length), nil
}

// Hash returns the hash of a password in the PHC string format. It waits in
// line with others from the same origin, an address or a user. Errors are of type
// *message.Error: the context has ended, or the line is too long.
func Hash(ctx context.Context, from, password string) (string, error) {
	salt := make([]byte, saltBytes)
	rand.Read(salt)
	hash, err := argon(ctx, from, password, salt, argonPasses, argonMemoryKB, argonLanes, argonBytes)
	return phc(salt, hash), err
}

func phc(salt, hash []byte) string {
	encode := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemoryKB, argonPasses, argonLanes, encode(salt), encode(hash))
}

// dummy replaces the hash of a user who does not exist, so that checking it takes the
// same time. No known password has it.
func dummy() string { return phc(make([]byte, saltBytes), make([]byte, argonBytes)) }

// Check compares a password with a hash; "" is never equal, and takes the same
// time. It waits and returns errors as Hash does.
func Check(ctx context.Context, from, password, stored string) (bool, error) {
	known := stored != ""
	if !known {
		stored = dummy()
	}
	p, ok := parseHash(stored)
	if !ok {
		return false, nil
	}
	got, err := argon(ctx, from, password, p.salt, p.passes, p.memory, p.lanes, uint32(len(p.hash))) // #nosec G115 -- the hash is one that the service has stored
	return err == nil && subtle.ConstantTimeCompare(got, p.hash) == 1 && known, err
}

// parsedHash is a hash with the parameters that it was computed with.
type parsedHash struct {
	memory, passes uint32
	lanes          uint8
	salt, hash     []byte
}

func parseHash(stored string) (p parsedHash, ok bool) {
	parts := strings.Split(stored, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return p, false
	}
	_, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &p.memory, &p.passes, &p.lanes)
	if err != nil {
		return p, false
	}
	if p.salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil {
		return p, false
	}
	p.hash, err = base64.RawStdEncoding.DecodeString(parts[5])
	return p, err == nil
}

// Outdated reports whether a hash was computed with other parameters than those of
// Hash.
func Outdated(stored string) bool {
	p, ok := parseHash(stored)
	return !ok || p.memory != argonMemoryKB || p.passes != argonPasses || p.lanes != argonLanes ||
		len(p.salt) != saltBytes || len(p.hash) != argonBytes
}
