package password_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/argon2"

	"marquee/auth"
	"marquee/auth/authtest"
	"marquee/auth/password"
	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/store"
)

// A policy can allow shorter passwords, and holds for the service itself.
func TestPolicyOfASetting(t *testing.T) {
	var config *auth.Config
	set := func(e *engine.Engine, text string) error {
		return authtest.Write(t, e, "", authtest.Operation(t, e, "users", map[string]any{"id": "reader east", "password": text}))
	}
	const short = "tern&mud"
	strict, _ := authtest.New(t)
	if err := set(strict, short); !message.ValueTooShort.Is(err) {
		t.Errorf("by default: %v", err)
	}
	e, _ := authtest.New(t, func(c *auth.Config) { c.Passwords.MinLength, config = 8, c })
	if err := set(e, short); err != nil {
		t.Error(err)
	}
	if err := set(e, "Password1"); !message.PasswordCommon.Is(err) {
		t.Errorf("a common one: %v", err)
	}
	// It is used after the policy has become stricter.
	config.Passwords.MinLength = 64
	service, err := auth.New(t.Context(), *config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := service.Sessions.SignIn(t.Context(), "192.0.2.1", "reader-east", short, ""); err != nil {
		t.Error(err)
	}
	for length, ok := range map[int]bool{0: true, 7: false, 8: true, 64: true, 65: false, -1: false} {
		if err := (password.Policy{MinLength: length}).Check(); (err == nil) != ok {
			t.Errorf("%d: %v", length, err)
		}
	}
}

// FuzzPolicy checks that each text is accepted or refused by a rule.
func FuzzPolicy(f *testing.F) {
	for _, text := range []string{"", "password", "p4ssw0rd", "æøå", "\xff\xfe", "19/11/2024", strings.Repeat("aA1@4$0!", 20), strings.Repeat("日本", 40)} {
		f.Add(text, "kari")
	}
	f.Fuzz(func(t *testing.T, text, username string) {
		password.Policy{MinLength: password.LeastMinLength}.Broken(text, username)
	})
}

// Signing in raises the parameters of a hash, and sessions go on.
func TestHashesAreRaised(t *testing.T) {
	e, service := authtest.New(t)
	const user, text = "reader east", "the right word 4"
	salt := []byte("8 bytes!")
	encode := base64.RawStdEncoding.EncodeToString
	content, err := json.Marshal(map[string]string{"hash": fmt.Sprintf("$argon2id$v=19$m=64,t=1,p=1$%s$%s", encode(salt), encode(argon2.IDKey([]byte(text), salt, 1, 64, 1, 16)))})
	if err != nil {
		t.Fatal(err)
	}
	stored := func() (hash string, revision int64) {
		t.Helper()
		err := e.Store.Read(t.Context(), func(r store.Snapshot) (err error) {
			hash, revision, err = password.Stored(t.Context(), r, user)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return hash, revision
	}
	_, revision := stored()
	err = e.Store.Write(t.Context(), func(tx store.Tx) error {
		was := store.Record{Key: store.Key{ID: user}, Revision: revision}
		return tx.Put(t.Context(), password.Collection, []store.Write{store.InternalWrite(was, "ACTIVE", content, time.Now())})
	})
	if err != nil {
		t.Fatal(err)
	}
	weak, before := stored()
	if _, err := service.Sessions.SignIn(t.Context(), "192.0.2.1", "reader-east", "wrong password", ""); !message.InvalidGrant.Is(err) {
		t.Fatal(err)
	}
	if hash, _ := stored(); hash != weak {
		t.Error("a wrong password raises the hash")
	}
	tokens, err := service.Sessions.SignIn(t.Context(), "192.0.2.1", "reader-east", text, "")
	if err != nil {
		t.Fatal(err)
	}
	strong, after := stored()
	if strong == weak || password.Outdated(strong) || after != before {
		t.Errorf("%s of revision %d, and then %s of revision %d", weak, before, strong, after)
	}
	if _, err := service.Caller(t.Context(), tokens.AccessToken); err != nil {
		t.Error(err)
	}
	if _, err := service.Sessions.SignIn(t.Context(), "192.0.2.1", "reader-east", text, ""); err != nil {
		t.Error(err)
	}
	if again, _ := stored(); again != strong {
		t.Error("a hash with the present parameters is raised")
	}
}
