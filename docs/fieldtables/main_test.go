package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"marquee/schemas"
)

func TestPagesAreUpToDate(t *testing.T) {
	pages, err := generate(schemas.FS, "../..")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range pages {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s differs from the schema: run go run ./docs/fieldtables (%v)", path, err)
		}
	}
}

// TestEveryPropertyIsListed looks for properties at any depth and under any
// keyword, also where the tables do not look for them.
func TestEveryPropertyIsListed(t *testing.T) {
	files, err := fs.Glob(schemas.FS, "*.json")
	if err != nil || len(files) < 25 {
		t.Fatalf("%d schemas: %v", len(files), err)
	}
	for _, file := range files {
		s, err := readSchema(schemas.FS, file)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("../..", typePages, strings.TrimSuffix(file, ".json")+".md")
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range propertyNames(s) {
			if text := string(page); !strings.Contains(text, "`"+name+"`") && !strings.Contains(text, "."+name+"`") {
				t.Errorf("%s has no row for %s", path, name)
			}
		}
	}
}

func propertyNames(s schema) []string {
	var names []string
	for _, name := range s.names {
		child := s.child(name)
		if name == "properties" {
			names = append(names, child.names...)
			for _, property := range child.names {
				names = append(names, propertyNames(child.child(property))...)
			}
			continue
		}
		names = append(names, propertyNames(child)...)
		for _, variant := range variants(s, name)[1:] {
			names = append(names, propertyNames(variant)...)
		}
	}
	return names
}
