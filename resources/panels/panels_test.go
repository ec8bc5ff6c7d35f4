package panels_test

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"slices"
	"testing"

	"marquee/resources/panels"
)

// TestModuleSize: the module has at most 12 KB compressed, which the console leaves to it.
func TestModuleSize(t *testing.T) {
	module, total := panels.Module(func() string { return "" }), 0
	names, err := fs.Glob(module.Files, "*")
	if err != nil || !slices.Contains(names, "module.js") {
		t.Fatal(names, err)
	}
	for _, name := range names {
		body, err := fs.ReadFile(module.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := w.Write(body); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		total += packed.Len()
	}
	t.Logf("the module has %d bytes compressed", total)
	if total > 12<<10 {
		t.Errorf("the module has %d bytes compressed", total)
	}
}

// TestModuleSources: previews load files from the host that delivers them.
func TestModuleSources(t *testing.T) {
	for cdn, want := range map[string][]string{"": nil, "https://cdn.example.com/ads": {"https://cdn.example.com"}} {
		if got := panels.Module(func() string { return cdn }).Previews["creatives"].Sources(); !slices.Equal(got, want) {
			t.Errorf("%q: %v", cdn, got)
		}
	}
}
