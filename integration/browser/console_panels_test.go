package browser

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"marquee"
	"marquee/integration/marqueetest"
	"marquee/resources"
)

// picture returns a PNG.
func picture(t *testing.T, width, height int) string {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// uploads puts several files into the field for them, by their names and contents.
func (c *console) uploads(files ...string) {
	c.t.Helper()
	folder, paths := c.t.TempDir(), []string{}
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(folder, files[i])
		if err := os.WriteFile(path, []byte(files[i+1]), 0o600); err != nil {
			c.t.Fatal(err)
		}
		paths = append(paths, path)
	}
	found, err := chromedp.Call(c.ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: `document.querySelector("main input[type=file]")`})
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := chromedp.Call(c.ctx, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: paths, ObjectID: found.Result.ObjectID}); err != nil {
		c.t.Fatal(err)
	}
}

// creative opens the page of a creative, and one of its parts.
func creative(t *testing.T, part string) (*console, *screen) {
	t.Helper()
	c := openConsole(t, marquee.Options{Application: resources.New().Application()})
	advertise(c.s)
	c.show("/networks/main/object/creatives/picture", "input[name=username]")
	c.signIn(marqueetest.Password)
	c.open(part)
	return c, newScreen(t, c.ctx, c.s)
}

// item returns what the page says of an upload.
func item(name string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("ul.files")][0].querySelector("li:nth-child(" + (1 + [...document.querySelectorAll("ul.files:first-of-type li bdi")].findIndex(e => e.innerText === %q)) + ")")`, name)
}

// TestConsoleUploads: uploads go on while the object is saved, and leaving the page asks; pictures that
// are large are not shown before they are sent, and that is said.
func TestConsoleUploads(t *testing.T) {
	c, x := creative(t, "Files")
	c.await(`document.querySelector("main").innerText.includes("No files yet.")`)
	evaluate[string](t, c.ctx, `window.held = []; window.send = XMLHttpRequest.prototype.send; XMLHttpRequest.prototype.send = function (body) { held.push(() => send.call(this, body)) }; ""`)
	heavy := make([]byte, 11_000_000)
	for i := range heavy {
		heavy[i] = byte(rand.Uint32())
	}
	small := picture(t, 30, 20)
	c.uploads("small.png", small, "wide.png", picture(t, 6000, 6000), "heavy.png", small+string(heavy), "drawing.svg", `<svg xmlns="http://www.w3.org/2000/svg" width="30" height="25"><rect width="30" height="25" fill="#00ff00"/></svg>`)
	c.await(`window.held.length === 1 && document.querySelectorAll("ul.files:first-of-type li").length === 4`)
	c.await(item("small.png") + `.querySelector("img")?.naturalWidth === 30`)
	for name, said := range map[string]string{"wide.png": "No preview: the picture is too large.", "heavy.png": "No preview: the picture is too large.", "drawing.svg": "No preview."} {
		c.await(fmt.Sprintf(`%s.innerText.includes(%q) && !%[1]s.querySelector("img")`, item(name), said))
	}
	c.judge(axe(t), "uploads")

	form := x.node(0, "picture", "form")
	x.write(x.node(form, "Name", "textbox"), "Renamed")
	x.press(form, "Save")
	x.says("Saved.")
	c.await(`document.querySelector("main h1").innerText === "Renamed"`)
	if sent := c.text("ul.files"); !strings.Contains(sent, "small.png") || strings.Contains(sent, "Cancelled") {
		t.Errorf("after a save, the uploads are: %s", sent)
	}
	evaluate[string](t, c.ctx, `window.asked = 0; window.confirm = () => { asked++; return false }; document.querySelector(".brand").click(); ""`)
	if at := evaluate[string](t, c.ctx, "location.pathname + asked"); !strings.HasSuffix(at, "/object/creatives/picture1") {
		t.Errorf("leaving the page does not ask: %s", at)
	}
	evaluate[string](t, c.ctx, `XMLHttpRequest.prototype.send = send; held.forEach(go => go()); ""`)
	c.await(`[...document.querySelectorAll("ul.files")][1]?.innerText.includes("drawing.svg") && [...document.querySelectorAll("ul.files a")].some(e => e.innerText === "small.png") && !document.querySelector("main progress")`)
	c.wide(360, 740)
	if broken := evaluate[bool](t, c.ctx, `[...document.querySelectorAll("ul.files button")].some(e => e.getBoundingClientRect().height > 40)`); broken {
		t.Error("on a phone, the word of a button beside a file is broken")
	}
	c.wide(1280, 900)
	c.click("Show") // the drawing
	c.await(`[...document.querySelectorAll("ul.files")][1].querySelectorAll("img").length >= 2`)
	evaluate[string](t, c.ctx, `document.querySelector(".brand").click(); ""`)
	if at := evaluate[string](t, c.ctx, "location.pathname + asked"); at != "/console/networks/main1" {
		t.Errorf("leaving the page asks after the uploads: %s", at)
	}
}

// TestConsoleUploadQueue: whatever becomes of one upload, the next ones are sent, and each has its result. Names of files
// are text.
func TestConsoleUploadQueue(t *testing.T) {
	c, _ := creative(t, "Files")
	c.await(`document.querySelector("main").innerText.includes("No files yet.")`)
	evaluate[string](t, c.ctx, `{ const send = XMLHttpRequest.prototype.send; XMLHttpRequest.prototype.send = function (body) { XMLHttpRequest.prototype.send = send; throw new Error("provoked") } } ""`)
	small := picture(t, 30, 20)
	bad, last := strings.Repeat("bad ", 60)+".txt", `javascript:window.hit=1 <b onclick=hit=1>.png`
	c.uploads(trap+".png", small, bad, "neither a picture nor a page", last, picture(t, 31, 20))
	c.await(fmt.Sprintf(`[...document.querySelectorAll("ul.files a")].some(e => e.innerText === %q)`, last))
	if said := c.text("ul.files"); !strings.Contains(said, seen+".png The file could not be sent.") || !strings.Contains(said, bad) || strings.Contains(said, last) {
		t.Errorf("the results are %s", said)
	}
	c.wide(360, 740)
	c.within(360, "files with long names")
	if evaluate[bool](t, c.ctx, `window.hit !== undefined || !!document.querySelector("ul.files b, ul.files [src=x], ul.files [href^=javascript]")`) {
		t.Error("the name of a file is more than text")
	}
}

// TestConsolePreviewLost: a frame whose path is not answered with the preview does not count as one.
func TestConsolePreviewLost(t *testing.T) {
	c, _ := creative(t, "Preview")
	c.provoked = "frame-ancestors" // which keeps the refusal from being framed
	evaluate[string](t, c.ctx, `window.texts = []; new MutationObserver(() => texts.push(document.querySelector(".module [role=status]")?.innerText ?? "")).observe(document.querySelector("main"), {subtree: true, childList: true, characterData: true}); {
		const send = window.fetch;
		window.fetch = async (path, init) => {
			const answer = await send(path, init);
			if (!path.includes("/console/previews/")) return answer;
			const ticket = await answer.json();
			return new Response(JSON.stringify({...ticket, path: ticket.path.slice(0, -4) + "AAAA"}), {headers: {"Content-Type": "application/json"}});
		};
	} ""`)
	c.click("Show the preview")
	c.await(`document.querySelector("main").innerText.includes("does not show the preview")`)
	if texts := evaluate[string](t, c.ctx, `texts.join("\n")`); strings.Contains(texts, "Shown as it is saved.") {
		t.Errorf("a page that is missing counts as the preview: %s", texts)
	}
	c.judge(axe(t), "lost preview")
}

// upload adds a file to a creative.
func upload(t *testing.T, s *marqueetest.Server, creative, name, content string) string {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", name)
	if err == nil {
		_, err = part.Write([]byte(content))
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/api/v1/assets/"+creative+"?context=main", &body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", form.FormDataContentType())
	answer, err := s.Client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusCreated {
		t.Fatalf("the upload is answered with %d", answer.StatusCode)
	}
	return s.Do(http.MethodGet, "/api/v1/assets/"+creative+"?context=main", "", http.StatusOK)["results"].([]any)[0].(map[string]any)["id"].(string)
}

// TestFormReferenceBelow: what belongs to a parent is looked for below it. The form knows the parent if
// that is its own object, and otherwise asks for it.
func TestFormReferenceBelow(t *testing.T) {
	x := onConsole(t, marquee.Options{Application: resources.New().Application()})
	advertise(x.s)
	asset := upload(t, x.s, "picture", "banner.png", picture(t, 30, 20))
	x.s.Do(http.MethodPut, "/api/v1/librarycreatives/lib?context=main", `{"name": "Lib", "layout": "picture", "layoutParameters": {}, "verifiedSafe": true, "dimensionType": "FLEXIBLE"}`, http.StatusCreated)
	x.show("/list/assets?parent=picture")
	x.await(`document.querySelector("main tbody tr")`)
	if len(x.nodes(0, "New", "link")) > 0 {
		t.Error("the list leads to a form for files, which are uploaded")
	}
	for _, path := range []string{"creatives/picture", "librarycreatives/lib"} {
		x.show("/object/" + path)
		form := x.node(0, map[string]string{"creatives/picture": "picture", "librarycreatives/lib": "Lib"}[path], "form")
		if len(x.nodes(form, "Add Layout parameters", "button")) > 0 {
			x.press(form, "Add Layout parameters")
		} else {
			x.open(form, "Layout parameters")
		}
		group := x.node(form, "Layout parameters", "group")
		for name, value := range map[string]string{"headline": "Spring sale", "image": "banner.png"} {
			if len(x.nodes(group, name, "combobox")) == 0 {
				x.write(x.node(group, "Name of the new entry", "textbox"), name)
				x.press(group, "Add entry")
			}
			box := x.node(group, name, "combobox")
			if name == "headline" { // a text is as good as a reference here
				x.write(box, value)
				continue
			}
			x.call(box, "function() { this.focus(); this.click(); }")
			if path == "librarycreatives/lib" {
				x.await(`document.querySelector("main").innerText.includes("Choose Creative first")`)
				picker := x.node(group, "Creative", "combobox")
				x.write(picker, "picture")
				x.call(picker, "function() { this.blur(); }")
			}
			x.await(fmt.Sprintf(`[...document.querySelectorAll("[role=listbox]:not([hidden]) [role=option]")].some(o => o.innerText.startsWith(%q))`, value))
			screenshot(t, x.ctx, "form-parent.png")
			if path == "librarycreatives/lib" {
				accessible(t, x.ctx, axe(t), "a reference below a parent")
			}
			evaluate[string](t, x.ctx, `document.querySelector("[role=listbox]:not([hidden]) [role=option]").dispatchEvent(new MouseEvent("mousedown", {bubbles: true, cancelable: true})); ""`)
		}
		x.press(form, "Save")
		x.says("Saved.")
		x.expectParameters(path, asset)
		x.press(form, "Open image beside the form")
		x.node(0, "banner.png", "heading")
	}
}

func (x *screen) expectParameters(path, asset string) {
	x.t.Helper()
	parameters := x.s.Do(http.MethodGet, "/api/v1/"+path+"?context=main", "", http.StatusOK)["layoutParameters"].(map[string]any)
	image, _ := parameters["image"].(map[string]any)
	if parameters["headline"] != "Spring sale" || image["id"] != asset {
		x.t.Errorf("%s has %s", path, jsonText(parameters))
	}
}

// TestConsoleHostileTitles: controls that change the direction of text are shown in titles, names and
// descriptions of schemas, too.
func TestConsoleHostileTitles(t *testing.T) {
	const bidi = "user\u202etxt.exe"
	const schema = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "title": "T` + bidi + `", "description": "` + bidi + `", "required": ["name"],
		"x-resource": {"path": "traps", "group": "G` + bidi + `", "search": ["name"], "sort": ["name", "one"]}, "properties": {"name": {"type": "string", "title": "N` + bidi + `", "description": "` + bidi + `"},
		"one": {"type": "integer", "title": "O` + bidi + `", "examples": [1]}, "list": {"type": "array", "title": "L` + bidi + `", "items": {"type": "string"}},
		"group": {"type": "object", "title": "I` + bidi + `", "properties": {"a": {"type": "string", "readOnly": true}}}, "map": {"type": "object", "additionalProperties": {"type": "string"}}},
		"x-frozen": {"when": {"properties": {"one": {"const": 2}}, "required": ["one"]}, "code": "error.trap.frozen", "text": "{{field}} ` + bidi + `"}}`
	x := onConsole(t, marquee.Options{Schemas: fstest.MapFS{"traps.json": {Data: []byte(schema)}}})
	x.s.Do(http.MethodPut, "/api/v1/traps/a?context=main", `{"name": "A", "one": 2, "list": ["x"], "group": {}, "map": {"user\u202etxt.exe": "x"}}`, http.StatusCreated)
	for _, path := range []string{"/list/traps?columns=name,one,list", "/type/traps", "/object/traps/a", "/new/traps", "/history?type=traps"} {
		x.show(path)
		x.await(`document.querySelector("main table, main form, main .history") && !document.querySelector(".busy")`)
		evaluate[string](t, x.ctx, `document.querySelectorAll("details").forEach(d => d.open = true); [...document.querySelectorAll(".fold[aria-expanded=false]")].forEach(e => e.click()); [...document.querySelectorAll("main .tools button")].find(e => e.innerText === "Add a condition")?.click(); ""`)
		if raw := evaluate[string](t, x.ctx, `[...document.querySelectorAll("*")].filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.includes("\u202e")) || [...e.attributes].some(a => a.value.includes("\u202e") && !["id", "for", "aria-describedby", "aria-controls", "href", "value"].includes(a.name))).map(e => e.outerHTML.slice(0, 200)).join("\n")`); raw != "" {
			t.Errorf("%s shows controls: %s", path, raw)
		}
		if !strings.Contains(evaluate[string](t, x.ctx, "document.body.innerText"), "⟨U+202E⟩") {
			t.Errorf("%s does not show that there are controls", path)
		}
	}
}

