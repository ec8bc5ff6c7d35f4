package settings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// maxSecret is the maximum size of a file with a secret.
const maxSecret = 64 << 10

// ReadSecrets gives each flag with the tag secret the content of the file that the flag of the
// same name with -file names, without the newline at its end. Both together are refused. The
// tag followed is for a file that the command itself reads, because it can change or be
// created. No error shows a content.
func ReadSecrets(parsed *kong.Context) error {
	for _, flag := range parsed.Flags() {
		file := FileOf(parsed, flag)
		if file == nil || file.Target.String() == "" {
			continue
		}
		if flag.Target.String() != "" && Source(parsed, flag) != Default {
			return fmt.Errorf("give --%s or --%s, not both", flag.Name, file.Name)
		}
		if file.Tag.Has("followed") {
			continue
		}
		secret, err := readSecret(file.Target.String())
		if err != nil {
			return fmt.Errorf("--%s %s %w", file.Name, file.Target, err)
		}
		flag.Target.SetString(secret)
	}
	return nil
}

// FileOf returns the flag that names the file of a secret; it is nil for other flags.
func FileOf(parsed *kong.Context, secret *kong.Flag) *kong.Flag {
	if !secret.Tag.Has("secret") {
		return nil
	}
	for _, flag := range parsed.Flags() {
		if flag.Name == secret.Name+"-file" {
			return flag
		}
	}
	return nil
}

func readSecret(path string) (string, error) {
	file, err := os.Open(path) // #nosec G304 -- the operator chooses the file
	if err == nil {
		defer file.Close()
		var content []byte
		content, err = io.ReadAll(io.LimitReader(file, maxSecret+1))
		if len(content) > maxSecret {
			return "", fmt.Errorf("has more than %d bytes", maxSecret)
		}
		secret := strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
		if err == nil && secret == "" {
			return "", errors.New("is empty")
		}
		if err == nil {
			return secret, nil
		}
	}
	var failed *fs.PathError
	if errors.As(err, &failed) {
		err = failed.Err // the name is in the message already
	}
	return "", fmt.Errorf("cannot be read: %w", err)
}
