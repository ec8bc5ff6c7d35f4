package browser

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"marquee"
	"marquee/integration/marqueetest"
	"marquee/resources"
)

// TestConsoleToken: a new API token is shown once, with a warning and a button to copy it. It works, and
// nothing has it afterwards.
func TestConsoleToken(t *testing.T) {
	c := openConsole(t, marquee.Options{Application: resources.New().Application()})
	c.s.Do(http.MethodPost, "/api/v1/roles/loader?context=main", `{"name": "Loader", "scope": "NETWORK", "permissions": []}`, http.StatusCreated)
	c.show("/networks/main/new/tokens", "input[name=username]")
	c.signIn(marqueetest.Password)
	c.visible("main form")
	c.to(`main form input[id$="/name"]`)
	c.press("Nightly load")
	c.to("main form [role=combobox]")
	c.press("Loader")
	c.visible("main form [role=option]")
	c.press(kb.ArrowDown + kb.Enter)
	c.to("main form button.primary")
	c.press(kb.Enter)
	c.visible("dialog[open] input.token")
	if text := c.text("dialog[open]"); !strings.Contains(text, "not shown again") {
		t.Errorf("the dialog says %s", text)
	}
	token := evaluate[string](t, c.ctx, `document.querySelector("input.token").value`)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.s.URL+"/api/v1/orders?context=main", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("the token that is shown is answered with %d", answer.StatusCode)
	}
	script := axe(t)
	for _, of := range []string{"light", "dark"} {
		c.theme(of)
		accessible(t, c.ctx, script, "token "+of)
		screenshot(t, c.ctx, "console-token-"+of+".png")
	}
	c.press(kb.Escape)
	c.visible("dialog[open] input.token")
	c.to("dialog button.primary")
	c.press(kb.Enter)
	c.await(`document.querySelector("dialog [role=status]").innerText !== ""`)
	c.to("dialog button:not(.primary)")
	c.press(kb.Enter)
	c.await(`!document.querySelector("dialog") && location.pathname.includes("/object/tokens/") && document.querySelector("main form")`)
	if kept := evaluate[string](t, c.ctx, `document.documentElement.outerHTML + [...document.querySelectorAll("input, textarea")].map(e => e.value) + JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + location.href + JSON.stringify(history.state)`); strings.Contains(kept, token) {
		t.Error("the page still has the token")
	}
}
