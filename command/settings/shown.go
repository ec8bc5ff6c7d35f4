package settings

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"
)

// The sources of values, in the order of their precedence.
const (
	CommandLine = "flag"
	Environment = "environment"
	File        = "file"
	Default     = "default"
)

// Source returns where the value of a flag comes from.
func Source(parsed *kong.Context, flag *kong.Flag) string {
	source := Default
	for _, name := range flag.Envs {
		if _, set := os.LookupEnv(name); set {
			source = Environment
		}
	}
	for _, p := range parsed.Path {
		switch {
		case p.Flag == flag && !p.Resolved:
			return CommandLine
		case p.Flag == flag:
			source = File
		}
	}
	return source
}

// Setting is the value of a flag, as it may be shown.
type Setting struct {
	// Name is that of the setting in a file.
	Name  string `json:"name"`
	Value string `json:"value"`
	// Source is one of the sources of values, or the name of the setting that names the file
	// of a secret.
	Source string `json:"source"`
}

// concealed takes the place of a secret.
const concealed = "(set)"

// List returns all settings of a command.
func List(parsed *kong.Context) (all []Setting) {
	for _, flag := range parsed.Flags() {
		if len(flag.Envs) == 0 {
			continue
		}
		s := Setting{Name: Name(flag), Value: text(flag), Source: Source(parsed, flag)}
		if file := FileOf(parsed, flag); file != nil && file.Target.String() != "" {
			s.Source = Name(file)
			if file.Tag.Has("followed") {
				s.Value = concealed
			}
		}
		all = append(all, s)
	}
	return all
}

// text returns the value of a flag without secrets.
func text(flag *kong.Flag) string {
	if values, ok := flag.Target.Interface().([]string); ok {
		return strings.Join(values, ",")
	}
	value := fmt.Sprint(flag.Target)
	if value != "" && flag.Tag.Has("secret") && flag.Tag.Get("secret") != "uri" {
		return concealed
	}
	value = credentials.ReplaceAllString(value, "${1}:"+concealed+"@")
	return parameters.ReplaceAllString(value, "${1}="+concealed)
}

// What URIs have of secrets: a password after the user, up to the last @, as a URI may have
// been written without percent-encoding, and parameters.
var (
	credentials = regexp.MustCompile(`^((?:[a-z0-9+.-]+:/*)?[^:@]*):.*@`)
	parameters  = regexp.MustCompile(`(?i)([?&][^=&]*(?:(?:pass|pwd|token|secret|sig|apikey|properties)[^=&]*|key|code))=[^&]*`)
)
