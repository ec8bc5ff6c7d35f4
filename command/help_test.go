package command

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"marquee/schemas/base"
)

// TestExamples: the command lines that help shows are accepted, and name permissions
// that every application has.
func TestExamples(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("my-schemas", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("token", []byte("a token"), 0o600); err != nil {
		t.Fatal(err)
	}
	roles, err := fs.ReadFile(base.FS, "roles.json")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := kong.Visit(advertisingParser().Model, func(node kong.Visitable, next kong.Next) error {
		if command, ok := node.(*kong.Node); ok && command.Type != kong.ArgumentNode {
			found := 0
			for line := range strings.Lines(command.Detail) {
				if i := strings.Index(line, "marquee "); i >= 0 {
					args := strings.Fields(strings.ReplaceAll(line[i:], "'", ""))[1:]
					if _, err := advertisingParser().Parse(args); err != nil {
						t.Errorf("%s: %v", strings.TrimSpace(line), err)
					}
					for i, arg := range args {
						if arg == "--permission" && !bytes.Contains(roles, []byte(strconv.Quote(args[i+1]))) {
							t.Errorf("%s: not every application has %s", strings.TrimSpace(line), args[i+1])
						}
					}
					found++
				}
			}
			if n++; found == 0 {
				t.Errorf("%s has no example", command.Name)
			}
		}
		return next(nil)
	}); err != nil || n < 9 {
		t.Errorf("%d commands were found: %v", n, err)
	}
}

// TestNoEmptyDefaults: no description names a default that is empty.
func TestNoEmptyDefaults(t *testing.T) {
	if err := kong.Visit(advertisingParser().Model, func(node kong.Visitable, next kong.Next) error {
		if flag, ok := node.(*kong.Flag); ok && strings.Contains(describe(flag.Value), "default ,") {
			t.Errorf("--%s: %s", flag.Name, describe(flag.Value))
		}
		return next(nil)
	}); err != nil {
		t.Error(err)
	}
}

// TestDrainDelay fixes the default of --drain-delay, which orchestrators rely on.
func TestDrainDelay(t *testing.T) {
	var cli *commands
	p := &Program{}
	cli = p.commands()
	if _, err := newParser(p, cli).Parse([]string{"serve"}); err != nil || cli.Serve.DrainDelay != 5*time.Second {
		t.Errorf("%v, %v", cli.Serve.DrainDelay, err)
	}
}

// TestUsageTexts: what is wrong with a value is told in the words of this program.
func TestUsageTexts(t *testing.T) {
	told := func(args, want string) {
		t.Helper()
		_, err := advertisingParser().Parse(strings.Fields(args))
		var wrong *kong.ParseError
		if !errors.As(err, &wrong) {
			t.Errorf("%s: %v", args, err)
		} else if text := usageText(wrong); !strings.HasPrefix(text, want) {
			t.Errorf("%s: %s", args, text)
		}
	}
	told("serve --request-timeout abc", `--request-timeout must be a time such as 30s, 15m or 2h, not "abc"`)
	told("serve --max-sessions many", `--max-sessions must be a whole number, not "many"`)
	told("serve --demo=maybe", `--demo must be true or false, not "maybe"`)
	told("serve --log-level loud", `--log-level must be one of "debug","info","warn","error", not "loud"`)
	told("serve --public-url x", `--public-url must be `)
	told("serve --request-timeout", `--request-timeout needs a value`)
	told("serve --config nowhere", `there is no `)
	t.Setenv("MARQUEE_READ_TIMEOUT", "soon")
	told("serve", `--read-timeout must be a time such as 30s, 15m or 2h, not "soon" (from MARQUEE_READ_TIMEOUT)`)
}
