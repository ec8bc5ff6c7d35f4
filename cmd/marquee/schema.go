package main

import (
	"errors"
	"fmt"

	"marquee/engine/schema"
	"marquee/schemas"
)

// schemaCommand is marquee schema.
type schemaCommand struct {
	Lint lintCommand `cmd:"" help:"Check a folder of schemas and explain each mistake."`
}

type lintCommand struct {
	Dir string `arg:"" type:"existingdir" help:"The folder."`
}

func (c *lintCommand) Run() error {
	folder, err := rooted(c.Dir)
	if err != nil {
		return err
	}
	registry, err := schema.Load(schema.Source{FS: schemas.FS}, schema.Source{Name: c.Dir, FS: folder})
	var problems schema.Problems
	if errors.As(err, &problems) {
		for _, problem := range problems {
			fmt.Println(problem)
		}
		if len(problems) == 1 {
			return errors.New("1 mistake")
		}
		return fmt.Errorf("%d mistakes", len(problems))
	}
	if err == nil {
		fmt.Printf("%d types, no mistakes\n", len(registry.Types()))
	}
	return err
}
