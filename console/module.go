package console

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
)

// Module is what an application adds to the console. The zero Module adds nothing.
type Module struct {
	// Files has the JavaScript modules of the application, in one folder. The console loads
	// module.js when it shows an object; docs/how-to/embedding-marquee.md describes what that exports.
	Files fs.FS
	// Previews says which objects can be shown as pages, by the paths of their types.
	Previews map[string]Preview
}

// Preview is a property whose value is a page.
type Preview struct {
	// Property is the name of a property of the type whose value is HTML.
	Property string
	// Sources returns the origins, besides the service, that a page may load files from;
	// nil means none.
	Sources func() []string
}

const (
	// moduleFolder has the files of the module, in a folder whose name changes with them.
	moduleFolder = "module/"
	moduleMain   = "module.js"
)

// add adds the files of the module to those of the console, and the address of the first one
// to the document.
func (m Module) add(files map[string]file) error {
	if m.Files == nil {
		return nil
	}
	found, all := map[string]file{}, sha256.New()
	entries, err := fs.ReadDir(m.Files, ".")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if _, known := mediaTypes[path.Ext(entry.Name())]; entry.IsDir() || !known {
			continue
		}
		body, err := fs.ReadFile(m.Files, entry.Name())
		if err != nil {
			return err
		}
		found[entry.Name()] = newFile(body)
		fmt.Fprintf(all, "%q %q\n", entry.Name(), body)
	}
	if _, there := found[moduleMain]; !there {
		return fmt.Errorf("the module of the console has no file %s", moduleMain)
	}
	folder := moduleFolder + hex.EncodeToString(all.Sum(nil)[:8]) + "/"
	for name, one := range found {
		files[folder+name] = one
	}
	root := []byte(`<div id="console"`)
	files[indexName] = newFile(bytes.Replace(files[indexName].body, root, fmt.Appendf(root[:len(root):len(root)], ` data-module="%s%s%s"`, Path, folder, moduleMain), 1))
	return nil
}
