package rule

import (
	"maps"
	"slices"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// base returns what all rules have in common: the functions that they can call, and the
// variables now and caller.
var base = sync.OnceValue(func() *cel.Env {
	e, err := cel.NewCustomEnv(append([]cel.EnvOption{
		cel.StdLib(cel.StdLibSubset(&env.LibrarySubset{ExcludeFunctions: excluded()})),
		cel.OptionalTypes(),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.EnableIdentifierEscapeSyntax(),
		cel.ParserExpressionSizeLimit(MaxText),
		cel.ParserRecursionLimit(100),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateRegexLiterals()),
		cel.Variable("now", types.TimestampType),
		cel.Variable("caller", callerForm.cel),
	}, functions()...)...)
	if err != nil {
		panic("rule: " + err.Error())
	}
	return e
})

// excluded are the functions of the standard that rules do without: those on bytes and
// unsigned integers, which documents do not have, those on types, and those that read the
// database of time zones.
func excluded() (list []*env.Function) {
	for _, name := range []string{overloads.TypeConvertType, overloads.TypeConvertBytes, overloads.TypeConvertUint, overloads.TypeConvertDyn} {
		list = append(list, env.NewFunction(name))
	}
	for name, id := range map[string]string{
		overloads.TimeGetFullYear:     overloads.TimestampToYearWithTz,
		overloads.TimeGetMonth:        overloads.TimestampToMonthWithTz,
		overloads.TimeGetDayOfYear:    overloads.TimestampToDayOfYearWithTz,
		overloads.TimeGetDayOfMonth:   overloads.TimestampToDayOfMonthZeroBasedWithTz,
		overloads.TimeGetDate:         overloads.TimestampToDayOfMonthOneBasedWithTz,
		overloads.TimeGetDayOfWeek:    overloads.TimestampToDayOfWeekWithTz,
		overloads.TimeGetHours:        overloads.TimestampToHoursWithTz,
		overloads.TimeGetMinutes:      overloads.TimestampToMinutesWithTz,
		overloads.TimeGetSeconds:      overloads.TimestampToSecondsWithTz,
		overloads.TimeGetMilliseconds: overloads.TimestampToMillisecondsWithTz,
	} {
		function := env.NewFunction(name)
		function.Overloads = []*env.Overload{{ID: id}}
		list = append(list, function)
	}
	return list
}

// environment compiles the rules of objects of one form.
type environment struct {
	*cel.Env
	self *form
}

// environment returns the one of a form.
func (t *Types) environment(self *form) (*environment, error) {
	if known := t.envs[self]; known != nil {
		return known, nil
	}
	e, err := base().Extend(cel.CustomTypeProvider(t), cel.CustomTypeAdapter(anyForm),
		cel.Variable("self", self.cel), cel.Variable("oldSelf", self.cel))
	if err != nil {
		return nil, err
	}
	t.envs[self] = &environment{e, self}
	return t.envs[self], nil
}

// EnumValue implements types.Provider.
func (t *Types) EnumValue(name string) ref.Val { return types.NewErr("there is no %s", name) }

// FindIdent implements types.Provider.
func (t *Types) FindIdent(string) (ref.Val, bool) { return nil, false }

// FindStructType implements types.Provider.
func (t *Types) FindStructType(name string) (*types.Type, bool) {
	if f := t.named[name]; f != nil {
		return types.NewTypeTypeWithParam(f.cel), true
	}
	return nil, false
}

// FindStructFieldNames implements types.Provider.
func (t *Types) FindStructFieldNames(name string) ([]string, bool) {
	f := t.named[name]
	if f == nil {
		return nil, false
	}
	return slices.Collect(maps.Keys(f.members)), true
}

// FindStructFieldType implements types.Provider. It notes why a member that the schema
// declares cannot be read.
func (t *Types) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	f := t.named[name]
	if f == nil {
		return nil, false
	}
	m := f.members[field]
	if m == nil {
		if reason := f.hidden[field]; reason != "" {
			t.refused[field] = reason
		}
		return nil, false
	}
	return m.field, true
}

// NewValue implements types.Provider.
func (t *Types) NewValue(name string, _ map[string]ref.Val) ref.Val {
	return types.NewErr("a rule cannot make an %s", name)
}
