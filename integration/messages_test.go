package integration

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"marquee/engine/message"
	"marquee/engine/rest"
	"marquee/resources"
)

// messagesPage is the page that lists every code. MARQUEE_UPDATE=1 writes it.
const messagesPage = "../docs/reference/messages.md"

// helps returns a row for each status of an error, and for each type of another message,
// in the order of their first cells.
func helps(catalogue *message.Catalogue) (rows []string) {
	for _, d := range catalogue.All() {
		first := "`" + d.Type + "`"
		if status := rest.Status(d.Kind); status != 0 {
			first = fmt.Sprint(status)
		}
		if row := fmt.Sprintf("| %s | %s |", first, d.Help()); !slices.Contains(rows, row) {
			rows = append(rows, row)
		}
	}
	slices.Sort(rows)
	return rows
}

// TestMessagesAreDocumented holds the page against the catalogue of the
// built-in types.
func TestMessagesAreDocumented(t *testing.T) {
	registry, err := resources.LoadSchemas()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("# Messages\n\nThis page lists the code of every message, as `GET /api/v1/messagedefinitions` returns them. A name in double braces stands for the value in `params` with that name. The status is that of a response with the message; warnings, notifications and messages of the history have none. [Errors](http.md#errors) describes the responses.\n\n<!-- MARQUEE_UPDATE=1 go test ./integration -run Messages writes this page. -->\n\n")
	b.WriteString("A server shows each code on a page of its own, `/docs/messages/{code}`, which is the `type` of [errors](http.md#errors).\n\n## What to do\n\n| Status or type | What it means, and what to do |\n|---|---|\n")
	for _, help := range helps(registry.Catalogue()) {
		b.WriteString(help + "\n")
	}
	b.WriteString("\n## Codes\n\n| Code | Type | Status | Text |\n|---|---|---|---|\n")
	for _, d := range registry.Catalogue().All() {
		status := ""
		if n := rest.Status(d.Kind); n != 0 {
			status = fmt.Sprint(n)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", d.Code, d.Type, status, strings.ReplaceAll(d.Text, "|", `\|`))
	}
	if os.Getenv("MARQUEE_UPDATE") != "" {
		if err := os.WriteFile(messagesPage, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(messagesPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != b.String() {
		t.Errorf("%s is not what the catalogue says: write it with MARQUEE_UPDATE=1", messagesPage)
	}
}
