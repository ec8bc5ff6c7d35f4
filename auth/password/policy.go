package password

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ccojocar/zxcvbn-go"
	"golang.org/x/text/unicode/norm"

	"marquee/auth/commonpasswords"
	"marquee/engine/message"
)

// Policy is what a password must satisfy when it is set. Passwords that were
// stored under another policy can still be used to sign in.
type Policy struct {
	// MinLength is the minimum number of characters; 0 is DefaultMinLength.
	MinLength int
}

// The limits of Policy.MinLength, and its default.
const (
	LeastMinLength   = 8
	DefaultMinLength = 12
	MostMinLength    = 64
)

// maxLength is the maximum number of characters of a password, as in the schema of
// users.
const maxLength = 1024

// Check returns an error if the policy itself is out of its limits.
func (p Policy) Check() error {
	if p.MinLength != 0 && (p.MinLength < LeastMinLength || p.MinLength > MostMinLength) {
		return fmt.Errorf("the minimum length of passwords must be from %d to %d", LeastMinLength, MostMinLength)
	}
	return nil
}

func (p Policy) minLength() int {
	if p.MinLength == 0 {
		return DefaultMinLength
	}
	return p.MinLength
}

// HasLength reports whether the length of a password is one that the policy and the schema
// of users allow.
func (p Policy) HasLength(password string) bool {
	n := utf8.RuneCountInString(password)
	return n >= p.minLength() && n <= maxLength
}

// shortest name that a password must not contain: shorter ones are part of many words.
const shortestName = 3

// Broken returns the first rule that a password breaks: how, and its parameters. It is
// nil if the password can be set. A password that is too long is left to the schema.
func (p Policy) Broken(password, username string) (*message.Definition, message.Params) {
	switch n := utf8.RuneCountInString(password); {
	case n > maxLength:
		return nil, nil
	case n < p.minLength():
		return message.ValueTooShort, message.Params{"limit": p.minLength()}
	case utf8.RuneCountInString(username) >= shortestName && strings.Contains(folded(password), folded(username)):
		return message.PasswordHasUsername, nil
	case commonpasswords.Contains(password), guessable(password):
		return message.PasswordCommon, nil
	}
	return nil, nil
}

// folded is the form in which a name is searched for in a password: neither case nor
// width matters.
func folded(text string) string { return strings.ToLower(norm.NFKC.String(text)) }

const (
	// guessableScore is the score of zxcvbn up to which a password is refused: it is
	// found within a million guesses on average.
	guessableScore = 0
	// estimated is the maximum number of characters that are looked at. The time of the
	// estimate grows with the square, and longer passwords are not common.
	estimated = 40
)

// guessable reports whether a password is made of common passwords, words or names, or
// differs from them in what those who guess passwords try: capitals, digits for letters,
// years, sequences, rows of the keyboard, repetition.
func guessable(password string) bool {
	end, n := len(password), 0
	for i := range password {
		if n == estimated {
			end = i
			break
		}
		n++
	}
	return zxcvbn.PasswordStrength(password[:end], nil).Score <= guessableScore
}
