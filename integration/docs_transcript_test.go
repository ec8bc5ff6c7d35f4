package integration

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/resources/asset/assettest"
)

// TestImportExportTranscripts runs the commands of docs/how-to/import-and-export.md that
// follow a $, in their order, and compares what they print with the page.
func TestImportExportTranscripts(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	needPrograms(t, "sed")
	dir := t.TempDir()
	p := process.Serve(t, "sqlite:"+filepath.Join(dir, "marquee-data", "marquee.db"))
	p.Creative()
	p.Ask(http.StatusOK, http.MethodPost, "/api/v1/tiers?context=main", `[{"id": "guaranteed", "name": "Guaranteed", "priority": 1}, {"id": "standard", "name": "Standard", "priority": 5}]`)
	p.Uploads("banner", "banner.png", assettest.PNG(300, 250))
	p.Stop()

	known := map[string]string{} // ids of the page, as they are here
	n := 0
	for _, section := range []string{"## Import", "## Export", "## Copying a store"} {
		for _, block := range shellBlocks(t, "../docs/how-to/import-and-export.md", section) {
			for _, entry := range strings.Split("\n"+block, "\n$ ")[1:] {
				command, prints, _ := strings.Cut(entry, "\n")
				for id, own := range known {
					command = strings.ReplaceAll(command, id, own)
				}
				if file, shown := strings.CutPrefix(command, "cat "); shown {
					if _, err := os.Stat(filepath.Join(dir, file)); os.IsNotExist(err) {
						process.File(t, filepath.Join(dir, file), prints) // what the session begins with
						continue
					}
				}
				n++
				got, _ := shellIn(t, dir, command) // the status is of what it prints
				alike(t, command, strings.TrimSpace(prints), strings.TrimSpace(process.Slow.ReplaceAllString(got, "")), known)
			}
		}
	}
	if n < 9 {
		t.Errorf("%d commands were run", n)
	}
}

// varies are the parts of a transcript that differ from run to run: what is
// left out, a generated id, and times.
var varies = regexp.MustCompile(`[0-9A-Za-z]*…|\b[0-9][a-z0-9]{15}\b|\(\d[^ ]*, [^ ]*/s\)`)

// alike compares what a command prints with what a page says.
func alike(t *testing.T, command, page, got string, known map[string]string) {
	t.Helper()
	var pattern strings.Builder
	var ids []string
	last := 0
	for _, at := range varies.FindAllStringIndex(page, -1) {
		pattern.WriteString(regexp.QuoteMeta(page[last:at[0]]))
		switch part := page[at[0]:at[1]]; {
		case strings.HasPrefix(part, "("):
			pattern.WriteString(`\([^()]*/s\)`)
		case strings.HasSuffix(part, "…"):
			pattern.WriteString(".*")
		default:
			ids = append(ids, part)
			pattern.WriteString(`([a-z0-9]{16})`)
		}
		last = at[1]
	}
	pattern.WriteString(regexp.QuoteMeta(page[last:]))
	found := regexp.MustCompile("^" + pattern.String() + "$").FindStringSubmatch(got)
	if found == nil {
		t.Errorf("$ %s\nprints\n%s\ninstead of\n%s", command, got, page)
		return
	}
	for i, id := range ids {
		known[id] = found[i+1]
	}
}
