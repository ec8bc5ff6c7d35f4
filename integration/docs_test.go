package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestExamples runs the examples of docs/api: each page is a conversation with
// a fresh service, and its blocks of the kind http are its steps, written as
// those of the cases are (testdata/README.md).
func TestExamples(t *testing.T) { eachStore(t, testExamples) }

func testExamples(t *testing.T, fresh newStore) {
	pages, err := filepath.Glob("../docs/api/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal("there are no pages", err)
	}
	for _, page := range pages {
		t.Run(strings.TrimSuffix(filepath.Base(page), ".md"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, wrong := range runFixture(t, fresh, examples(string(text))) {
				t.Error(wrong)
			}
		})
	}
}

var httpBlock = regexp.MustCompile("(?ms)^```http\n(.*?)^```$")

// examples are the steps of a page, named by the line that they begin at.
func examples(page string) *txtar.Archive {
	archive := &txtar.Archive{}
	for _, at := range httpBlock.FindAllStringSubmatchIndex(page, -1) {
		line := strings.Count(page[:at[2]], "\n") + 1
		archive.Files = append(archive.Files, txtar.File{Name: fmt.Sprintf("%d line.http", line), Data: []byte(page[at[2]:at[3]])})
	}
	return archive
}
