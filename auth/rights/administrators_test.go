package rights_test

import (
	"testing"

	"marquee/auth/authtest"
	"marquee/engine"
	"marquee/engine/message"
)

// TestTheServiceKeepsAdministrators: the rule also applies to imports and commands.
func TestTheServiceKeepsAdministrators(t *testing.T) {
	e, _ := authtest.New(t)
	write := func(objects ...engine.Operation) error { return authtest.Write(t, e, "east", objects...) }
	boss := authtest.Operation(t, e, "users", map[string]any{"id": "boss east", "objectState": "INACTIVE"})
	if err := write(boss); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"users", "roles"} {
		id := map[string]string{"users": "all east", "roles": "all"}[name]
		if err := write(authtest.Operation(t, e, name, map[string]any{"id": id, "objectState": "INACTIVE"})); !message.LastAdministrator.Is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	back := authtest.Operation(t, e, "users", map[string]any{"id": "boss east", "objectState": "ACTIVE"})
	if err := write(authtest.Operation(t, e, "users", map[string]any{"id": "all east", "objectState": "INACTIVE"}), back); err != nil {
		t.Error(err)
	}
}
