package keyword

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema/rule"
)

var (
	// StepPermission is the fault of a step without its permission, whatever its rule reads.
	StepPermission = message.Refusal("error.transition.permission", "{{field}} can change from {{from}} to {{to}} only with the permission {{permission}}.")
	stepRule       = message.Refusal("error.transition.rule", "{{field}} can change from {{from}} to {{to}} only if {{rule}}.")
)

// AllPermissions is the permission that stands for every other one.
const AllPermissions = "ALL"

// namesPermission reports AllPermissions where a schema names a permission.
func namesPermission(name string, problem func(text, cure string)) {
	if name == AllPermissions {
		problem(name+" stands for every permission", "choose another name")
	}
}

// Step is a target of x-transitions, with what it requires.
type Step struct{ To, Permission, Rule string }

// steps returns the steps that follow a value.
func steps(targets any) (list []Step) {
	items, _ := targets.([]any)
	for _, item := range items {
		switch v := item.(type) {
		case string:
			list = append(list, Step{To: v})
		case map[string]any:
			var s Step
			s.To, _ = v["to"].(string)
			s.Permission, _ = v["permission"].(string)
			s.Rule, _ = v["rule"].(string)
			list = append(list, s)
		}
	}
	return list
}

// eachGuarded calls visit for each step in the value of x-transitions that requires
// something, with its pointer below the keyword. Its members include the value from which
// it leads.
func eachGuarded(value any, visit func(at string, step map[string]any)) {
	following, _ := value.(map[string]any)
	for _, from := range slices.Sorted(maps.Keys(following)) {
		targets, _ := following[from].([]any)
		for i, target := range targets {
			if step, ok := target.(map[string]any); ok {
				step = maps.Clone(step)
				step["from"] = from
				visit("/"+document.EscapeToken(from)+"/"+strconv.Itoa(i), step)
			}
		}
	}
}

// guard is what a step of x-transitions requires.
type guard struct {
	Step
	from string
	// names are the properties with the step.
	names    []string
	compiled *rule.Rule
	// messages are those of its faults.
	messages []*message.Definition
	problems []rule.Problem
}

func newGuard(s Source) *guard {
	g := &guard{Step: steps([]any{s.Members})[0]}
	g.from, _ = s.Members["from"].(string)
	for _, name := range slices.Sorted(maps.Keys(s.Root.Properties)) {
		if s.Root.Properties[name] == s.Of {
			g.names = append(g.names, name)
		}
	}
	if g.Permission != "" || g.Rule == "" { // a step without both is refused
		g.messages = append(g.messages, StepPermission)
	}
	if g.Rule != "" {
		g.messages = append(g.messages, stepRule, ruleTooComplex, rulesTooComplex)
		g.compiled, g.problems = s.Types.Compile(s.Root, g.Rule, true)
	}
	return g
}

func (g *guard) lint(_ *Type, problem func(below, text, cure string)) {
	namesPermission(g.Permission, func(text, cure string) { problem("/permission", text, cure) })
	if g.Permission == "" && g.Rule == "" {
		problem("", "the step requires nothing", "write the value alone: "+strconv.Quote(g.To))
	}
}

func (g *guard) notes(t *Type) []Note {
	if g.compiled == nil {
		return notesOf(g.problems)
	}
	return undeclared(t, g.compiled)
}

// reads reports whether the rule of the step reads the property at a path.
func (g *guard) reads(path document.Pointer) bool {
	return g.compiled != nil && g.compiled.Reads(path.String())
}

// check returns the faults of a change that makes the step.
func (g *guard) check(ctx context.Context, c *Change) (faults []message.Message, err error) {
	for _, name := range g.names {
		if from, to, changed := c.of(name); !changed || from != any(g.from) || to != any(g.To) {
			continue
		}
		refuse := func(d *message.Definition, params message.Params) {
			params["from"], params["to"] = g.from, g.To
			faults = append(faults, fault(d, "/"+name, params)...)
		}
		if g.Permission != "" && (c.Caller == nil || !slices.Contains(c.Caller().Permissions, g.Permission)) {
			refuse(StepPermission, message.Params{"permission": g.Permission})
		}
		holds, err := g.holds(ctx, c)
		if err != nil {
			return stopped(err, stepRule.Code, "/"+name)
		}
		if !holds {
			refuse(stepRule, message.Params{"rule": g.Rule})
		}
	}
	return faults, nil
}

// holds reports whether the rule of the step holds. One that reads what the schema refuses
// is not evaluated.
func (g *guard) holds(ctx context.Context, c *Change) (bool, error) {
	if g.compiled == nil || slices.ContainsFunc(c.Faulty, g.compiled.Reads) {
		return true, nil
	}
	return g.compiled.Holds(ctx, c.ruleInput())
}
