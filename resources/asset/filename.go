package asset

import (
	"mime"
	"strings"
	"unicode"
)

// fileName is the name under which a file was sent, without folders and signs
// that cannot be seen; one that has none gets one.
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

// disposition is the Content-Disposition header of a file (RFC 6266).
func disposition(name string) string {
	if header := mime.FormatMediaType("inline", map[string]string{"filename": name}); header != "" {
		return header
	}
	return "inline"
}
