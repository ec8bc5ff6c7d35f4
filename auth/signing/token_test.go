package signing

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"marquee/auth/seal"
	"marquee/engine/message"
	"marquee/engine/store"
	"marquee/engine/store/sqlite"
)

var tokenTime = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// keySeed is fixed, so that the tokens of the corpus remain valid or invalid.
var keySeed = []byte("0123456789abcdef0123456789abcdef")

// opened returns the keys of a store with the key k.
func opened(tb testing.TB) *Keys {
	tb.Helper()
	must := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	ctx := context.Background()
	s, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(tb.TempDir(), "store.db"), Readers: 1})
	must(err)
	tb.Cleanup(func() { s.Close() })
	must(s.EnsureCollections(ctx, Collections()))
	sealer, err := seal.New(keySeed)
	must(err)
	sealed, err := sealer.Seal(string(keySeed), collection+"\x00k")
	must(err)
	content, err := json.Marshal(keyDocument{Private: sealed})
	must(err)
	write := store.InternalWrite(store.Record{Key: store.Key{ID: "k"}}, "ACTIVE", content, tokenTime)
	must(s.Write(ctx, func(tx store.Tx) error { return tx.Put(ctx, collection, []store.Write{write}) }))
	keys, err := Open(ctx, Config{Store: s, Sealer: sealer, Access: time.Hour, Now: func() time.Time { return tokenTime }})
	must(err)
	return keys
}

// signed returns a signed token after a change.
func signed(tb testing.TB, change func(*jwt.Token, *claims)) string {
	tb.Helper()
	c := claims{RegisteredClaims: jwt.RegisteredClaims{Issuer: issuer, Audience: jwt.ClaimStrings{audience}, Subject: "u", ID: "t",
		IssuedAt: jwt.NewNumericDate(tokenTime), ExpiresAt: jwt.NewNumericDate(tokenTime.Add(time.Hour))}}
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, &c)
	token.Header["kid"] = "k"
	var key any = ed25519.NewKeyFromSeed(keySeed)
	change(token, &c)
	switch token.Method.Alg() {
	case "none":
		key = jwt.UnsafeAllowNoneSignatureType
	case "HS256":
		key = []byte(ed25519.NewKeyFromSeed(keySeed).Public().(ed25519.PublicKey))
	}
	text, err := token.SignedString(key)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

func method(m jwt.SigningMethod) func(*jwt.Token, *claims) {
	return func(t *jwt.Token, _ *claims) { t.Method, t.Header["alg"] = m, m.Alg() }
}

// spoilt makes tokens invalid.
var spoilt = map[string]func(*jwt.Token, *claims){
	"no algorithm":           method(jwt.SigningMethodNone),
	"public key as a secret": method(jwt.SigningMethodHS256),
	"no key":                 func(t *jwt.Token, _ *claims) { delete(t.Header, "kid") },
	"another key":            func(t *jwt.Token, _ *claims) { t.Header["kid"] = "K" },
	"key of another type":    func(t *jwt.Token, _ *claims) { t.Header["kid"] = 1 },
	"expired":                func(_ *jwt.Token, c *claims) { c.ExpiresAt = jwt.NewNumericDate(tokenTime) },
	"for ever":               func(_ *jwt.Token, c *claims) { c.ExpiresAt = nil },
	"issued later":           func(_ *jwt.Token, c *claims) { c.IssuedAt = jwt.NewNumericDate(tokenTime.Add(2 * time.Minute)) },
	"another issuer":         func(_ *jwt.Token, c *claims) { c.Issuer = "other" },
	"another audience":       func(_ *jwt.Token, c *claims) { c.Audience = jwt.ClaimStrings{"other"} },
	"no audience":            func(_ *jwt.Token, c *claims) { c.Audience = nil },
	"a critical extension":   func(t *jwt.Token, _ *claims) { t.Header["crit"] = []string{"exp"} },
	"nobody":                 func(_ *jwt.Token, c *claims) { c.Subject = "" },
}

func TestSpoiltTokens(t *testing.T) {
	keys := opened(t)
	said, err := keys.Verify(t.Context(), signed(t, func(*jwt.Token, *claims) {}))
	if err != nil || said.User != "u" || said.Session != "t" {
		t.Fatalf("the token itself: %v, %v", said, err)
	}
	for name, change := range map[string]func(*jwt.Token, *claims){
		"of a server whose clock is ahead": func(_ *jwt.Token, c *claims) { c.IssuedAt = jwt.NewNumericDate(tokenTime.Add(30 * time.Second)) },
		"for another audience, too":        func(_ *jwt.Token, c *claims) { c.Audience = append(c.Audience, "other") },
	} {
		if _, err := keys.Verify(t.Context(), signed(t, change)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, change := range spoilt {
		if said, err := keys.Verify(t.Context(), signed(t, change)); !message.TokenInvalid.Is(err) || said != (Claims{}) {
			t.Errorf("%s: %v, %v", name, said, err)
		}
	}
}

// TestTokenHasOneSpelling: no other text is accepted as a valid token.
func TestTokenHasOneSpelling(t *testing.T) {
	keys := opened(t)
	valid := signed(t, func(*jwt.Token, *claims) {})
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	others := []string{valid + "=", valid + "==", valid + "\n", "\r\n" + valid, valid[:10] + "\n" + valid[10:], strings.ReplaceAll(valid, ".", ".\r")}
	last := len(valid) - 1
	for _, letter := range alphabet {
		if other := valid[:last] + string(letter); other != valid {
			others = append(others, other)
		}
	}
	for _, other := range others {
		if said, err := keys.Verify(t.Context(), other); !message.TokenInvalid.Is(err) || said != (Claims{}) {
			t.Errorf("%q is accepted for %q", other, valid)
		}
	}
}

// Every text but the token itself is rejected.
func FuzzVerify(f *testing.F) {
	valid := signed(f, func(*jwt.Token, *claims) {})
	f.Add(valid)
	for _, change := range spoilt {
		f.Add(signed(f, change))
	}
	for _, text := range []string{"", ".", "..", "a.b.c", "eyJhbGciOiJub25lIn0..", strings.Repeat(".", 1000), "\x00", valid + ".", valid[1:]} {
		f.Add(text)
	}
	keys := opened(f)
	f.Fuzz(func(t *testing.T, token string) {
		said, err := keys.Verify(t.Context(), token)
		switch {
		case err == nil && (token != valid || said.User != "u"):
			t.Fatalf("%q is the token of %v", token, said)
		case err != nil && !message.TokenInvalid.Is(err):
			t.Fatalf("%q: %v", token, err)
		}
	})
}
