package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"marquee/engine/folder"
	"marquee/engine/schema"
)

// schemaCommand is marquee schema.
type schemaCommand struct {
	Lint lintCommand `cmd:"" help:"Check a folder of schemas and explain each mistake."`
}

type lintCommand struct {
	served
	Dir string `arg:"" type:"folder" help:"The folder."`
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
		for _, problem := range problems {
			fmt.Println(problem)
		}
		return errors.New(counted(int64(len(problems)), "mistake"))
	}
	if err == nil {
		fmt.Printf("%s, no mistakes\ndigest: %s\n", counted(int64(n), "schema"), registry.Digest())
	}
	return err
}

// schemaFiles counts the schemas of a folder, shared definitions among them.
func schemaFiles(folder fs.FS) (n int, err error) {
	for _, pattern := range []string{"*.json", "common/*.json"} {
		names, wrong := fs.Glob(folder, pattern)
		n, err = n+len(names), errors.Join(err, wrong)
	}
	return n, err
}
