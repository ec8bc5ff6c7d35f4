package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"marquee"
	"marquee/integration/marqueetest"
	"marquee/integration/service"
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

// anotherUser is somebody who may write orders, and nothing else.
func anotherUser(s *marqueetest.Server) {
	s.Do(http.MethodPost, "/api/v1/roles/traffic?context=main", `{"name": "Traffic", "scope": "NETWORK", "permissions": ["MANAGE_BUSINESS"]}`, http.StatusCreated)
	s.Do(http.MethodPost, "/api/v1/users/ida", `{"username": "ida", "password": "`+marqueetest.Password+` too", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "traffic"}]}]}}`, http.StatusCreated)
}

func (c *console) checked(selector string) bool {
	c.t.Helper()
	return evaluate[bool](c.t, c.ctx, "document.querySelector('"+selector+"').checked")
}

// TestConsoleGivesRole: a colleague is given a role, and joins a team, with the keyboard alone, unless somebody else
// has changed that meanwhile.
func TestConsoleGivesRole(t *testing.T) {
	c := openConsole(t, marquee.Options{Application: resources.New().Application()})
	anotherUser(c.s)
	c.s.Do(http.MethodPost, "/api/v1/roles/layouts?context=main", `{"name": "Layouts", "scope": "NETWORK", "permissions": ["MANAGE_LAYOUTS"]}`, http.StatusCreated)
	c.s.Do(http.MethodPost, "/api/v1/roles/reports?context=main", `{"name": "Reports", "scope": "NETWORK", "permissions": ["RUN_REPORTS"]}`, http.StatusCreated)
	c.s.Do(http.MethodPost, "/api/v1/users/ole", `{"username": "ole", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "traffic"}]}]}}`, http.StatusCreated)
	c.s.Do(http.MethodPost, "/api/v1/teams/sales?context=main", `{"name": "Sales"}`, http.StatusCreated)
	c.s.Do(http.MethodPost, "/api/v1/networks/east", `{"name": "East", "timeZone": "Europe/Oslo", "defaultCurrency": "NOK"}`, http.StatusCreated)
	c.s.Do(http.MethodPost, "/api/v1/roles/elsewhere?context=east", `{"name": "Elsewhere", "scope": "NETWORK", "permissions": []}`, http.StatusCreated)
	c.s.Do(http.MethodPatch, "/api/v1/users/ida", `{"userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "traffic"}]}, {"network": "east", "roles": [{"role": "elsewhere"}]}]}}`, http.StatusOK)
	c.show("/networks/main", "input[name=username]")
	c.signIn(marqueetest.Password)
	c.visible(`nav a[href$="/access"]`)
	c.to(`nav a[href$="/access"]`)
	c.press(kb.Enter)
	const box = `input[aria-label="ida has the role Layouts"]`
	c.visible(box)
	if c.checked(box) || !c.checked(`input[aria-label="ida has the role Traffic"]`) || !c.checked(`input[aria-label="Traffic grants MANAGE_BUSINESS"]`) {
		t.Error("the tables show other roles than those of the users")
	}
	script := axe(t)
	for _, of := range []string{"light", "dark"} {
		c.theme(of)
		accessible(t, c.ctx, script, "access "+of)
		screenshot(t, c.ctx, "console-access-"+of+".png")
	}
	give := func() {
		t.Helper()
		c.to(box)
		c.press(" ")
		c.to("#users button.primary")
		c.press(kb.Enter)
	}
	c.s.Do(http.MethodPatch, "/api/v1/users/ida", `{"userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "reports"}]}, {"network": "east", "roles": [{"role": "elsewhere"}]}]}}`, http.StatusOK)
	give()
	c.await(`document.querySelector("[role=alert]")?.innerText.includes("meanwhile") && document.querySelector('input[aria-label="ida has the role Reports"]').checked`)
	if c.checked(box) {
		t.Error("a change that was refused is shown as saved")
	}
	give()
	c.await(`!document.querySelector("[role=alert]") && document.querySelector('` + box + `').checked && [...document.querySelectorAll("[role=status]")].some(e => e.innerText === "Saved: 1")`)
	if roles := jsonText(c.s.Do(http.MethodGet, "/api/v1/users/ida?fields=userRoles", "", http.StatusOK)["userRoles"]); !strings.Contains(roles, `"layouts"`) || !strings.Contains(roles, `"elsewhere"`) || strings.Contains(roles, `"traffic"`) {
		t.Errorf("the user has the roles %s", roles)
	}

	// A permission is given to a role in the same way.
	c.to(`input[aria-label="Layouts grants RUN_REPORTS"]`)
	c.press(" ")
	c.to("#roles button.primary")
	c.press(kb.Enter)
	c.await(`[...document.querySelectorAll("[role=status]")].some(e => e.innerText === "Saved: 1") && !document.querySelector("td.changed")`)
	if role := jsonText(c.s.Do(http.MethodGet, "/api/v1/roles/layouts?context=main", "", http.StatusOK)["permissions"]); !strings.Contains(role, "RUN_REPORTS") || !strings.Contains(role, "MANAGE_LAYOUTS") {
		t.Errorf("the role grants %s", role)
	}

	// Two users join a team, of which somebody else has made a third one a member meanwhile.
	c.s.Do(http.MethodPatch, "/api/v1/teams/sales?context=main", `{"users": ["ole"]}`, http.StatusOK)
	for _, user := range []string{"admin", "ida"} {
		c.to(fmt.Sprintf(`input[aria-label="%s is in the team Sales"]`, user))
		c.press(" ")
	}
	c.to("#teams button.primary")
	c.press(kb.Enter)
	c.await(`[...document.querySelectorAll("#teams [role=status]")].some(e => e.innerText === "Saved: 2") && document.querySelector('input[aria-label="ole is in the team Sales"]').checked`)
	if team := jsonText(c.s.Do(http.MethodGet, "/api/v1/teams/sales?context=main", "", http.StatusOK)["users"]); strings.Count(team, `"id"`) != 3 || !strings.Contains(team, `"ida"`) {
		t.Errorf("the team has %s", team)
	}
	c.to(`input[aria-label="ole is in the team Sales"]`)
	c.press(" ")
	c.s.Do(http.MethodPatch, "/api/v1/teams/sales?context=main", `{"users": ["ida"]}`, http.StatusOK)
	c.to("#teams button.primary")
	c.press(kb.Enter)
	c.await(`document.querySelector("[role=alert]")?.innerText.startsWith("ole: Sales: Somebody has changed this meanwhile")`)
	c.wide(360, 740)
	if wide := evaluate[int](t, c.ctx, "document.documentElement.scrollWidth"); wide > 360 {
		t.Errorf("the page is %d pixels wide on a screen of 360", wide)
	}
	screenshot(t, c.ctx, "console-access-360.png")
}

