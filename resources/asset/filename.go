package asset

import (
	"mime"
	"strings"
	"unicode"
)

// fileName returns the base name of a sent name without invisible characters, or a
// default name.
func fileName(sent string, k *kind) string {
	name := sent[strings.LastIndexAny(sent, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	switch name = strings.TrimSpace(name); name {
	case "", ".", "..":
		return "file" + k.extension
	}
	return name
}

// disposition returns the Content-Disposition header of a file (RFC 6266).
func disposition(name string) string {
	if header := mime.FormatMediaType("inline", map[string]string{"filename": name}); header != "" {
		return header
	}
	return "inline"
}
