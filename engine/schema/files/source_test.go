package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func TestFilesBeyondTheFolder(t *testing.T) {
	outside, folder := t.TempDir(), t.TempDir()
	secret := filepath.Join(outside, "secret.json")
	if err := os.WriteFile(secret, []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"absolute.json": secret,
		"relative.json": filepath.Join("..", filepath.Base(outside), "secret.json"),
		"dangling.json": "nowhere.json",
		"common":        outside,
	} {
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	problems := Read(Source{Name: "mine", FS: root.FS()}).Problems
	const refused = ", which is not followed: path escapes from parent (links must stay within the folder; copy the "
	relative := filepath.Join("..", filepath.Base(outside), "secret.json")
	want := []string{
		"mine/absolute.json: the file is a symbolic link to " + secret + refused + "file into it)",
		"mine/common: the folder is a symbolic link to " + outside + refused + "folder into it)",
		"mine/dangling.json: the file is a symbolic link to nowhere.json, which does not exist (correct or remove the link)",
		"mine/relative.json: the file is a symbolic link to " + relative + refused + "file into it)",
	}
	if got := problems.Sorted(nil).Error(); got != strings.Join(want, "\n") {
		t.Error(got)
	}
}

func TestBoundsOfFiles(t *testing.T) {
	large := fstest.MapFS{"large.json": {Data: []byte(`{"description": "` + strings.Repeat("x", maxFileBytes) + `"}`)}}
	if err := Read(Source{FS: large}).Problems; err.Error() != "large.json: the file cannot be read: it is larger than 1048576 bytes" {
		t.Error(err)
	}
	many := fstest.MapFS{}
	for i := range maxFiles + 1 {
		many["f"+strings.Repeat("x", i)+".json"] = &fstest.MapFile{}
	}
	if err := Read(Source{FS: many}).Problems; !strings.HasPrefix(err.Error(), ".: the folder contains more than 2000 files") {
		t.Error(err)
	}
}
