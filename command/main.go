// Package command is the command line of programs that serve an application: serve, and
// commands that administer a store, such as export, import, check, user, role, token and
// secrets. Flags, variables, files and exit statuses are those that
// docs/reference/commands.md and settings.md describe; in texts, the name of the
// executable takes the place of marquee. The package may import package marquee, auth,
// the engine and both adapters, but no application and no database driver. Begin with
// Main.
package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"marquee"
	"marquee/command/exit"
	"marquee/command/health"
	"marquee/command/settings"
)

// programName is the name of the executable in texts, which Main sets.
var programName = "marquee"

type commands struct {
	Config      kong.ConfigFlag  `help:"JSON file with settings: the names of the flags, with underscores." placeholder:"FILE"`
	ShowVersion kong.VersionFlag `name:"version" env:"-" help:"Print the version."`
	kong.Plugins

	Serve      serveCommand   `cmd:"" help:"Serve the API."`
	Init       initCommand    `cmd:"" help:"Create the first network, role and user of an empty store."`
	ShowConfig configCommand  `cmd:"" name:"config" help:"Print the settings of serve, and where each comes from."`
	Health     health.Command `cmd:"" help:"Ask a running service whether it is ready."`
	Import     importCommand  `cmd:"" help:"Import objects from a file of JSON lines or CSV."`
	Export     exportCommand  `cmd:"" help:"Export objects as JSON lines."`
	Tail       tailCommand    `cmd:"" help:"Print the changes of a running service as JSON lines."`
	Backup     backupCommand  `cmd:"" help:"Copy an SQLite store, while it is served or stopped."`
	Restore    restoreCommand `cmd:"" help:"Restore an SQLite store from a backup."`
	Copy       copyCommand    `cmd:"" help:"Copy a stopped store into an empty one, of any kind, with everything that it keeps."`
	Check      checkCommand   `cmd:"" help:"Verify a store: list what is damaged, invalid or missing."`
	Schema     schemaCommand  `cmd:"" help:"Work on schemas."`
	User       userCommand    `cmd:"" help:"Manage users."`
	Role       roleCommand    `cmd:"" help:"Manage roles."`
	Token      tokenCommand   `cmd:"" help:"Manage API tokens for programs."`
	Key        keyCommand     `cmd:"" help:"Rotate the keys that sign access tokens."`
	Erase      eraseCommand   `cmd:"" help:"Remove the personal values of an object, also from its history."`
	Secrets    secretsCommand `cmd:"" help:"Rotate the key that encrypts secrets."`

	OpenAPI openapiCommand `cmd:"" name:"openapi" help:"Print the OpenAPI document of the API."`

	InitReplicaSet initReplicaSetCommand `cmd:"" help:"Initialise a replica set from new MongoDB servers, and create its users."`

	ShowHelp helpCommand    `cmd:"" name:"help" help:"Show the help of the program, or of a command."`
	Version  versionCommand `cmd:"" help:"Print the version."`
}

// AfterApply reads the files of secrets, when all flags have their values.
func (*commands) AfterApply(parsed *kong.Context) error { return settings.ReadSecrets(parsed) }

// newParser reads command lines of a program into cli.
func newParser(p *Program, cli *commands) *kong.Kong {
	parser := kong.Must(cli,
		kong.Name(programName),
		kong.Description("A folder of JSON Schemas, served as a transactional REST API."),
		kong.DefaultEnvars("MARQUEE"),
		kong.Configuration(settings.Read),
		p.variables(),
		kong.ValueFormatter(describe),
		kong.NamedMapper("choice", kong.MapperFunc(settings.DecodeChoice)),
		kong.NamedMapper("folder", kong.MapperFunc(settings.DecodeFolder)),
	)
	details := details()
	parser.Model.Detail = details[""]
	_ = kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		if command, ok := node.(*kong.Node); ok {
			command.Detail = details[command.Path()]
			if user, ok := command.Target.Addr().Interface().(interface{ bind(*Program) }); ok {
				user.bind(p)
			}
		}
		return next(nil)
	})
	return parser
}

// Main runs the command that the arguments of the process name, for an application. It
// ends the process with the exit status of the command, unless that is 0.
func Main(application marquee.Application) { Program{Application: application}.Main() }

// Main is the function Main for a program.
func (p Program) Main() {
	hangups := exit.Hangups() // before anything else: a SIGHUP during a start must not end it
	programName = strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	ctx := exit.Interruptible()
	cli := p.commands()
	parser := newParser(&p, cli)
	parsed, err := parser.Parse(os.Args[1:])
	if err == nil {
		unknown := settings.UnknownVariables(parser.Model)
		if parsed.Command() == "serve" {
			cli.Serve.hangups, cli.Serve.unknown = hangups, unknown
		} else {
			signal.Reset(syscall.SIGHUP) // ends the other commands
			for _, text := range unknown {
				fmt.Fprintln(os.Stderr, programName+": warning: "+text)
			}
		}
		parsed.BindTo(ctx, (*context.Context)(nil))
		err = parsed.Run()
	}
	if err == nil {
		return
	}
	var usage *kong.ParseError
	var known loggedError
	switch {
	case errors.As(err, &known):
	case errors.As(err, &usage) && logsJSON(usage, os.Args[1:]):
		_ = logged(ctx, newLogger("json", slog.LevelInfo), exit.Usagef("%s", p.mistakes(os.Args[1:], usage)))
	case errors.As(err, &usage):
		explainUsage(parser, usage.Context, p.mistakes(os.Args[1:], usage))
	case exit.IsUsage(err) && parsed.Command() == "serve":
		explainUsage(parser, parsed, exit.Text(err))
	default:
		fmt.Fprintln(os.Stderr, programName+": "+exit.Text(err))
	}
	os.Exit(exit.Status(ctx, err))
}
