package seal

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// CreateKeyFile creates a key file, with a new key and mode 0600, unless it exists.
func CreateKeyFile(path string) error {
	err := WriteFile(path, encode(newSecret()), os.Link)
	if errors.Is(err, fs.ErrExist) { // another process has created it
		return nil
	}
	return err
}

// RetiredKeys returns the path of the file with the keys that a key file had before,
// one in a line. They still decrypt what they have encrypted, such as a store that was
// restored from a backup.
func RetiredKeys(path string) string { return path + ".retired" }

// ParseKeys decodes keys that are separated by commas or white space.
func ParseKeys(text string) (keys [][]byte, err error) {
	for _, one := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }) {
		key, err := base64.StdEncoding.DecodeString(one)
		if err != nil || len(key) != KeyBytes {
			return nil, errNoKey
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errNoKey
	}
	return keys, nil
}

var errNoKey = fmt.Errorf("the secret key must be base64 of %d random bytes (openssl rand -base64 32)", KeyBytes)

// replacedBy begins the first line of a file of retired keys, before the id of the key that
// replaced them. Files of version 1.0.0 do not have it.
const replacedBy = "# replaced by "

// ReadKeyFiles reads the key of a key file, and the retired keys after it, if there are
// any. A key file can have several keys itself. A key that has not replaced the retired ones
// is an error: a server would encrypt with it what they decrypt.
func ReadKeyFiles(path string) (keys [][]byte, err error) {
	for _, name := range []string{path, RetiredKeys(path)} {
		text, err := os.ReadFile(name) // #nosec G304 -- the operator chooses the file
		if name != path && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		next, rest, replaced := "", string(text), false
		if line, after, _ := strings.Cut(rest, "\n"); name != path {
			if next, replaced = strings.CutPrefix(line, replacedBy); replaced {
				rest = after
			}
		}
		some, err := ParseKeys(rest)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if replaced && !slices.ContainsFunc(keys, func(key []byte) bool {
			return keyID(key) == next || slices.ContainsFunc(some, func(other []byte) bool { return bytes.Equal(other, key) })
		}) {
			return nil, fmt.Errorf("the key of %s is neither the one that has replaced those of %s nor one of them: put the right key back; for a new key, write it into %[1]s, and after it the keys of %[2]s", path, name)
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
	keys, err := ReadKeyFiles(path)
	if err != nil {
		return err
	}
	next := newSecret()
	retired := bytes.NewBufferString(replacedBy + keyID(next) + "\n")
	for _, key := range keys {
		retired.Write(encode(key))
	}
	if err := WriteFile(RetiredKeys(path), retired.Bytes(), os.Rename); err != nil {
		return err
	}
	return WriteFile(path, encode(next), os.Rename)
}

func newSecret() []byte {
	key := make([]byte, KeyBytes)
	rand.Read(key)
	return key
}

func encode(key []byte) []byte { return []byte(base64.StdEncoding.EncodeToString(key) + "\n") }

// WriteFile writes a file with mode 0600 beside a key file and puts it in its place, with
// os.Link or os.Rename, as a whole: a partial key would keep the service from starting.
func WriteFile(path string, content []byte, put func(from, to string) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".marquee.key.*") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(content)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := put(file.Name(), path); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close()) // makes the change of the folder durable
}
