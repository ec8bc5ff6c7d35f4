// Package settings reads what configures commands besides their flags: a file, variables of the
// environment, and the files of secrets. A name that is no setting of any command is reported,
// with the one that it may be meant for. No text shows a secret, and no error a value.
package settings

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"marquee/engine/document"
)

// file is the content of a --config file: a flag goes before a variable of the
// environment, and that before the file.
type file struct {
	name   string
	values map[string]any
}

// Read is a kong.ConfigurationLoader. No error shows a value, which
// may be a secret.
func Read(r io.Reader) (kong.Resolver, error) {
	s := file{name: "the configuration"}
	if named, ok := r.(interface{ Name() string }); ok {
		s.name = named.Name()
	}
	content, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if s.values, err = document.DecodeObject(content, document.Limits{}); err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	for name, value := range s.values {
		switch v := value.(type) {
		case string, bool:
		case int64, uint64, float64:
			s.values[name] = fmt.Sprint(v)
		default:
			return nil, fmt.Errorf("%s: %s must be a text, a number, true or false", s.name, name)
		}
	}
	return s, nil
}

// Resolve implements kong.Resolver.
func (f file) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, name := range flag.Envs {
		if _, set := os.LookupEnv(name); set {
			return nil, nil
		}
	}
	return f.values[Name(flag)], nil
}

// Validate implements kong.Resolver: a name that is no setting of any command
// is misspelt.
func (f file) Validate(app *kong.Application) error {
	known := map[string]bool{}
	err := kong.Visit(app, func(node kong.Visitable, next kong.Next) error {
		if flag, ok := node.(*kong.Flag); ok {
			known[Name(flag)] = true
		}
		return next(nil)
	})
	for _, name := range slices.Sorted(maps.Keys(f.values)) {
		if !known[name] || name == "config" || name == "version" || name == "help" {
			err = errors.Join(err, fmt.Errorf("%s: there is no setting %q", f.name, name))
		}
	}
	return err
}

// Name is the name of a flag in a file.
func Name(flag *kong.Flag) string { return strings.ReplaceAll(flag.Name, "-", "_") }
