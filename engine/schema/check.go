package schema

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema/keyword"
	"marquee/engine/schema/validation"
)

// check judges a change by one rule, or by one keyword of a property; then rule is nil.
type check struct {
	rule  *keyword.Rule
	judge func(context.Context, *keyword.Change) ([]message.Message, error)
}

// guard lists what changes of objects are checked for.
func (t *Type) guard() {
	names := slices.Sorted(maps.Keys(t.Shape.Properties))
	for _, k := range keyword.All() {
		for _, rule := range t.Rules {
			if rule.Keyword == k && rule.Check != nil {
				t.checks = append(t.checks, check{rule, rule.Check})
			}
		}
		if k.Check == nil {
			continue
		}
		for _, name := range names {
			p := keyword.Guarded{Name: name, Shape: t.Shape.Properties[name]}
			if k.Has(p.Shape) {
				t.checks = append(t.checks, check{judge: func(_ context.Context, c *keyword.Change) ([]message.Message, error) { return k.Check(p, c), nil }})
			}
		}
	}
}

// Check returns the faults of a change by the keywords of the type, and adds those of what
// the stored object has, too, to c.Kept. The error is that of the context.
func (t *Type) Check(ctx context.Context, c *keyword.Change) (faults []message.Message, err error) {
	if t.served != nil {
		judged := t.judged(c)
		faults, err = t.served.Check(ctx, judged)
		c.Kept = t.storedFaults(judged.Kept)
		return t.storedFaults(faults), err
	}
	for _, check := range t.checks {
		found, err := check.judge(ctx, c)
		if err != nil {
			return nil, err
		}
		if t.concealed[check.rule] {
			for i, fault := range found {
				if fault.Definition() == keyword.StepPermission {
					continue
				}
				found[i] = keyword.Unseen.With(message.Params{"field": fault.Param("field")})
			}
		}
		faults = append(faults, found...)
	}
	return faults, nil
}

// Warnings returns the warnings that an object in a state is stored with. The error is
// that of the context.
func (t *Type) Warnings(ctx context.Context, object map[string]any, state string) (warnings []message.Message, err error) {
	if t.served != nil {
		warnings, err = t.served.Warnings(ctx, t.ServedObject(object), state)
		return t.storedFaults(warnings), err
	}
	for _, rule := range t.Rules {
		if rule.Warns == nil {
			continue
		}
		warns, err := rule.Warns(ctx, object, state)
		if err != nil {
			return nil, err
		}
		if warns {
			warnings = append(warnings, rule.Warning)
		}
	}
	return warnings, nil
}

// condition returns the condition that an object meets a schema.
func condition(when *jsonschema.Schema) keyword.Condition {
	return func(ctx context.Context, object map[string]any, state string) (bool, error) {
		return meets(ctx, when, object, state)
	}
}

// meets reports whether an object in a state meets a condition. If that takes too long to
// evaluate, the error is of kind Invalid.
func meets(ctx context.Context, when *jsonschema.Schema, object map[string]any, state string) (bool, error) {
	object["objectState"] = state
	is, err := validation.Accepts(ctx, when, object)
	delete(object, "objectState")
	if errors.Is(err, validation.ErrTooComplex) {
		err = message.ObjectTooComplex.Error(message.Params{"field": "", "limit": validation.MaxSteps})
	}
	return is, err
}

// ValidateStored is Validate for an object in a state without the faults of MayLack.
func (t *Type) ValidateStored(ctx context.Context, object map[string]any, state string) ([]message.Message, error) {
	faults, err := t.Validate(ctx, object)
	return slices.DeleteFunc(faults, func(fault message.Message) bool { return t.MayLack(state, fault) }), err
}

// MayLack reports whether an object in a state may have a fault that Validate returns: one
// that is HIDDEN may lack required values that are personal, as it may have been erased.
func (t *Type) MayLack(state string, fault message.Message) bool {
	if state != "HIDDEN" || fault.Definition() != message.PropertyRequired {
		return false
	}
	field, _ := fault.Param("field").(string)
	return t.Shape.IsPersonal(field)
}

// Validate returns the errors of a stored document, sorted by params.field and at
// most as many as a response lists. If explaining them would take too long, the
// only one is ObjectTooComplex. The error is that of the context.
func (t *Type) Validate(ctx context.Context, object map[string]any) ([]message.Message, error) {
	faults, _, err := t.ValidateChange(ctx, object, nil, nil)
	return faults, err
}

// ValidateChange is Validate for a document that replaces another one, if that is not nil.
// Faults of what both have in common are not among the faults, but kept. Repeated are faults
// of arrays with equal items, which it does not look for.
func (t *Type) ValidateChange(ctx context.Context, object, stored map[string]any, repeated []message.Message) (faults, kept []message.Message, err error) {
	if t.served != nil {
		served := make([]message.Message, len(repeated))
		for i, fault := range repeated {
			served[i] = fault.Definition().With(renamedParams(fault.Params(), inPlaceOf(t.renamed.served)))
		}
		faults, kept, err = t.served.ValidateChange(ctx, t.ServedObject(object), t.ServedObject(stored), served)
		return t.storedFaults(faults), t.storedFaults(kept), err
	}
	t.Shape.Unsealable(object, func(at document.Pointer) {
		if len(faults) == message.MaxFaults {
			return
		}
		faults = append(faults, message.ValueType.With(message.Params{"field": at.String(), "expected": "string"}))
	})
	return t.rules.Validate(ctx, t.Name, object, stored, append(faults, repeated...))
}
