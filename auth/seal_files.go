package auth

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// RetiredKeys returns the path of the file with the keys that a key file had before,
// one in a line. They still decrypt what they have encrypted, such as a store that was
// restored from a backup.
func RetiredKeys(path string) string { return path + ".retired" }

// ParseKeys decodes keys that are separated by commas or white space.
func ParseKeys(text string) (keys [][]byte, err error) {
	for _, one := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }) {
		key, err := ParseKey(one)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		_, err = ParseKey("")
	}
	return keys, err
}

// KeyFiles reads the key of a key file, and the retired keys after it, if there are
// any. A key file can have several keys itself.
func KeyFiles(path string) (keys [][]byte, err error) {
	for _, name := range []string{path, RetiredKeys(path)} {
		text, err := os.ReadFile(name) // #nosec G304 -- the operator chooses the file
		if name != path && errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		some, err := ParseKeys(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, key := range some {
			if !slices.ContainsFunc(keys, func(other []byte) bool { return bytes.Equal(other, key) }) {
				keys = append(keys, key)
			}
		}
	}
	return keys, nil
}

// RotateKeyFile gives a key file a new key, and keeps the keys before it among the
// retired ones. It can be interrupted at any point: a key is retired before it is
// replaced, and each file is replaced as a whole.
func RotateKeyFile(path string) error {
	keys, err := KeyFiles(path)
	if err != nil {
		return err
	}
	var retired bytes.Buffer
	for _, key := range keys {
		retired.WriteString(base64.StdEncoding.EncodeToString(key) + "\n")
	}
	if err := replaceFile(RetiredKeys(path), retired.Bytes()); err != nil {
		return err
	}
	return replaceFile(path, []byte(base64.StdEncoding.EncodeToString(newSecretKey())+"\n"))
}

// replaceFile replaces a file as a whole, with mode 0600, or creates it.
func replaceFile(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".marquee.key.*") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(content)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return syncFolder(path)
}

// syncFolder makes a change of the folder of a file durable.
func syncFolder(path string) error {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
