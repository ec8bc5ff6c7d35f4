package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestExamples runs the examples of docs/reference/types: each page is a conversation with
// a fresh service, and its blocks of the kind http are its steps, written as
// those of the cases are (testdata/README.md).
func TestExamples(t *testing.T) { service.EachStore(t, testExamples) }

func testExamples(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	for _, page := range apiPages(t) {
		t.Run(strings.TrimSuffix(page, ".md"), func(t *testing.T) {
			t.Parallel()
			for _, wrong := range runFixture(t, fresh, examples(apiPage(t, page))) {
				t.Error(wrong)
			}
		})
	}
}

// TestExamplesInOrder runs the examples of all pages, in the order in which the
// first page lists them, against one service: who reads them and tries them
// gets the same answers.
func TestExamplesInOrder(t *testing.T) { service.EachStore(t, testExamplesInOrder) }

func testExamplesInOrder(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	all := &txtar.Archive{}
	for _, page := range apiPages(t) {
		for _, step := range examples(apiPage(t, page)).Files {
			step.Name = strings.Replace(step.Name, " ", " "+page+" ", 1)
			all.Files = append(all.Files, step)
		}
	}
	for _, wrong := range runFixture(t, fresh, all) {
		t.Error(wrong)
	}
}

// apiPages are the names of the pages of docs/reference/types, in the order of the first
// one, which links to all others.
func apiPages(t *testing.T) []string {
	t.Helper()
	pages := []string{"README.md"}
	for _, link := range pageLink.FindAllStringSubmatch(apiPage(t, "README.md"), -1) {
		if !strings.ContainsAny(link[1], "/") && !slices.Contains(pages, link[1]) {
			pages = append(pages, link[1])
		}
	}
	files, err := filepath.Glob("../docs/reference/types/*.md")
	if err != nil || len(files) != len(pages) {
		t.Fatalf("the first page lists %d pages of %d: %v", len(pages), len(files), err)
	}
	return pages
}

func apiPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../docs/reference/types", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
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

// TestRulesPage runs the examples of docs/how-to/rules.md with the schemas of the ticket
// shop, and finds each excerpt of the page in one of them.
func TestRulesPage(t *testing.T) { service.EachStore(t, testRulesPage) }

func testRulesPage(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	text, err := os.ReadFile("../docs/how-to/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	schemas := schemaFiles(t, "testdata/tickets/schemas")
	excerpts := jsonBlock.FindAllStringSubmatch(string(text), -1)
	if len(excerpts) == 0 {
		t.Fatal("the page has no excerpts")
	}
	for _, excerpt := range excerpts {
		if !slices.ContainsFunc(schemas, func(schema txtar.File) bool {
			return strings.Contains(withoutSpace(string(schema.Data)), withoutSpace(excerpt[1]))
		}) {
			t.Errorf("no schema has\n%s", excerpt[1])
		}
	}
	steps := examples(string(text))
	if len(steps.Files) == 0 {
		t.Fatal("the page has no examples")
	}
	steps.Files = append(steps.Files, append(schemas, txtar.File{Name: "application", Data: []byte("none")})...)
	for _, wrong := range runFixture(t, fresh, steps) {
		t.Error(wrong)
	}
}

var jsonBlock = regexp.MustCompile("(?ms)^```json\n(.*?)^```$")

func withoutSpace(text string) string { return strings.Join(strings.Fields(text), "") }

// notation are the words of the examples that are not literal.
var notation = regexp.MustCompile(`(?m)"(<[a-z]+)(?::\w+)?>"|"(<any order>)"|"(<~) |^(As: )|(\$\{)\w|^(###)|^(=>)`)

// TestNotationIsExplained: the first page explains the notation that the pages
// use, and each page leads there before its first example.
func TestNotationIsExplained(t *testing.T) {
	_, explained, found := strings.Cut(apiPage(t, "README.md"), "## How to read the examples\n")
	if !found {
		t.Fatal("the first page does not explain the examples")
	}
	explained, _, _ = strings.Cut(explained, "```http")
	for _, name := range apiPages(t) {
		page := apiPage(t, name)
		before, _, _ := strings.Cut(page, "```http")
		if name != "README.md" && !strings.Contains(before, "(README.md#how-to-read-the-examples)") {
			t.Errorf("%s does not say where its notation is explained", name)
		}
		for _, step := range examples(page).Files {
			for _, used := range notation.FindAllStringSubmatch(string(step.Data), -1) {
				if word := strings.Join(used[1:], ""); !strings.Contains(explained, word) {
					t.Errorf("%s uses %s, which is not explained", name, used[0])
				}
			}
		}
	}
}
