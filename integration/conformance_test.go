package integration

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// conformancePage maps each rule to the tests that prove it.
const conformancePage = "../docs/contributing/conformance.md"

// conformance are the parts of the page in its order, with how many rules each
// has: those with numbers of the specification, and those with letters.
var conformance = []struct {
	part               string
	numbered, lettered int
}{
	{"1", 10, 0}, {"2.1", 0, 7}, {"2.2", 0, 5}, {"2.3", 0, 2}, {"2.4", 5, 1}, {"2.5", 0, 4}, {"2.6", 0, 2},
	{"2.7", 0, 2}, {"2.8", 0, 6}, {"2.9", 0, 5}, {"2.10", 2, 5}, {"2.11", 0, 4}, {"2.12", 0, 3}, {"2.13", 0, 1},
	{"2.14", 0, 1}, {"2.15", 0, 2}, {"2.16", 0, 3}, {"2.17", 0, 1}, {"3", 4, 4}, {"4.1", 0, 7}, {"4.2", 21, 2},
	{"4.3", 4, 0}, {"4.4", 0, 2}, {"4.5", 0, 4}, {"4.6", 0, 4}, {"4.7", 0, 7}, {"5", 3, 0}, {"7", 3, 7},
	{"8", 0, 3}, {"9", 2, 0}, {"D1", 57, 0}, {"D2", 31, 0}, {"D3", 36, 0}, {"D4", 38, 0}, {"D5", 47, 0},
}

var (
	conformanceSum = regexp.MustCompile(`with the reason: (\d+) of (\d+) rules`)
	codeSpan       = regexp.MustCompile("`([^`]+)`")
	goTest         = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(\w+ \*testing\.[TF]\)`)
)

// TestConformance compares the page with the tests: it lists every rule, each is
// proved by tests that exist or is open with a reason, and it counts the open ones.
func TestConformance(t *testing.T) {
	page, err := os.ReadFile(conformancePage)
	if err != nil {
		t.Fatal(err)
	}
	rules, properties, found := strings.Cut(string(page), "## Properties")
	if !found {
		t.Fatal("the page has no part Properties")
	}
	var want, got []string
	for _, c := range conformance {
		for i := range c.numbered {
			want = append(want, fmt.Sprintf("%s.%d", c.part, i+1))
		}
		for i := range c.lettered {
			want = append(want, fmt.Sprintf("%s.%c", c.part, 'a'+i))
		}
	}
	known, open := provers(t), 0
	for _, row := range conformanceRows(rules) {
		got = append(got, row[0])
		if strings.HasPrefix(row[2], "**open**: ") {
			open++
		} else {
			checkProofs(t, row[0], row[2], known)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the rules are not those that there are, in their order: %v", firstDifference(got, want))
	}
	sum := conformanceSum.FindStringSubmatch(rules)
	if sum == nil || sum[1] != fmt.Sprint(open) || sum[2] != fmt.Sprint(len(got)) {
		t.Errorf("the page counts %v, but %d of %d rules are open", sum, open, len(got))
	}
	for _, row := range conformanceRows(properties) {
		checkProofs(t, row[0], row[1], known)
	}
}

// TestConformanceOfSecurity: each promise of the security page names tests that there
// are.
func TestConformanceOfSecurity(t *testing.T) {
	page, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, promises, found := strings.Cut(string(page), "## Promises")
	promises, _, ended := strings.Cut(promises, "## What is not promised")
	rows := conformanceRows(promises)
	if !found || !ended || len(rows) < 15 {
		t.Fatalf("the page has %d promises", len(rows))
	}
	known := provers(t)
	for _, row := range rows {
		if len(row) != 2 {
			t.Errorf("%q is no promise with its tests", row)
			continue
		}
		checkProofs(t, row[0], row[1], known)
	}
}

// conformanceRows are the cells of the tables, without their heads.
func conformanceRows(text string) [][]string {
	var rows [][]string
	head := true
	for line := range strings.Lines(text) {
		inside, found := strings.CutPrefix(strings.TrimSuffix(line, " |\n"), "| ")
		switch {
		case strings.HasPrefix(line, "|---"):
			head = false
		case !found:
			head = true
		case !head:
			rows = append(rows, strings.Split(inside, " | "))
		}
	}
	return rows
}

func checkProofs(t *testing.T, what, proofs string, known map[string]bool) {
	spans := codeSpan.FindAllStringSubmatch(proofs, -1)
	if len(spans) == 0 {
		t.Errorf("%s is neither proved nor open", what)
	}
	for _, proof := range spans {
		if !known[proof[1]] {
			t.Errorf("%s names %s, which there is not", what, proof[1])
		}
	}
}

func firstDifference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		a, b := "nothing", "nothing"
		if i < len(got) {
			a = got[i]
		}
		if i < len(want) {
			b = want[i]
		}
		if a != b {
			return fmt.Sprintf("there is %s in place of %s", a, b)
		}
	}
	return ""
}

// provers are the names of all that can prove a rule: steps of cases, pages
// with examples, and tests.
func provers(t *testing.T) map[string]bool {
	known := map[string]bool{}
	for _, c := range cases(t) {
		for _, file := range c.Files {
			if step, found := strings.CutSuffix(file.Name, ".http"); found {
				known[c.name+"/"+step] = true
			}
		}
	}
	for name := range typePages(t) {
		known["docs/reference/types/"+name] = true
	}
	err := fs.WalkDir(os.DirFS(".."), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != "." && strings.HasPrefix(entry.Name(), ".") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(filepath.Join("..", path))
		for _, f := range goTest.FindAllStringSubmatch(string(text), -1) {
			known[f[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// typePages are the texts of the pages of docs/reference/types that have examples.
func typePages(t *testing.T) map[string]string {
	files, err := filepath.Glob("../docs/reference/types/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(examples(string(text)).Files) > 0 {
			pages[strings.TrimSuffix(filepath.Base(file), ".md")] = string(text)
		}
	}
	return pages
}

var pageLink = regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)

// TestEveryTypeHasAPage: each built-in type has a page with examples, which the
// index names, and what pages link to is there.
func TestEveryTypeHasAPage(t *testing.T) {
	pages := typePages(t)
	for _, name := range append(typeFiles(t), "devices", "location") {
		if pages[name] == "" {
			t.Errorf("docs/reference/types/%s.md is not there, or has no examples", name)
		}
		if !strings.Contains(pages["README"], "]("+name+".md)") {
			t.Errorf("docs/reference/types/README.md does not name %s", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		for _, link := range pageLink.FindAllStringSubmatch(pages[name], -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join("../docs/reference/types", link[1])); err != nil {
				t.Errorf("docs/reference/types/%s.md links to %s, which is not there", name, link[1])
			}
		}
	}
}
