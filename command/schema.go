package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"marquee/engine/document"
	"marquee/engine/folder"
	"marquee/engine/openapi"
	"marquee/engine/progress"
	"marquee/engine/rest"
	"marquee/engine/schema"
	"marquee/engine/schema/keyword"
)

// schemaCommand is marquee schema.
type schemaCommand struct {
	New     newCommand       `cmd:"" help:"Write a commented first file of a new type."`
	Show    showCommand      `cmd:"" help:"Show the routes, permissions, indexes and fields of a type."`
	Meta    metaCommand      `cmd:"" help:"Print the meta-schema of schema files, for editors."`
	Lint    lintCommand      `cmd:"" help:"Check a folder of schemas and explain each mistake."`
	Diff    diffCommand      `cmd:"" help:"Compare two folders of schemas, or one with the set of a store, and explain what the change breaks."`
	History historyCommand   `cmd:"" help:"List the sets of schemas that the servers of a store have served, and which of them each server serves."`
	Prune   pruneCommand     `cmd:"" help:"Remove the stored values of a property that the schema does not declare any more."`
	Export  exportSetCommand `cmd:"" help:"Write the files of such a set to a folder."`
}

type lintCommand struct {
	served
	Dir  string `arg:"" type:"folder" help:"The folder."`
	JSON bool   `name:"json" env:"-" help:"Print each mistake and each hint as a line of JSON."`
}

func (c *lintCommand) Run() error {
	opened, err := folder.Open(c.Dir)
	if err != nil {
		return err
	}
	defer opened.Close()
	n, err := schemaFiles(opened)
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("%s holds no schema: write one for each type, as NAME.json", c.Dir)
	}
	for _, name := range opened.Unread() {
		fmt.Fprintf(os.Stderr, "%s: warning: the folder %s is not read: only %s is\n", programName, filepath.Join(c.Dir, name), folder.Common)
	}
	app := c.program.application()
	registry, err := app.Load(schema.Source{Name: c.Dir, FS: opened})
	var problems schema.Problems
	if errors.As(err, &problems) {
		c.print(problems)
		return errors.New(progress.Counted(int64(len(problems)), "mistake"))
	}
	if err != nil {
		return err
	}
	c.print(registry.Hints())
	if !c.JSON {
		fmt.Printf("%s, no mistakes\ndigest: %s\n", progress.Counted(int64(n), "schema"), registry.Digest())
	}
	return nil
}

// lintLine is what lint prints of a problem as JSON.
type lintLine struct {
	Level   string `json:"level"`
	File    string `json:"file"`
	Pointer string `json:"pointer"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Text    string `json:"text"`
	Cure    string `json:"cure,omitempty"`
}

func (c *lintCommand) print(problems schema.Problems) {
	lines := json.NewEncoder(os.Stdout)
	lines.SetEscapeHTML(false)
	for _, p := range problems {
		if !c.JSON {
			fmt.Println(p)
			continue
		}
		line := lintLine{Level: "error", File: p.File, Pointer: p.Pointer, Line: p.Line, Column: p.Column, Text: p.Text, Cure: p.Cure}
		if p.Hint {
			line.Level = "hint"
		}
		_ = lines.Encode(line)
	}
}

// schemaFiles counts the schemas of a folder, shared definitions among them.
func schemaFiles(folder fs.FS) (n int, err error) {
	for _, pattern := range []string{"*.json", "common/*.json"} {
		names, wrong := fs.Glob(folder, pattern)
		n, err = n+len(names), errors.Join(err, wrong)
	}
	return n, err
}

// metaCommand is marquee schema meta.
type metaCommand struct{}

func (c *metaCommand) Run() error {
	_, err := fmt.Println(string(document.Append(nil, keyword.Vocabulary())))
	return err
}

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