// TestFormHostilePattern: an expression of a schema that takes for ever elsewhere does not stop a form.
func TestFormHostilePattern(t *testing.T) {
	const schema = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "title": "Trap", "x-resource": {"path": "traps"}, "required": ["name"],
		"properties": {"name": {"type": "string"}, "code": {"type": "string", "maxLength": 200}, "more": {"type": "string"}}, "allOf": [
		{"if": {"properties": {"code": {"pattern": "^(a+)+$"}}, "required": ["code"]}, "then": {"properties": {"extra": {"type": "string", "maxLength": 9}}}},
		{"if": {"properties": {"code": {"pattern": "^(?i:X)[[:digit:]]+\\z"}}, "required": ["code"]}, "then": {"properties": {"number": {"type": "string", "maxLength": 9}}}}]}`
	x := onConsole(t, marquee.Options{Schemas: fstest.MapFS{"traps.json": {Data: []byte(schema)}}})
	x.show("/new/traps")
	form := x.node(0, "New: Trap", "form")
	code := x.node(form, "Code", "textbox")
	x.write(code, strings.Repeat("a", 60)+"b")
	if len(x.nodes(form, "Extra", "textbox")) > 0 {
		t.Error("a part of the form is shown whose condition does not hold")
	}
	x.write(code, strings.Repeat("a", 60))
	x.node(form, "Extra", "textbox")
	x.write(code, "x12")
	x.node(form, "Number", "textbox")
}

// TestFormLive: a form says that somebody else has changed its object, and stays as it is until it is
// asked to show that. What its own user saves is no news.
func TestFormLive(t *testing.T) {
	schema := strings.Replace(parcelSchema, `"path": "parcels"`, `"path": "parcels", "methods": ["GET", "POST", "PUT", "DELETE"]`, 1)
	x := onConsole(t, marquee.Options{Schemas: fstest.MapFS{"parcels.json": {Data: []byte(schema)}}})
	const path = "/api/v1/parcels/a?context=main"
	x.s.Do(http.MethodPut, path, `{"name": "First", "weight": 1}`, http.StatusCreated)
	x.show("/object/parcels/a")
	form := x.node(0, "First", "form")
	x.s.Do(http.MethodPatch, path, `{"note": "theirs"}`, http.StatusOK)
	const notice = `!!document.querySelector("main .notice")`
	x.await(notice)
	if note := x.call(x.node(form, "Note", "textbox"), "function() { return this.value }"); note != "" || !strings.Contains(x.text(), "has changed this object since you opened it") {
		t.Errorf("the form has changed by itself to %q: %s", note, x.text())
	}
	screenshot(t, x.ctx, "form-live.png")
	c := &console{keyboard: keyboard{t, x.ctx}, s: x.s}
	c.judge(axe(t), "a form that others have changed")
	x.press(0, "Show it as it is now")
	x.await(`!document.querySelector("main .notice") && [...document.querySelectorAll("main textarea")].some(e => e.value === "theirs")`)

	const requests = `performance.getEntriesByType("resource").filter(e => e.name.includes("/parcels/a") && !e.name.includes("position")).length`
	before := evaluate[int](t, x.ctx, requests)
	x.write(x.node(form, "Weight", "textbox"), "2")
	x.press(form, "Save")
	x.says("Saved.")
	x.await(fmt.Sprintf("%s >= %d", requests, before+2)) // the save, and a look at what has changed, which may come first
	if evaluate[bool](t, x.ctx, notice) {
		t.Errorf("what the user has saved is shown as a change of somebody else: %s", x.text())
	}

	x.write(x.node(form, "Note", "textbox"), "mine")
	x.s.Do(http.MethodPatch, path, `{"weight": 3}`, http.StatusOK)
	x.await(notice)
	if note := x.call(x.node(form, "Note", "textbox"), "function() { return this.value }"); note != "mine" {
		t.Errorf("what was typed is %q now", note)
	}
	x.press(0, "Compare with yours")
	x.press(0, "Save the result")
	x.says("Saved.")
	x.expectObject(path, map[string]any{"note": "mine", "weight": int64(3)})

	x.write(x.node(0, "Note", "textbox"), "kept")
	x.s.Do(http.MethodDelete, path, "", http.StatusNoContent)
	x.await(`document.querySelector("main .notice")?.innerText.includes("has been removed") && [...document.querySelectorAll("main textarea")].some(e => e.value === "kept")`)
}

// TestFormConflictValues: a conflict shows no secret, and the whole of long values; what is never
// returned is never replaced without a question.
func TestFormConflictValues(t *testing.T) {
	const schema = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "title": "Door", "x-resource": {"path": "doors"}, "required": ["name"],
		"properties": {"name": {"type": "string"}, "text": {"type": "string"}, "pin": {"type": "string", "x-secret": true}, "key": {"type": "string", "writeOnly": true, "maxLength": 40},
			"locks": {"type": "array", "items": {"type": "object", "properties": {"code": {"type": "string", "x-secret": true, "maxLength": 40}, "place": {"type": "string", "maxLength": 40}}}}}}`
	x := onConsole(t, marquee.Options{Schemas: fstest.MapFS{"doors.json": {Data: []byte(schema)}}})
	const path = "/api/v1/doors/a?context=main"
	long := strings.Repeat("long ", 400)
	x.s.Do(http.MethodPut, path, `{"name": "Door", "text": "short", "pin": "pin-before", "key": "key-before", "locks": [{"code": "code-before", "place": "top"}]}`, http.StatusCreated)
	x.show("/object/doors/a")
	form := x.node(0, "Door", "form")
	x.write(x.node(form, "Text", "textbox"), "mine")
	x.write(x.node(form, "Pin", "textbox"), "pin-mine")
	x.write(x.node(form, "Key", "textbox"), "key-mine")
	x.write(x.node(form, "Place", "textbox"), "bottom")
	x.s.Do(http.MethodPatch, path, `{"text": "`+long+`the end", "pin": "pin-theirs", "key": "key-theirs", "locks": [{"code": "code-theirs", "place": "top"}]}`, http.StatusOK)
	x.press(form, "Save")
	for _, field := range []string{"Text", "Pin", "Key", "Locks"} {
		x.node(0, "Theirs: "+field, "radio")
	}
	page := evaluate[string](t, x.ctx, "document.documentElement.outerHTML")
	for _, secret := range []string{"pin-before", "pin-mine", "pin-theirs", "key-mine", "code-before", "code-theirs"} {
		if strings.Contains(page, secret) {
			t.Errorf("the conflict shows %s", secret)
		}
	}
	if strings.Contains(x.text(), "the end") {
		t.Error("a long value is not cut")
	}
	evaluate[string](t, x.ctx, `[...document.querySelectorAll(".conflict button.link")].forEach(e => e.click()); ""`)
	x.await(`document.querySelector(".conflict").innerText.includes("the end")`)
	screenshot(t, x.ctx, "form-conflict-values.png")
	c := &console{keyboard: keyboard{t, x.ctx}, s: x.s}
	c.judge(axe(t), "a conflict")
	for _, field := range []string{"Text", "Pin", "Key"} {
		x.press(0, "Theirs: "+field, "radio")
	}
	x.press(0, "Save the result")
	x.says("Saved.")
	if sent := x.sent(); strings.Contains(sent[len(sent)-1].Body, "key") || strings.Contains(sent[len(sent)-1].Body, "pin") || !strings.Contains(sent[len(sent)-1].Body, "bottom") {
		t.Errorf("sent %v", sent)
	}
	x.expectObject(path, map[string]any{"pin": "pin-theirs"})
}

// TestConsoleFilterBelow: a condition on what belongs to a parent is chosen below it, by names.
func TestConsoleFilterBelow(t *testing.T) {
	x := onConsole(t, marquee.Options{Application: resources.New().Application()})
	advertise(x.s)
	asset := upload(t, x.s, "picture", "banner.png", picture(t, 30, 20))
	x.show("/list/creatives")
	x.await(`document.querySelectorAll("main tbody tr").length === 3`)
	evaluate[string](t, x.ctx, `document.querySelector("main details.panel").open = true; ""`)
	x.press(0, "Add a condition")
	x.choose(x.node(0, "Property", "combobox"), "Assets")
	x.write(x.node(0, "Creative", "combobox"), "picture")
	x.call(x.node(0, "Creative", "combobox"), "function() { this.blur(); }")
	x.call(x.node(0, "Value of Assets", "combobox"), "function() { this.focus(); }")
	x.await(fmt.Sprintf(`[...document.querySelectorAll(".conditions option")].some(o => o.value === %q && o.text.includes("banner.png"))`, asset))
}
