package resources

import (
	"embed"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"marquee"
	"marquee/engine"
	"marquee/engine/document"
	"marquee/resources/asset"
)

// demo holds the steps, and the pictures of the creatives.
//
//go:embed demo
var demo embed.FS

// Demo returns the demonstration data: campaigns that ran, run and will run relative to
// the present, and what was changed in the three weeks before. In the steps, "@-7d 9:30"
// is half past nine seven days ago, in UTC, "@-7d" midnight, and "@network", "@user", "@role", "@password" and "@permissions"
// stand for the options and for all built-in permissions.
func Demo(options marquee.DemoOptions) ([]marquee.DemoStep, error) {
	text, err := demo.ReadFile("demo/steps.json")
	if err != nil {
		return nil, err
	}
	content, err := document.DecodeObject(text, document.Limits{})
	if err != nil {
		return nil, err
	}
	roles, _ := options.Types.Type("roles")
	d := demonstration{options, map[string]any{"@network": options.First.Network, "@user": options.First.UserID, "@role": options.First.RoleID, "@password": options.Password,
		"@permissions": document.Array(roles.BuiltInPermissions())}}
	list, _ := content["steps"].([]any)
	steps := make([]marquee.DemoStep, len(list))
	for i, entry := range list {
		members, _ := d.fill(entry).(map[string]any)
		if steps[i], err = d.step(members); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// demonstration fills in the placeholders of the steps.
type demonstration struct {
	options marquee.DemoOptions
	values  map[string]any
}

func (d demonstration) step(members map[string]any) (step marquee.DemoStep, err error) {
	at, _ := members["time"].(string)
	if step.Time, err = time.Parse(time.RFC3339, at); err != nil {
		return step, err
	}
	step.User, _ = members["user"].(string)
	step.Network, _ = members["network"].(string)
	list, _ := members["operations"].([]any)
	for _, entry := range list {
		operation, _ := entry.(map[string]any)
		name, _ := operation["type"].(string)
		object, _ := operation["object"].(map[string]any)
		t, served := d.options.Types.Type(name)
		if !served {
			continue
		}
		op := engine.Operation{Type: t, Object: object}
		if file, ok := object["file"].(string); ok && name == "assets" {
			delete(object, "file")
			picture, err := demo.ReadFile("demo/" + file)
			if err == nil {
				err = asset.Attach(&op, file, picture)
			}
			if err != nil {
				return step, fmt.Errorf("%s: %w", file, err)
			}
		}
		step.Operations = append(step.Operations, op)
	}
	return step, nil
}

// daysFromNow is the form of a time.
var daysFromNow = regexp.MustCompile(`^@([+-]\d+)d(?: (\d+):(\d+))?$`)

// fill returns a value with the placeholders replaced.
func (d demonstration) fill(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			v[name] = d.fill(member)
		}
	case []any:
		for i, item := range v {
			v[i] = d.fill(item)
		}
	case string:
		if value, found := d.values[v]; found {
			return value
		}
		if days := daysFromNow.FindStringSubmatch(v); days != nil {
			var number [3]int
			for i := range number {
				number[i], _ = strconv.Atoi(days[i+1]) // digits, or nothing
			}
			midnight := d.options.Now.UTC().Truncate(24 * time.Hour)
			return midnight.AddDate(0, 0, number[0]).Add(time.Duration(number[1]*60+number[2]) * time.Minute).Format(time.RFC3339)
		}
	}
	return value
}
