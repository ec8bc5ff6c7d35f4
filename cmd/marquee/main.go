// Command marquee serves a folder of JSON Schemas as a transactional REST
// service.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/alecthomas/kong"
)

// version is set when a release is built.
var version = "dev"

type commands struct {
	Config  kong.ConfigFlag  `help:"JSON file with settings: the names of the flags, with underscores." placeholder:"FILE"`
	Version kong.VersionFlag `env:"-" help:"Print the version."`

	Serve  serveCommand  `cmd:"" help:"Serve the API."`
	Init   initCommand   `cmd:"" help:"Make the first network, role and user of an empty store."`
	Health healthCommand `cmd:"" help:"Ask a running service whether it is ready."`
	Import importCommand `cmd:"" help:"Import objects from a file of JSON lines."`
	Export exportCommand `cmd:"" help:"Export objects as JSON lines."`
	Schema schemaCommand `cmd:"" help:"Work on schemas."`

	InitReplicaSet initReplicaSetCommand `cmd:"" help:"Make a replica set of new MongoDB servers, and its users."`
}

func main() {
	var cli commands
	parsed := kong.Parse(&cli,
		kong.Name("marquee"),
		kong.Description("A folder of JSON Schemas, served as a transactional REST API."),
		kong.ShortUsageOnError(),
		kong.DefaultEnvars("MARQUEE"),
		kong.Configuration(readSettings),
		kong.Vars{"version": version},
	)
	if err := parsed.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "marquee: "+err.Error())
		var coded kong.ExitCoder
		if errors.As(err, &coded) {
			os.Exit(coded.ExitCode())
		}
		os.Exit(1)
	}
}
