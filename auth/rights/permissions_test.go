package rights_test

import (
	"strings"
	"testing"

	"marquee/auth/authtest"
	"marquee/engine"
	"marquee/engine/message"
)

// TestUndeclaredPermission: a role keeps a permission that no schema declares any more,
// with a warning, and nobody can add one.
func TestUndeclaredPermission(t *testing.T) {
	e, _ := authtest.New(t)
	if err := authtest.Write(t, e, "east", authtest.Operation(t, e, "roles", map[string]any{"id": "old", "name": "Old", "permissions": []any{"MANAGE_SYSTEM", "GONE"}})); err != nil {
		t.Fatal(err)
	}
	roles, _ := e.Registry().Type("roles")
	operator := &engine.Caller{System: true, Operator: true}
	write := func(object map[string]any) error {
		_, err := e.Write(t.Context(), operator, engine.Batch{Network: "east", Operations: []engine.Operation{{Type: roles, ID: "old", Object: object}}})
		return err
	}
	if err := write(map[string]any{"name": "Older"}); err != nil {
		t.Errorf("the role cannot be renamed: %v", err)
	}
	shown, err := e.Get(t.Context(), operator, roles, "east", "old", nil)
	if err != nil || !strings.Contains(string(shown.JSON), `"code":"warning.permission.undeclared"`) || !strings.Contains(string(shown.JSON), `{"field":"/permissions/1","value":"GONE"}`) {
		t.Errorf("the role is shown without the warning: %s %v", shown.JSON, err)
	}
	if err := write(map[string]any{"permissions": []any{"GONE", "LOST"}}); !message.ValueEnum.Is(err) {
		t.Errorf("a permission that no schema declares is added: %v", err)
	}
	if err := write(map[string]any{"permissions": []any{}}); err != nil {
		t.Error(err)
	}
	if err := write(map[string]any{"permissions": []any{"GONE"}}); !message.ValueEnum.Is(err) {
		t.Errorf("a permission that was removed comes back: %v", err)
	}
}
