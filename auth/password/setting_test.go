package password_test

import (
	"testing"

	"marquee/auth/authtest"
	"marquee/auth/password"
	"marquee/engine"
	"marquee/engine/message"
)

// TestRejectionsTakeTheSameTime: the number of hashes does not depend on a guessed
// password when the response does not either.
func TestRejectionsTakeTheSameTime(t *testing.T) {
	e, service := authtest.New(t)
	write := func(caller, network, user string, patch map[string]any) (int64, error) {
		t.Helper()
		m, err := service.Member(t.Context(), caller)
		if err != nil || m == nil {
			t.Fatalf("%s: %v", caller, err)
		}
		patch["id"] = user
		before := password.Hashes()
		_, err = e.Write(t.Context(), m, engine.Batch{Network: network, ValidateOnly: true,
			Operations: []engine.Operation{authtest.Operation(t, e, "users", patch)}})
		return password.Hashes() - before, err
	}
	for _, c := range []struct {
		title, caller, network, user string
		code                         *message.Definition
		hashes                       int64
	}{
		{"a user that is not visible", "boss east", "", "reader west", message.ObjectNotFound, 0},
		{"nor in the caller's network", "boss east", "east", "all west", message.ObjectNotFound, 0},
		{"a visible user with more permissions", "boss east", "east", "all east", message.UserNotManaged, 0},
		{"by a caller without permission", "reader east", "", "all east", message.PermissionMissing, 0},
		{"by a caller without permission, and there is no such user", "reader east", "", "nobody", message.PermissionMissing, 0},
		{"by the user, without the current password", "reader east", "", "reader east", message.CurrentPasswordWrong, 1},
	} {
		for _, guess := range []string{"the right word 4", "the wrong word 4"} {
			n, err := write(c.caller, c.network, c.user, map[string]any{"password": guess})
			if !c.code.Is(err) || n != c.hashes {
				t.Errorf("%s: %s hashes %d times, not %d: %v", c.title, guess, n, c.hashes, err)
			}
		}
	}
	if n, err := write("boss east", "east", "reader east", map[string]any{"password": "the wrong word 4"}); err != nil || n != 2 {
		t.Errorf("a caller with permission: %d, %v", n, err)
	}
}

// TestSignInTakesTheSameTime: also for an unknown name and for an inactive user.
func TestSignInTakesTheSameTime(t *testing.T) {
	e, service := authtest.New(t)
	off := authtest.Operation(t, e, "users", map[string]any{"id": "reader east", "objectState": "INACTIVE"})
	if _, err := e.Write(t.Context(), &engine.Caller{System: true}, engine.Batch{Operations: []engine.Operation{off}}); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"all-east": "the wrong word 4", "nobody": "the right word 4", "all east": "the right word 4",
		"\x00": "the right word 4", "": "", "reader-east": "the right word 4", "reader-EAST": "the wrong word 4"} {
		before := password.Hashes()
		if _, err := service.Sessions.SignIn(t.Context(), "192.0.2.1", name, text, ""); !message.InvalidGrant.Is(err) || password.Hashes()-before != 1 {
			t.Errorf("%q: %d, %v", name, password.Hashes()-before, err)
		}
	}
}

// TestLongPasswordsAreSet: the limits count characters, as the schema does.
func TestLongPasswordsAreSet(t *testing.T) {
	e, service := authtest.New(t)
	long := ""
	for range password.MaxLength {
		long += "ø"
	}
	object := map[string]any{"id": "reader east", "password": long}
	if _, err := e.Write(t.Context(), &engine.Caller{System: true}, engine.Batch{Operations: []engine.Operation{authtest.Operation(t, e, "users", object)}}); err != nil {
		t.Fatal(err)
	}
	if _, err := service.Sessions.SignIn(t.Context(), "192.0.2.1", "reader-east", long, ""); err != nil {
		t.Error(err)
	}
}
