package schema

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

var update = flag.Bool("update", false, "write what the loader says into the cases")

// TestProblems loads the folders of schemas in testdata/problems, and expects
// exactly the problems, or the hints, in the file "want" of each: file, pointer, text and cure.
func TestProblems(t *testing.T) {
	cases, err := filepath.Glob("testdata/problems/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, name := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			comment, files := parseArchive(string(text))
			want := string(files["want"].Data)
			delete(files, "want")
			got := problemsOf(t, files)
			if *update {
				rewrite(t, name, comment, string(text), got)
				return
			}
			for _, line := range without(got, want) {
				t.Error("not expected:", line)
			}
			for _, line := range without(want, got) {
				t.Error("missing:", line)
			}
		})
	}
}

// without returns the lines that are not in another text.
func without(text, other string) []string {
	lines := strings.Split(other, "\n")
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return slices.Contains(lines, line) })
}

// problemsOf loads the files; those in the folder extra are a second source.
func problemsOf(t *testing.T, files fstest.MapFS) string {
	t.Helper()
	sources := []Source{{FS: files}}
	if extra, err := fs.Sub(files, "extra"); err == nil && strings.Contains(strings.Join(names(files), " "), "extra/") {
		sources = append(sources, Source{Name: "extra", FS: extra})
	}
	registry, err := Load(sources...)
	switch {
	case err == nil && len(registry.Hints()) == 0:
		return ""
	case err == nil:
		return registry.Hints().Error() + "\n"
	}
	var problems Problems
	if !errors.As(err, &problems) {
		t.Fatalf("%#v", err)
	}
	return problems.Error() + "\n"
}

func names(files fstest.MapFS) []string {
	var list []string
	for name := range files {
		list = append(list, name)
	}
	return list
}

// parseArchive parses a text archive: a comment, and files that each begin with a
// line "-- name --". It replaces {HEAD by the members that each schema needs.
func parseArchive(text string) (comment string, files fstest.MapFS) {
	files = fstest.MapFS{"want": &fstest.MapFile{}}
	name := ""
	for line := range strings.Lines(text) {
		marker := strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(marker, "-- "); ok && strings.HasSuffix(rest, " --") {
			name = strings.TrimSuffix(rest, " --")
			files[name] = &fstest.MapFile{}
			continue
		}
		if name == "" {
			comment += line
			continue
		}
		line = strings.Replace(line, "{HEAD,", `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",`, 1)
		files[name].Data = append(files[name].Data, line...)
	}
	return comment, files
}

func rewrite(t *testing.T, name, comment, text, got string) {
	t.Helper()
	head, _, _ := strings.Cut(text, "-- want --\n")
	if err := os.WriteFile(name, []byte(head+"-- want --\n"+got), 0o644); err != nil {
		t.Fatal(err)
	}
}
