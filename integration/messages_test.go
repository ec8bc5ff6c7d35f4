package integration

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"marquee/engine/rest"
	"marquee/resources"
)

// messagesPage is the page that lists every code. MARQUEE_UPDATE=1 writes it.
const messagesPage = "../docs/reference/messages.md"

// TestMessagesAreDocumented holds the page against the catalogue of the
// built-in types.
func TestMessagesAreDocumented(t *testing.T) {
	registry, err := resources.LoadSchemas()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("# Messages\n\nThis page lists the code of every message, as `GET /api/v1/messagedefinitions` returns them. A name in double braces stands for the value in `params` with that name. The status is that of a response with the message; warnings, notifications and messages of the history have none. [Errors](http.md#errors) describes the responses.\n\n<!-- MARQUEE_UPDATE=1 go test ./integration -run Messages writes this page. -->\n\n")
	b.WriteString("| Code | Type | Status | Text |\n|---|---|---|---|\n")
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
