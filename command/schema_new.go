package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"marquee/command/exit"
	"marquee/engine/schema"
)

// newCommand is marquee schema new.
type newCommand struct {
	served
	Name string `arg:"" help:"The name of the type, in a path such as /api/v1/wards."`
	Dir  string `arg:"" default:"." optional:"" help:"The folder, which is made if it does not exist."`
}

// firstSchema is the file of a new type, with its name and title in place of NAME and
// TITLE.
const firstSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$comment": "All keywords are in docs/reference/schema-vocabulary.md. Check the file with: marquee schema lint FOLDER. In x-resource: the path of the type, the property that references show as the name, and the properties that q searches and lists can be sorted by.",
  "title": "TITLE",
  "description": "What the objects are. It is shown in the OpenAPI document.",
  "x-resource": {
    "path": "NAME",
    "label": "name",
    "search": ["name"],
    "sort": ["name"]
  },
  "type": "object",
  "required": ["name"],
  "properties": {
    "name": {
      "type": "string",
      "minLength": 1,
      "maxLength": 200,
      "description": "A property that every object has. Add it to unique in x-resource if no two objects may share it."
    },
    "state": {
      "$comment": "An object begins with the default, and x-transitions lists the steps from there. Leave it out if all are allowed.",
      "type": "string",
      "enum": ["PLANNED", "ACTIVE", "CLOSED"],
      "default": "PLANNED",
      "x-transitions": {"PLANNED": ["ACTIVE", "CLOSED"], "ACTIVE": ["CLOSED"], "CLOSED": []}
    },
    "contact": {
      "$comment": "An erasure removes what is about a person: x-personal.",
      "type": "string",
      "format": "email",
      "x-personal": true
    },
    "manager": {
      "$comment": "A reference to an object of another type.",
      "type": "string",
      "x-ref": "users"
    },
    "tags": {
      "$comment": "Bounds keep objects small: maxItems, maxLength.",
      "type": "array",
      "maxItems": 20,
      "items": {"type": "string", "maxLength": 50}
    }
  }
}
`

func (c *newCommand) Run() error {
	if c.Name == "" || filepath.Base(c.Name) != c.Name {
		return exit.Usagef("%q is no name of a type", c.Name)
	}
	text := strings.NewReplacer("NAME", c.Name, "TITLE", strings.ToUpper(c.Name[:1])+c.Name[1:]).Replace(firstSchema)
	if err := c.check(text); err != nil {
		return err
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil { // #nosec G301 -- schemas are no secrets, and the service may run as another user
		return exit.Cause(err)
	}
	path := filepath.Join(c.Dir, c.Name+".json")
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) // #nosec G302 G304 -- a new file where the user wants it, which the service may read as another user
	if errors.Is(err, fs.ErrExist) {
		return exit.Usagef("%s exists", path)
	}
	if err != nil {
		return exit.Cause(err)
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Close()); err == nil {
		fmt.Println(path)
	}
	return err
}

// check refuses a name that a type cannot have, or that a type of the application has.
func (c *newCommand) check(text string) error {
	dir, err := os.MkdirTemp("", "marquee-schema-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, c.Name+".json"), []byte(text), 0o600); err != nil {
		return exit.Usagef("%q is no name of a type: %w", c.Name, exit.Cause(err))
	}
	app := c.program.application()
	types, err := app.Load(schema.Source{Name: c.Dir, FS: os.DirFS(dir)})
	var problems schema.Problems
	if errors.As(err, &problems) {
		return exit.Usagef("%q is no name of a new type: %s", c.Name, problems[0])
	}
	if err != nil {
		return err
	}
	if _, read := types.Named(c.Name); !read { // its file is hidden
		return exit.Usagef("%q is no name of a type", c.Name)
	}
	return nil
}
