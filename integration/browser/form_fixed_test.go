package browser

import (
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"marquee"
)

const vaultSchema = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "title": "Vault", "x-resource": {"path": "vaults"}, "required": ["name"],
	"properties": {"name": {"type": "string", "maxLength": 40}, "serial": {"type": "string", "maxLength": 40, "x-immutable": true}, "note": {"type": "string", "maxLength": 40},
		"closed": {"type": "boolean"}, "opened": {"type": "boolean", "readOnly": true}, "pin": {"type": "string", "x-secret": true, "maxLength": 40},
		"keys": {"type": "object", "properties": {"code": {"type": "string", "x-secret": true, "maxLength": 40}, "owner": {"type": "string", "maxLength": 40}}}},
	"x-frozen": {"when": {"properties": {"closed": {"const": true}}, "required": ["closed"]}, "except": ["note", "closed"], "code": "error.vault.closed", "text": "The vault is closed, so that {{field}} stays."}}`

// TestFormFixed: what cannot be changed is read-only, and says why.
func TestFormFixed(t *testing.T) {
	x := vaults(t)
	x.s.Do(http.MethodPut, "/api/v1/vaults/open?context=main", `{"name": "Open", "serial": "S-1"}`, http.StatusCreated)
	x.s.Do(http.MethodPut, "/api/v1/vaults/closed?context=main", `{"name": "Closed", "closed": true}`, http.StatusCreated)
	// fixed are the labels of fields that show their values alone, with what is said of them.
	const fixed = `Object.fromEntries([...document.querySelectorAll("main form output")].map(e => [e.closest(".field").querySelector("label").innerText, e.innerText + ": " + document.getElementById(e.getAttribute("aria-describedby").split(" ").at(-1)).innerText]))`
	for id, want := range map[string]map[string]string{
		"open": {"Serial": "S-1: This value cannot change once it is set.", "Opened": "Not set: The service sets this value."},
		"closed": {"Name": "Closed: The vault is closed, so that Name stays.", "Serial": "Not set: The vault is closed, so that Serial stays.", "Opened": "Not set: The service sets this value.",
			"Pin": "Not set: The vault is closed, so that Pin stays.", "Object state": "ACTIVE: The vault is closed, so that Object state stays."},
	} {
		x.show("/object/vaults/" + id)
		form := x.node(0, map[string]string{"open": "Open", "closed": "Closed"}[id], "form")
		if got := evaluate[map[string]string](t, x.ctx, fixed); jsonText(got) != jsonText(want) {
			t.Errorf("of the %s vault, these are fixed: %s", id, jsonText(got))
		}
		x.write(x.node(form, "Note", "textbox"), "noted")
		x.press(form, "Save")
		x.says("Saved.")
		if sent := x.sent(); sent[0].Body != `{"note":"noted"}` {
			t.Errorf("sent %v", sent)
		}
	}
}

func vaults(t *testing.T) *screen {
	t.Helper()
	return onConsole(t, marquee.Options{Schemas: fstest.MapFS{"vaults.json": {Data: []byte(vaultSchema)}}})
}

// TestFormSecrets: a form says whether a secret is set, has it nowhere, and does not send it unless another
// one is typed.
func TestFormSecrets(t *testing.T) {
	x := vaults(t)
	const path = "/api/v1/vaults/a?context=main"
	x.s.Do(http.MethodPut, path, `{"name": "Vault", "pin": "pin-of-before", "keys": {"code": "code-of-before", "owner": "Ada"}}`, http.StatusCreated)
	x.s.Do(http.MethodPut, "/api/v1/vaults/b?context=main", `{"name": "Other"}`, http.StatusCreated)
	x.show("/object/vaults/b")
	x.node(0, "Other", "form")
	const said = `document.querySelector("main form input[type=password]").closest(".field").innerText`
	if text := evaluate[string](t, x.ctx, said); !strings.Contains(text, "Not set") {
		t.Errorf("of a secret that is not set, the form says %s", text)
	}
	x.show("/object/vaults/a")
	form := x.node(0, "Vault", "form")
	if text := evaluate[string](t, x.ctx, said); !strings.Contains(text, "A value is set, and is not shown") {
		t.Errorf("of a secret that is set, the form says %s", text)
	}
	x.open(form, "Keys")
	x.node(form, "Code", "textbox")
	shown := evaluate[string](t, x.ctx, `document.documentElement.outerHTML + [...document.querySelectorAll("input, textarea")].map(e => e.value).join()`)
	if strings.Contains(shown, "-of-before") {
		t.Error("the page has the value of a secret")
	}
	x.write(x.node(form, "Owner", "textbox"), "Bea")
	x.press(form, "Save")
	x.says("Saved.")
	x.write(x.node(form, "Pin", "textbox"), "pin-of-now")
	x.press(form, "Save")
	x.await(`sent.length === 2 && [...document.querySelectorAll("main [role=status]")].some(e => e.innerText === "Saved.")`)
	if sent := x.sent(); sent[0].Body != `{"keys":{"owner":"Bea"}}` || sent[1].Body != `{"pin":"pin-of-now"}` {
		t.Errorf("sent %v", sent)
	}
	x.expectObject(path, map[string]any{"pin": "pin-of-now", "keys": map[string]any{"code": "code-of-before", "owner": "Bea"}})
}
