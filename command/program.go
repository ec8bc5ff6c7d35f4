package command

import (
	"context"
	"fmt"
	"io"
	"maps"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"marquee"
	"marquee/command/exit"
	"marquee/command/limits"
	"marquee/command/settings"
	"marquee/engine/store"
)

// Program is what is special to a program. Each field may be left out: the zero Program
// has all commands for networks, users, roles, teams and tokens, and for the types of
// --schemas.
type Program struct {
	// Application is what the commands serve and administer. It should have a name, so
	// that a store of the program is not opened by another one. If it has demonstration
	// data, serve has the flag --demo.
	Application marquee.Application
	// Version is that of the program; "" is the commit that it was built from.
	Version string
	// Optional adds the flag --application: its value is the name of the application, or
	// none, with which the commands serve what the zero Application does, without
	// Settings and Imports.
	Optional bool
	// Settings are more settings of serve; nil is none.
	Settings Settings
	// Imports read files other than those of objects. Their names are given to import in
	// place of a type, and are words for what is imported, in the plural. A type that has
	// the name goes before an import.
	Imports map[string]Import
	// Try is what serve --demo suggests to try.
	Try []Suggestion

	chosen applicationFlags
}

// Settings is a pointer to a struct whose exported fields are flags of serve. Tags
// describe them as those of package github.com/alecthomas/kong: name, help, default,
// placeholder. Each flag can also be set by a variable and in the file of --config. The
// value of a flag with the tag secret is not shown, and can be in a file, which the flag of the
// same name with -file names.
type Settings interface {
	// Configure applies the settings to the application, before its store is opened, or
	// returns an error that names the flags that are wrong. Container is the limit of the
	// memory of the process in bytes; 0 is none.
	Configure(container int64) error
}

// Import stores what a file has, all of it or nothing, and returns how many items that are.
type Import func(ctx context.Context, s store.Store, file io.Reader) (n int, err error)

// Suggestion is a command for a shell, in one line. The variables URL, NETWORK and TOKEN
// have the address of the server, the id of the first network as part of a query, and an
// access token of its administrator.
type Suggestion struct {
	// Shows names what the command shows, as part of a sentence.
	Shows   string
	Command string
}

// none is the value of --application that leaves the application out.
const none = "none"

// applicationFlags choose the application that is served.
type applicationFlags struct {
	Application string `type:"choice" enum:"${application},none" default:"${application}" help:"Types and rules that are served besides those of --schemas: ${application}, or none, which has only networks, users, roles, teams and tokens." placeholder:"NAME"`
}

// demoFlags are those of an application with demonstration data.
type demoFlags struct {
	Demo bool `help:"Load a small data set into an empty store."`
}

// application is what is served, which is known once the flags are read.
func (p *Program) application() marquee.Application {
	if p.chosen.Application == none {
		return marquee.Application{}
	}
	return p.Application
}

// importer is the import of a name, if it is served.
func (p *Program) importer(name string) Import {
	if p.chosen.Application == none {
		return nil
	}
	return p.Imports[name]
}

// commands returns the commands, with the flags that the program has.
func (p *Program) commands() *commands {
	cli := &commands{}
	if p.Optional {
		cli.Plugins = append(cli.Plugins, &p.chosen)
	}
	for _, serve := range []*serveCommand{&cli.Serve, &cli.ShowConfig.serveCommand} {
		if p.Settings != nil {
			serve.Plugins = append(serve.Plugins, p.Settings)
		}
		if p.Application.Demo != nil {
			serve.Plugins = append(serve.Plugins, &serve.demo)
		}
	}
	return cli
}

// variables are what the descriptions of commands and flags refer to.
func (p *Program) variables() kong.Vars {
	imports := ""
	if len(p.Imports) > 0 {
		imports = ", or " + strings.Join(slices.Sorted(maps.Keys(p.Imports)), ", ")
	}
	return kong.Vars{"version": programVersion(p.Version), "program": programName, "application": p.Application.Name, "imports": imports}
}

// configure applies the settings of the application, or refuses them if they are wrong or
// the application is not served.
func (c *serveCommand) configure(parsed *kong.Context) (errs []error) {
	p := c.program
	if p.chosen.Application != none {
		if p.Settings != nil {
			errs = append(errs, p.Settings.Configure(limits.Container()))
		}
		return errs
	}
	for _, flag := range parsed.Selected().Flags {
		if c.ofApplication(flag) && settings.Source(parsed, flag) != settings.Default {
			errs = append(errs, exit.Usagef("--%s belongs to the application %s, which --application none does not serve", flag.Name, p.Application.Name))
		}
	}
	return errs
}

// ofApplication reports whether a flag is one that the application has.
func (c *serveCommand) ofApplication(flag *kong.Flag) bool {
	for _, plugin := range c.Plugins {
		fields := reflect.ValueOf(plugin).Elem()
		for i := range fields.NumField() {
			if fields.Field(i).Addr().UnsafePointer() == flag.Target.Addr().UnsafePointer() {
				return true
			}
		}
	}
	return false
}

// served is part of the commands that serve the application, or read its types.
type served struct{ program *Program }

func (s *served) bind(p *Program) { s.program = p }

// programVersion is the given version, or else the commit that the program was built
// from, as far as the Go tool has recorded it.
func programVersion(given string) string {
	if given != "" {
		return given
	}
	info, _ := debug.ReadBuildInfo()
	return builtFrom(info)
}

// builtFrom is the commit of a build, "dev" where it is not known.
func builtFrom(info *debug.BuildInfo) string {
	if info == nil {
		return "dev"
	}
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	commit := settings["vcs.revision"]
	if commit == "" {
		return "dev"
	}
	commit = commit[:min(len(commit), 12)]
	if settings["vcs.modified"] == "true" {
		commit += "-dirty"
	}
	return commit
}

// versionCommand is marquee version.
type versionCommand struct{ served }

func (c *versionCommand) Run() error {
	_, err := fmt.Println(programVersion(c.program.Version))
	return err
}