// TestConsoleEndsSessions: whoever manages users ends the sessions of another one, after a question. There is no button
// for those who hold more, and a refusal of the service is shown.
func TestConsoleEndsSessions(t *testing.T) {
	service.EachStore(t, func(t *testing.T, fresh service.NewStore) {
		options := marquee.Options{Application: resources.New().Application()}
		if strings.HasSuffix(t.Name(), "/mongodb") {
			options = onMongoDB(t, options, fresh)
		}
		c := openConsole(t, options)
		anotherUser(c.s)
		c.s.Do(http.MethodPost, "/api/v1/networks/east", `{"name": "East", "timeZone": "Europe/Oslo", "defaultCurrency": "NOK"}`, http.StatusCreated)
		for role, permission := range map[string]string{"keeper": `"MANAGE_SYSTEM"`, "guest": ""} {
			c.s.Do(http.MethodPost, "/api/v1/roles/"+role+"?context=main", fmt.Sprintf(`{"name": %q, "scope": "NETWORK", "permissions": [%s]}`, role, permission), http.StatusCreated)
		}
		c.s.Do(http.MethodPost, "/api/v1/roles/guest?context=east", `{"name": "guest", "scope": "NETWORK", "permissions": []}`, http.StatusCreated)
		for user, roles := range map[string]string{
			"kai": `{"network": "main", "roles": [{"role": "keeper"}]}`,
			"ole": `{"network": "main", "roles": [{"role": "guest"}]}, {"network": "east", "roles": [{"role": "guest"}]}`,
			"pia": `{"network": "main", "roles": [{"role": "guest"}]}`,
		} {
			c.s.Do(http.MethodPost, "/api/v1/users/"+user, fmt.Sprintf(`{"username": %q, "password": %q, "userRoles": {"rolesByNetwork": [%s]}}`, user, marqueetest.Password+" too", roles), http.StatusCreated)
		}
		pia, ole := as(t, c.s, "pia"), as(t, c.s, "ole")
		c.show("/networks/main/access", "input[name=username]")
		c.await(`document.activeElement?.matches("input[name=username]")`)
		c.press("kai" + kb.Tab + marqueetest.Password + " too" + kb.Enter)
		c.visible("#users tbody")
		if offered := evaluate[string](t, c.ctx, `[...document.querySelectorAll("#users tbody button")].map(e => e.ariaLabel).join()`); offered != "End all sessions of ole,End all sessions of pia" {
			t.Errorf("the page offers %q", offered)
		}
		script := axe(t)
		c.judge(script, "sessions")
		const end = `button[aria-label="End all sessions of %s"]`
		evaluate[string](t, c.ctx, `window.asked = []; window.confirm = question => asked.push(question) > 1; ""`)
		c.to(fmt.Sprintf(end, "pia"))
		c.press(kb.Enter)
		c.await(`asked.length === 1`)
		pia.Do(http.MethodGet, "/api/v1/orders?context=main", "", http.StatusOK)
		c.press(kb.Enter)
		c.await(`asked.length === 2 && [...document.querySelectorAll("#users [role=status]")].some(e => e.innerText === "All sessions of pia have been ended.")`)
		pia.Do(http.MethodGet, "/api/v1/orders?context=main", "", http.StatusUnauthorized)
		c.to(fmt.Sprintf(end, "ole"))
		c.press(kb.Enter)
		c.await(`document.querySelector("#users [role=alert]")?.innerText.includes("a manager of all the user's networks") && !document.querySelector("#users [role=status]").innerText`)
		ole.Do(http.MethodGet, "/api/v1/orders?context=main", "", http.StatusOK)
		if asked := evaluate[string](t, c.ctx, `asked[2]`); !strings.HasPrefix(asked, "End all sessions of ole?") {
			t.Errorf("the page asks %q", asked)
		}
	})
}

