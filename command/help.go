package command

import (
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// helpCommand is marquee help.
type helpCommand struct {
	Command []string `arg:"" optional:"" help:"The command; the whole program when none is named."`
}

// Help implements kong.HelpProvider.
func (helpCommand) Help() string {
	return examples("help", "help import", "help schema lint")
}

func (c *helpCommand) Run(parser *kong.Kong) error {
	_, err := parser.Parse(append(c.Command, "--help")) // which prints the help and exits
	return err
}

// examples is the part of a command's help that shows how it is called: lines without the
// name of the program.
func examples(lines ...string) string {
	title := "Examples:"
	if len(lines) == 1 {
		title = "Example:"
	}
	indent := "\n  " + programName + " "
	return title + "\n" + indent + strings.Join(lines, indent)
}

// describe is the help of a flag or an argument, with its default and the
// variable of the environment that sets it.
func describe(value *kong.Value) string {
	var notes []string
	if value.HasDefault && value.Default != "" {
		notes = append(notes, "default "+value.Default)
	}
	for _, name := range value.Tag.Envs {
		notes = append(notes, "$"+name)
	}
	if len(notes) == 0 {
		return value.Help
	}
	return strings.TrimSuffix(value.Help, ".") + " (" + strings.Join(notes, ", ") + ")."
}

// usageText is what is wrong with a command line.
func usageText(wrong *kong.ParseError) string {
	text := causeOf(wrong.Unwrap()).Error()
	for _, value := range valueTexts {
		text = value.said.ReplaceAllString(text, value.says)
	}
	return text
}

// explainUsage says on standard error what is wrong with a command line or a setting.
func explainUsage(parser *kong.Kong, parsed *kong.Context, text string) {
	node := parser.Model.Node
	if selected := parsed.Selected(); selected != nil {
		node = selected
	}
	if len(node.Children) > 0 && strings.HasPrefix(text, "expected ") {
		var names []string
		for _, child := range node.Children {
			names = append(names, child.Name)
		}
		text = "name a command: " + strings.Join(names, ", ")
	}
	fmt.Fprintln(os.Stderr, programName+": "+text)
	parser.Stdout = os.Stderr
	_ = kong.DefaultShortHelpPrinter(kong.HelpOptions{}, parsed) // nothing is left to be done
}
