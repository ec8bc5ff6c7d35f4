package command

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

// settings are those of a --config file: a flag goes before a variable of the
// environment, and that before the file.
type settings struct {
	file   string
	values map[string]any
}

// readSettings is a kong.ConfigurationLoader. No error shows a value, which
// may be a secret.
func readSettings(r io.Reader) (kong.Resolver, error) {
	s := settings{file: "the configuration"}
	if named, ok := r.(interface{ Name() string }); ok {
		s.file = named.Name()
	}
	content, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if s.values, err = document.DecodeObject(content, document.Limits{}); err != nil {
		return nil, fmt.Errorf("%s: %w", s.file, err)
	}
	for name, value := range s.values {
		switch v := value.(type) {
		case string, bool:
		case int64, uint64, float64:
			s.values[name] = fmt.Sprint(v)
		default:
			return nil, fmt.Errorf("%s: %s must be a text, a number, true or false", s.file, name)
		}
	}
	return s, nil
}

// Resolve implements kong.Resolver.
func (s settings) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, name := range flag.Envs {
		if _, set := os.LookupEnv(name); set {
			return nil, nil
		}
	}
	return s.values[settingName(flag)], nil
}

// Validate implements kong.Resolver: a name that is no setting of any command
// is misspelt.
func (s settings) Validate(app *kong.Application) error {
	known := map[string]bool{}
	err := kong.Visit(app, func(node kong.Visitable, next kong.Next) error {
		if flag, ok := node.(*kong.Flag); ok {
			known[settingName(flag)] = true
		}
		return next(nil)
	})
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		if !known[name] || name == "config" || name == "version" || name == "help" {
			err = errors.Join(err, fmt.Errorf("%s: there is no setting %q", s.file, name))
		}
	}
	return err
}

func settingName(flag *kong.Flag) string { return strings.ReplaceAll(flag.Name, "-", "_") }
