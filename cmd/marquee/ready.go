package main

import (
	"path/filepath"
	"strings"
)

// withoutPaths shortens the path of the folder of schemas in a text to its name:
// anybody can read /readyz, and the log has the path.
func withoutPaths(text, folder string) string {
	if folder == "" {
		return text
	}
	name := filepath.Base(folder)
	for _, path := range []string{folder, filepath.Clean(folder)} {
		if path != name {
			text = strings.ReplaceAll(text, path, name)
		}
	}
	return text
}
