package mongodb

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Binary is the path of a mongod, for programs that start it themselves.
func Binary() (string, error) {
	if named := os.Getenv("MARQUEE_TEST_MONGOD"); named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", fmt.Errorf("MARQUEE_TEST_MONGOD: %w", err)
		}
		return path, nil
	}
	if root, err := moduleRoot(); err == nil {
		if path, err := exec.LookPath(filepath.Join(root, ".cache", "mongod", "mongod")); err == nil {
			return path, nil
		}
	}
	if path, err := exec.LookPath("mongod"); err == nil {
		return path, nil
	}
	return "", fmt.Errorf("%w server of their own: run 'make mongod', or name one in MARQUEE_TEST_MONGOD", errNone)
}

// moduleRoot is the folder of go.mod. Tests run in their package's folder.
func moduleRoot() (string, error) {
	folder, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(folder, "go.mod")); missing == nil {
			return folder, nil
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return "", os.ErrNotExist
		}
		folder = parent
	}
	return "", err
}
