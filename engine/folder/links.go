package folder

import (
	"os"
	"path/filepath"
	"strings"
)

// maxLinks bounds the symbolic links of a path.
const maxLinks = 40

// resolveLinks resolves the symbolic links of an absolute path. The steps are the
// names on the way: if one of them is replaced, the path leads elsewhere.
func resolveLinks(path string) (target string, steps []string) {
	const separator = string(filepath.Separator)
	volume := filepath.VolumeName(path) + separator
	at, rest := volume, strings.Split(strings.TrimPrefix(filepath.Clean(path), volume), separator)
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		step := filepath.Join(at, name)
		steps = append(steps, step)
		link, err := os.Readlink(step)
		if err != nil || links == maxLinks { // not a link, or missing
			at = step
			continue
		}
		links++
		if filepath.IsAbs(link) {
			at = volume
		}
		rest = append(strings.Split(filepath.Clean(link), separator), rest...)
	}
	return at, steps
}
