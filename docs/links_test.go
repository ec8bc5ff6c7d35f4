// Package docs_test checks the links between the Markdown files of the repository, and
// that links lead to each of them. It imports the standard library alone. Begin with
// TestLinksLeadSomewhere.
package docs_test

import (
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the repository.
var root = os.DirFS("..")

var (
	codeBlock = regexp.MustCompile("(?ms)^```.*?^```$")
	codeSpan  = regexp.MustCompile("`[^`\n]*`")
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading   = regexp.MustCompile(`(?m)^#+ (.+)$`)
	dropped   = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// pages are the texts of all Markdown files, by their paths.
func pages(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "bin" || entry.Name() == "node_modules"):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".md":
			return nil
		}
		text, err := fs.ReadFile(root, name)
		texts[name] = string(text)
		return err
	})
	if err != nil || len(texts) < 40 {
		t.Fatalf("%d pages: %v", len(texts), err)
	}
	return texts
}

// links are the targets of the relative links of a page: a path in the
// repository and a fragment.
func links(page, text string) (targets [][2]string) {
	text = codeSpan.ReplaceAllString(codeBlock.ReplaceAllString(text, ""), "")
	for _, found := range link.FindAllStringSubmatch(text, -1) {
		to, err := url.Parse(found[1])
		if err != nil || to.Scheme != "" {
			continue
		}
		target := page
		if to.Path != "" {
			target = path.Join(path.Dir(page), to.Path)
		}
		targets = append(targets, [2]string{target, to.Fragment})
	}
	return targets
}

// anchors are the fragments of the headings of a page, as GitHub makes them.
func anchors(text string) map[string]bool {
	known := map[string]bool{"": true}
	for _, found := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		known[strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(found[1]), ""), " ", "-")] = true
	}
	return known
}

func TestLinksLeadSomewhere(t *testing.T) {
	texts := pages(t)
	for _, page := range slices.Sorted(maps.Keys(texts)) {
		for _, to := range links(page, texts[page]) {
			if _, err := fs.Stat(root, to[0]); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, to[0])
			} else if text, isPage := texts[to[0]]; isPage && !anchors(text)[to[1]] {
				t.Errorf("%s links to %s#%s, which has no such heading", page, to[0], to[1])
			}
		}
	}
}

func TestEveryPageIsReachable(t *testing.T) {
	texts := pages(t)
	reached := map[string]bool{}
	var follow func(page string)
	follow = func(page string) {
		if reached[page] {
			return
		}
		reached[page] = true
		for _, to := range links(page, texts[page]) {
			if _, isPage := texts[to[0]]; isPage {
				follow(to[0])
			}
		}
	}
	follow("README.md")
	follow("docs/README.md")
	for _, page := range slices.Sorted(maps.Keys(texts)) {
		if !reached[page] {
			t.Errorf("no link leads to %s from README.md or docs/README.md", page)
		}
	}
}
