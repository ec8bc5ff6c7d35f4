package command

import (
	"github.com/alecthomas/kong"

	"marquee/command/settings"
	"marquee/command/terminal"
)

// configCommand is marquee config.
type configCommand struct {
	serveCommand
	JSON bool `name:"json" env:"-" help:"Print JSON."`
}

func (c *configCommand) Run(parsed *kong.Context) error {
	all := settings.List(parsed)
	if c.JSON {
		if err := terminal.PrintJSON(map[string]any{"settings": all}); err != nil {
			return err
		}
	} else {
		table := terminal.NewTable("SETTING", "VALUE", "SOURCE")
		for _, s := range all {
			table.Row(s.Name, s.Value, s.Source)
		}
		if err := table.End(); err != nil {
			return err
		}
	}
	if err := c.check(parsed); err != nil {
		return err
	}
	_, err := c.certificate()
	return err
}
