package command

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"marquee/engine/document"
	"marquee/engine/store"
)

// greet prints commands to try, to be pasted into a shell. They contain the password
// only at the start that generated it, on standard output, which is not the log; later
// they read it from the environment.
func (c *serveCommand) greet(address, generated string) {
	password := generated
	if generated == "" {
		password = "${MARQUEE_BOOTSTRAP_PASSWORD:?set it to the password that the first start printed or was given}" // #nosec G101 -- this is the name of a variable, for a shell
	}
	suggestions := append(slices.Clone(c.program.Try),
		Suggestion{"who changed what", `curl -s -H "Authorization: Bearer $TOKEN" "$URL/api/v1/audit?context=$NETWORK&pageSize=2"`})
	var shown, commands []string
	for _, s := range suggestions {
		shown, commands = append(shown, s.Shows), append(commands, s.Command)
	}
	console := ""
	if c.Console == "on" {
		console = "  console   " + address + "/console/networks/" + url.PathEscape(c.BootstrapNetwork) + "\n"
	}
	fmt.Fprintf(os.Stdout, `
Marquee is running.
  URL       %[1]s
%[9]s  network   %[2]s
  user      %[3]s
  API docs  %[1]s/docs

Try, in another terminal: %[7]s.
  URL=%[1]s NETWORK=%[4]s
  PASSWORD=%[5]s
  TOKEN=$(curl -s $URL/api/authenticate -d grant_type=password -d scope=ng_api --data-urlencode username=%[6]s --data-urlencode "password=$PASSWORD" | sed 's/.*"access_token":"\([^"]*\)".*/\1/')
  %[8]s

`, address, c.BootstrapNetwork, c.BootstrapUsername, url.QueryEscape(c.BootstrapNetwork), password, shellQuote(c.BootstrapUsername), strings.Join(shown, ", "), strings.Join(commands, "\n  "), console)
}

// printReset prints a command that gives the first user a new password, because a
// later start does not know the generated one.
func (c *serveCommand) printReset(ctx context.Context, s *service) {
	claim := store.Claim{Collection: "users", Property: "username", Value: string(document.AppendString(nil, c.BootstrapUsername))}
	var id string
	err := s.Store().Read(ctx, func(r store.Snapshot) error {
		owners, err := r.Claims(ctx, []store.Claim{claim})
		id = owners[claim]
		return err
	})
	if err != nil || id == "" {
		return
	}
	program := os.Args[0]
	if strings.Contains(program, "go-build") {
		program = "go run"
		if info, known := debug.ReadBuildInfo(); known {
			program += " " + info.Path // as it was started
		}
	} else {
		program = shellQuote(program)
	}
	given := ""
	if sqlitePath(c.Store) != "" {
		given = " --store " + shellQuote(c.Store)
	}
	fmt.Fprintf(os.Stdout, `If the password is lost, set another:
  %s user passwd %s%s

`, program, shellQuote(c.BootstrapUsername), given)
}

// shellQuote quotes a text as one word for a POSIX shell.
func shellQuote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
