package migration

import (
	"os"
	"regexp"
	"testing"

	"marquee/engine/catalog"
)

// TestFormatsAreDocumented: for each new format of indexings, which stops the writes of
// earlier servers, the guide says which types and for how long.
func TestFormatsAreDocumented(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../docs/how-to/backup.md")
	if err != nil {
		t.Fatal(err)
	}
	const first = 2 // which came on the same day as format 1
	rows := regexp.MustCompile(`(?m)^\| From a version before .*objects ÷ \d+`).FindAll(guide, -1)
	if want := catalog.IndexingFormat - first + 1; len(rows) != want {
		t.Errorf("docs/how-to/backup.md has the times of %d formats, not of %d", len(rows), want)
	}
}
