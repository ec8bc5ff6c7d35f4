package command

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"marquee/command/exit"
	"marquee/command/terminal"
	"marquee/engine/document"
	"marquee/engine/schema"
)

// showCommand is marquee schema show.
type showCommand struct {
	storeFlags
	Type string `arg:"" help:"The name of the type."`
}

func (c *showCommand) Run(ctx context.Context) error {
	app := c.program.application()
	types, _, err := c.load(&app)
	if err != nil {
		return err
	}
	t, known := types.Named(c.Type)
	if !known {
		return exit.Usagef("there is no type %s", c.Type)
	}
	stored := t
	t = t.Served()
	if err := showType(t); err != nil {
		return err
	}
	fmt.Println()
	table := terminal.NewTable("FIELD", "TYPE", "SIZE", "RULES")
	(&fieldRows{table: table, path: types.Path, shown: map[*document.Shape]string{}}).members("", t.Shape)
	if err := table.End(); err != nil {
		return err
	}
	return c.showUndeclared(ctx, stored)
}

// showType prints what holds for all objects of a type.
func showType(t *schema.Type) error {
	table := terminal.NewTable("TYPE", t.Name)
	row := func(name string, values ...string) {
		if text := strings.Join(values, ", "); text != "" {
			table.Row(name, text)
		}
	}
	path := "/api/v1/" + t.Name
	if t.Parent != "" {
		path += "/{" + t.Parent + "}"
	}
	row("was", t.Was...)
	row("title", t.Title)
	row("file", t.File)
	row("route", strings.Join(t.ListMethods(), " ")+" "+path)
	row("route", strings.Join(t.ObjectMethods(), " ")+" "+path+"/{id}")
	if t.Shape.HasPersonal {
		row("route", "POST "+path+"/{id}/erase")
	}
	row("scope", map[bool]string{false: "network", true: "global"}[t.Global])
	row("read", cmp.Or(t.Read, "any role"))
	if t.Writable() {
		row("write", t.Permission)
		row("create", t.Create)
	}
	if t.Public != nil {
		row("public", "objects that match a condition, without a token")
	}
	row("team", t.Team...)
	row("owner", t.Owner...)
	for _, index := range t.Indexes {
		row("index", index.Property+" by "+cmp.Or(index.Order, "createTime"))
	}
	row("sort", t.Sort...)
	row("search", t.Search...)
	row("unique", t.Unique...)
	for _, rule := range t.ClaimRules {
		row("unique", strings.Join(rule.Properties, " with "))
	}
	return table.End()
}

// fieldRows are the rows of the fields of a type.
type fieldRows struct {
	table *terminal.Table
	// path returns the path of the type with a stored name.
	path func(collection string) string
	// shown are the fields of which the members are shown, so that those of a value that
	// contains itself, or is used again, are shown once.
	shown map[*document.Shape]string
}

// members shows the members of an object, whose name ends with a dot, or is "" for a type.
func (r *fieldRows) members(of string, s *document.Shape) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		r.value(of+name, s.Properties[name], slices.Contains(s.Required, name))
	}
	if s.Extra != nil && s.Extra != document.AnyShape {
		r.value(of+"*", s.Extra, false)
	}
}

func (r *fieldRows) value(name string, s *document.Shape, required bool) {
	rules := r.rules(s, required)
	inner := s.HasMembers() || s.Element != nil
	if before := r.shown[s]; inner && before != "" {
		r.table.Row(name, strings.Join(s.Types, " or "), fieldSize(s), strings.Join(append(rules, "members as in "+before), ", "))
		return
	}
	r.table.Row(name, strings.Join(s.Types, " or "), fieldSize(s), strings.Join(rules, ", "))
	if !inner || s.Ref != nil {
		return
	}
	r.shown[s] = name
	r.members(name+".", s)
	if s.Element != nil {
		r.value(name+"[]", s.Element, false)
	}
}

// fieldSize is the largest size of a value, "" for one without a bound of its own.
func fieldSize(s *document.Shape) string {
	for _, bound := range []struct {
		most int
		of   string
	}{{s.MaxLength, "characters"}, {s.MaxItems, "items"}, {s.MaxProperties, "members"}} {
		if bound.most > 0 {
			return fmt.Sprintf("≤ %d %s", bound.most, bound.of)
		}
	}
	return ""
}

func (r *fieldRows) rules(s *document.Shape, required bool) (rules []string) {
	for _, rule := range []struct {
		text  string
		holds bool
	}{{"required", required}, {"format " + s.Format, s.Format != ""}, {"default", s.HasDefault}, {"read-only", s.ReadOnly}, {"write-only", s.WriteOnly},
		{"secret", s.Secret}, {"computed", s.Derived}, {"personal", s.Personal}, {"read with " + s.Readable, s.Readable != ""}} {
		if rule.holds {
			rules = append(rules, rule.text)
		}
	}
	if s.Ref != nil {
		rules = append(rules, "reference to "+r.path(s.Ref.Type))
	}
	rules = append(rules, slices.Sorted(maps.Keys(s.Keywords))...)
	return rules
}
