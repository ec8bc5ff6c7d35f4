package command

import (
	"os"

	"marquee/engine/folder"
	"marquee/engine/openapi"
	"marquee/engine/rest"
	"marquee/engine/schema"
)

// openapiCommand is marquee openapi.
type openapiCommand struct {
	served
	Schemas   string       `type:"folder" placeholder:"DIR" help:"Folder of schemas that are added to those of the application."`
	PublicURL rest.BaseURL `name:"public-url" placeholder:"URL" help:"URL at which clients reach the server."`
	All       bool         `help:"Include operations that do the same as another one of their path: HEAD, and one of POST and PUT."`
}

func (c *openapiCommand) Run() error {
	var sources []schema.Source
	if c.Schemas != "" {
		opened, err := folder.Open(c.Schemas)
		if err != nil {
			return err
		}
		defer opened.Close()
		sources = append(sources, schema.Source{Name: c.Schemas, FS: opened})
	}
	app := c.program.application()
	types, err := app.Load(sources...)
	if err != nil {
		return err
	}
	text, err := app.Document(types, openapi.Options{Server: string(c.PublicURL), All: c.All})
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(text)
	return err
}
