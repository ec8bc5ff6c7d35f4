package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"marquee"
	"marquee/command/exit"
	"marquee/engine/schema"
)

// TestSetChangesWhileRead: a set whose files are exchanged or removed while it is read is not
// compared or checked.
func TestSetChangesWhileRead(t *testing.T) {
	const text = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "W", "x-resource": {"path": "wards"}, "type": "object", "properties": {}}`
	for name, change := range map[string]func(file string) error{
		"exchange": func(file string) error {
			return os.WriteFile(file, []byte(strings.Replace(text, "W", "V", 1)), 0o600)
		},
		"removal": os.Remove,
	} {
		file := filepath.Join(t.TempDir(), "wards.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := loadSet(filepath.Dir(file), func(sources ...schema.Source) (*schema.Registry, error) {
			registry, err := (&marquee.Application{}).Load(sources...)
			if err != nil {
				t.Error(err)
			}
			return registry, change(file)
		})
		if !exit.IsUsage(err) || !strings.Contains(err.Error(), "wards.json in ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