// TestConsoleAdministersNothing: a caller without rights finds nothing of administration, and changes
// the own password.
func TestConsoleAdministersNothing(t *testing.T) {
	c := openConsole(t, marquee.Options{Application: resources.New().Application()})
	anotherUser(c.s)
	c.show("/networks/main", "input[name=username]")
	c.await(`document.activeElement?.matches("input[name=username]")`)
	c.press("ida" + kb.Tab + marqueetest.Password + " too" + kb.Enter)
	c.visible(`nav a[href$="/list/orders"]`)
	if n := evaluate[int](t, c.ctx, `document.querySelectorAll("a[href$='/access'], a[href$='/health']").length`); n != 0 {
		t.Errorf("%d links lead to administration", n)
	}
	for _, page := range []string{"access", "health"} {
		c.show("/networks/main/"+page, "main h1")
		c.await(`document.querySelector("main h1").innerText.includes("no such page")`)
		if n := evaluate[int](t, c.ctx, `document.querySelectorAll("main table, main input, main dl").length`); n != 0 {
			t.Errorf("%s shows %s", page, c.text("main"))
		}
	}
	script := axe(t)
	check := func(name string) {
		t.Helper()
		for _, of := range []string{"light", "dark"} {
			c.theme(of)
			accessible(t, c.ctx, script, name+" "+of)
			screenshot(t, c.ctx, "console-"+name+"-"+of+".png")
		}
	}
	c.show("/networks/main/notifications", "main .count")
	check("notifications")
	c.to("header a.who")
	c.press(kb.Enter)
	c.visible("main form")
	check("account")
	change := func(present string) {
		t.Helper()
		c.to("main input[name=current]")
		c.press(present + kb.Tab + "nine green boats at dawn" + kb.Tab + "nine green boats at dawn" + kb.Enter)
	}
	change("a wrong password")
	c.await(`document.querySelector("#account-fault").innerText !== "" && document.activeElement.matches("input[name=current]")`)
	evaluate[string](t, c.ctx, `document.querySelector("main form").reset(); document.querySelector("main h1").focus(); ""`)
	change(marqueetest.Password + " too")
	c.await(`document.querySelector("main form [role=status]").innerText === "The password has been changed."`)
	c.show("/networks/main/list/orders", "main h1")
	c.await(`document.querySelector(".count, main p") && !document.querySelector("dialog")`)
}

// TestConsoleHealth: what /readyz says is shown in words to those who administer.
func TestConsoleHealth(t *testing.T) {
	c := openConsole(t, marquee.Options{Application: resources.New().Application()})
	c.show("/networks/main/health", "input[name=username]")
	c.signIn(marqueetest.Password)
	c.visible("main dl")
	if page := c.text("main"); !strings.Contains(page, "The service works") {
		t.Errorf("the page says %s", page)
	}
	script := axe(t)
	for _, of := range []string{"light", "dark"} {
		c.theme(of)
		accessible(t, c.ctx, script, "health "+of)
		screenshot(t, c.ctx, "console-health-"+of+".png")
	}
}
