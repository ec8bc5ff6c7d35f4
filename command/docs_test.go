package command

import (
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"marquee/command/settings"
	"marquee/resources"
)

// TestReferenceIsComplete: the reference pages describe every command, flag and
// environment variable of the program, and no flag that does not exist.
func TestReferenceIsComplete(t *testing.T) {
	commandPage, settingPage := referencePage(t, "commands.md"), referencePage(t, "settings.md")
	if !strings.Contains(settingPage, "`MARQUEE_`, then the name in capitals with underscores") {
		t.Error("settings.md does not explain the names of variables")
	}
	known := map[string]bool{"--help": true}
	n := 0
	err := kong.Visit(advertisingParser().Model, func(node kong.Visitable, next kong.Next) error {
		switch node := node.(type) {
		case *kong.Node:
			path := strings.TrimSpace(strings.TrimPrefix(node.FullPath(), "marquee"))
			if node.Type == kong.CommandNode && len(node.Children) == 0 && !strings.Contains(commandPage, "marquee "+path) {
				t.Errorf("commands.md does not describe marquee %s", path)
			}
		case *kong.Flag:
			n++
			known["--"+node.Name] = true
			if !strings.Contains(commandPage, "`--"+node.Name) && !strings.Contains(settingPage, "`--"+node.Name) {
				t.Errorf("the reference does not describe --%s", node.Name)
			}
			for _, name := range node.Envs {
				if regular := settings.VariablePrefix + strings.ToUpper(settings.Name(node)); name != regular {
					t.Errorf("the variable of --%s is %s", node.Name, name)
				}
			}
		}
		return next(nil)
	})
	if err != nil || n < 60 {
		t.Errorf("%d flags: %v", n, err)
	}
	for _, page := range []string{commandPage, settingPage} {
		for _, part := range strings.Split(page, "`")[1:] {
			name, _, _ := strings.Cut(part, " ")
			if strings.HasPrefix(name, "--") && !strings.HasSuffix(name, "…") && !known[name] {
				t.Errorf("the reference describes %s, which does not exist", name)
			}
		}
	}
}

// advertisingParser is that of the program marquee.
func advertisingParser() *kong.Kong {
	service := resources.New()
	p := &Program{Application: service.Application(), Optional: true, Settings: service.Settings()}
	return newParser(p, p.commands())
}

func referencePage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../docs/reference/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
