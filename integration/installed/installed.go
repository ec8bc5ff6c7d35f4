// Package installed provides tools in other languages to tests, in fixed versions. They
// are installed into .cache, once for each content of the files that name them. It imports
// the standard library alone. Begin with Suite.
//
// If a tool is missing, the test is skipped, or fails if MARQUEE_REQUIRE names its suite.
package installed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// installing is held while tools are installed: tests that run at the same time use the
// same ones.
var installing sync.Mutex

// Suite is the word of a suite, which is also the name of its folder in .cache.
type Suite string

// Missing ends a test whose tools are not there.
func (s Suite) Missing(t *testing.T, reason string) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("MARQUEE_REQUIRE"), ","), string(s)) {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// Need ends a test if one of its programs is not there.
func (s Suite) Need(t *testing.T, how string, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			s.Missing(t, fmt.Sprintf("there is no %s for the suite %s: %s", name, s, how))
		}
	}
}

// Folder returns a folder in .cache that has what install puts there. The files, which
// are in a folder of the suite, name the versions, and are copied.
func (s Suite) Folder(t *testing.T, name string, install func(folder string) error, files ...string) string {
	t.Helper()
	installing.Lock()
	defer installing.Unlock()
	digest := sha256.New()
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(name, file))
		if err != nil {
			t.Fatal(err)
		}
		digest.Write(content)
	}
	root, err := filepath.Abs(filepath.Join("../../.cache", string(s)))
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(root, name+"-"+hex.EncodeToString(digest.Sum(nil)[:8]))
	done := filepath.Join(folder, ".installed")
	if _, err := os.Stat(done); err == nil {
		return folder
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(name, file))
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, file), content, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := install(folder); err != nil {
		s.Missing(t, fmt.Sprintf("the tools of %s/%s cannot be installed: %v", s, name, err))
	}
	if err := os.WriteFile(done, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return folder
}

// Python is Folder for the packages of name/requirements.txt, which has their hashes. It
// returns the folder of their programs.
func (s Suite) Python(t *testing.T, name string) string {
	t.Helper()
	s.Need(t, "install Python 3.11 with venv and pip (Debian: apt-get install python3-venv)", "python3")
	folder := s.Folder(t, name, func(folder string) error {
		if _, err := Run(t.Context(), folder, nil, "python3", "-m", "venv", "venv"); err != nil {
			return err
		}
		_, err := Run(t.Context(), folder, nil, "venv/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
			"--require-hashes", "--only-binary", ":all:", "--requirement", "requirements.txt")
		return err
	}, "requirements.txt")
	return filepath.Join(folder, "venv", "bin")
}

// Node is Folder for the packages of name/package.json and its lock file. More files may
// be scripts that use them.
func (s Suite) Node(t *testing.T, name string, more ...string) string {
	t.Helper()
	s.Need(t, "install Node.js 20 with npm", "node", "npm")
	return s.Folder(t, name, func(folder string) error {
		_, err := Run(t.Context(), folder, nil, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
		return err
	}, append([]string{"package.json", "package-lock.json", ".npmrc"}, more...)...)
}

// Maven is Folder for the dependencies of name/pom.xml, which are in its folder lib.
func (s Suite) Maven(t *testing.T, name string) string {
	t.Helper()
	return s.Folder(t, name, func(folder string) error {
		_, err := Run(t.Context(), folder, nil, "mvn", "--batch-mode", "--quiet", "dependency:copy-dependencies", "-DoutputDirectory=lib")
		return err
	}, "pom.xml")
}

// Run runs a program in a folder, and returns what it prints. The error has the end of
// that.
func Run(ctx context.Context, folder string, env []string, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), env...)
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, out[max(0, len(out)-maxPrinted):])
	}
	return string(out), nil
}

// maxPrinted is the maximum number of bytes of what a program prints an error has, from the end.
const maxPrinted = 4000
