// Package command is the command line of programs that serve an application: commands
// that serve it, and that administer its store. It may import package marquee, auth, the
// engine, both adapters and resources, but neither schemas nor a database driver. Begin
// with main.go, which lists the commands, and serve.go.
package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

type commands struct {
	Config      kong.ConfigFlag  `help:"JSON file with settings: the names of the flags, with underscores." placeholder:"FILE"`
	ShowVersion kong.VersionFlag `name:"version" env:"-" help:"Print the version."`

	Serve   serveCommand   `cmd:"" help:"Serve the API."`
	Init    initCommand    `cmd:"" help:"Create the first network, role and user of an empty store."`
	Health  healthCommand  `cmd:"" help:"Ask a running service whether it is ready."`
	Import  importCommand  `cmd:"" help:"Import objects from a file of JSON lines."`
	Export  exportCommand  `cmd:"" help:"Export objects as JSON lines."`
	Check   checkCommand   `cmd:"" help:"Verify a store: list what is damaged, invalid or missing."`
	Schema  schemaCommand  `cmd:"" help:"Work on schemas."`
	User    userCommand    `cmd:"" help:"Manage users."`
	Role    roleCommand    `cmd:"" help:"Manage roles."`
	Token   tokenCommand   `cmd:"" help:"Manage API tokens for programs."`
	Key     keyCommand     `cmd:"" help:"Rotate the keys that sign access tokens."`
	Secrets secretsCommand `cmd:"" help:"Rotate the key that encrypts secrets."`

	OpenAPI openapiCommand `cmd:"" name:"openapi" help:"Print the OpenAPI document of the API."`

	InitReplicaSet initReplicaSetCommand `cmd:"" help:"Initialise a replica set from new MongoDB servers, and create its users."`

	ShowHelp helpCommand    `cmd:"" name:"help" help:"Show the help of the program, or of a command."`
	Version  versionCommand `cmd:"" help:"Print the version."`
}

// Help implements kong.HelpProvider.
func (commands) Help() string {
	return examples("marquee serve --demo", "marquee schema lint my-schemas", "marquee help import")
}

// newParser reads command lines into cli.
func newParser(cli *commands) *kong.Kong {
	return kong.Must(cli,
		kong.Name("marquee"),
		kong.Description("A folder of JSON Schemas, served as a transactional REST API."),
		kong.DefaultEnvars("MARQUEE"),
		kong.Configuration(readSettings),
		kong.Vars{"version": programVersion()},
		kong.ValueFormatter(describe),
		kong.NamedMapper("choice", kong.MapperFunc(decodeChoice)),
		kong.NamedMapper("folder", kong.MapperFunc(decodeFolder)),
	)
}

// Main runs the command line of the process, and ends the process with its exit status
// if the command fails. Version is that of the program; "" is the commit that it was
// built from.
func Main(version string) {
	linkedVersion = version
	hangups := caughtHangups() // before anything else: a SIGHUP during a start must not end it
	ctx := interruptible()
	cli := &commands{}
	parser := newParser(cli)
	parsed, err := parser.Parse(os.Args[1:])
	if err == nil {
		unknown := unknownVariables(parser.Model)
		if parsed.Command() == "serve" {
			cli.Serve.hangups, cli.Serve.unknown = hangups, unknown
		} else {
			signal.Reset(syscall.SIGHUP) // ends the other commands
			for _, text := range unknown {
				fmt.Fprintln(os.Stderr, "marquee: warning: "+text)
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
		_ = logged(ctx, newLogger("json", slog.LevelInfo), usagef("%s", usageText(usage)))
	case errors.As(err, &usage):
		explainUsage(parser, usage.Context, usageText(usage))
	case isUsage(err) && parsed.Command() == "serve":
		explainUsage(parser, parsed, err.Error())
	default:
		fmt.Fprintln(os.Stderr, "marquee: "+err.Error())
	}
	os.Exit(exitStatus(ctx, err))
}
