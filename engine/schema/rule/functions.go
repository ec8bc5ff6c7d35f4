package rule

import (
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// functions are those that rules can call besides the standard ones. Their names and
// meanings are those of the libraries of Kubernetes and of cel-go.
func functions() []cel.EnvOption {
	options := []cel.EnvOption{
		onText("lowerAscii", func(s string) ref.Val { return types.String(mapASCII(s, 'A', 'Z', 'a'-'A')) }),
		onText("upperAscii", func(s string) ref.Val { return types.String(mapASCII(s, 'a', 'z', 'A'-'a')) }),
		onText("trim", func(s string) ref.Val { return types.String(strings.TrimSpace(s)) }),
		cel.Function("indexOf", cel.MemberOverload("string_index_of_string", []*cel.Type{cel.StringType, cel.StringType}, cel.IntType,
			cel.BinaryBinding(func(s, part ref.Val) ref.Val { return indexOf(string(s.(types.String)), string(part.(types.String))) }))),
		cel.Function("substring",
			cel.MemberOverload("string_substring_int", []*cel.Type{cel.StringType, cel.IntType}, cel.StringType,
				cel.BinaryBinding(func(s, from ref.Val) ref.Val { return substring(string(s.(types.String)), from.(types.Int), -1) })),
			cel.MemberOverload("string_substring_int_int", []*cel.Type{cel.StringType, cel.IntType, cel.IntType}, cel.StringType,
				cel.FunctionBinding(func(args ...ref.Val) ref.Val {
					return substring(string(args[0].(types.String)), args[1].(types.Int), args[2].(types.Int))
				}))),
	}
	ordered := []*cel.Type{cel.IntType, cel.DoubleType, cel.StringType, cel.TimestampType, cel.DurationType}
	options = append(options,
		onList("sum", []*cel.Type{cel.IntType, cel.DoubleType, cel.DurationType}, func(t *cel.Type) *cel.Type { return t }, sum),
		onList("min", ordered, func(t *cel.Type) *cel.Type { return t }, func(l traits.Lister) ref.Val { return extreme(l, types.IntNegOne) }),
		onList("max", ordered, func(t *cel.Type) *cel.Type { return t }, func(l traits.Lister) ref.Val { return extreme(l, types.IntOne) }),
		onList("isSorted", ordered, func(*cel.Type) *cel.Type { return cel.BoolType }, isSorted),
		onList("isUnique", append([]*cel.Type{cel.BoolType}, ordered...), func(*cel.Type) *cel.Type { return cel.BoolType }, isUnique))
	return options
}

func onText(name string, of func(string) ref.Val) cel.EnvOption {
	return cel.Function(name, cel.MemberOverload("string_"+name, []*cel.Type{cel.StringType}, cel.StringType,
		cel.UnaryBinding(func(s ref.Val) ref.Val { return of(string(s.(types.String))) })))
}

// onList declares a function of lists of each of some types.
func onList(name string, elements []*cel.Type, result func(*cel.Type) *cel.Type, of func(traits.Lister) ref.Val) cel.EnvOption {
	var overloads []cel.FunctionOpt
	for _, element := range elements {
		overloads = append(overloads, cel.MemberOverload("list_"+element.TypeName()+"_"+name, []*cel.Type{cel.ListType(element)}, result(element),
			cel.UnaryBinding(func(l ref.Val) ref.Val { return of(l.(traits.Lister)) })))
	}
	return cel.Function(name, overloads...)
}

// mapASCII moves the characters of a range.
func mapASCII(s string, from, to rune, by rune) string {
	return strings.Map(func(r rune) rune {
		if r >= from && r <= to {
			return r + by
		}
		return r
	}, s)
}

func indexOf(s, part string) ref.Val {
	i := strings.Index(s, part)
	if i < 0 {
		return types.IntNegOne
	}
	return types.Int(utf8.RuneCountInString(s[:i]))
}

// substring returns the characters from one to before another, -1 for the end.
func substring(s string, from, to types.Int) ref.Val {
	runes := []rune(s)
	if to == -1 {
		to = types.Int(len(runes))
	}
	if from < 0 || from > to || to > types.Int(len(runes)) {
		return types.NewErr("the text has no characters %d to %d", from, to)
	}
	return types.String(runes[from:to])
}

// sum returns the sum of a list. The result of an empty one is the integer 0, as the list
// itself does not know its type.
func sum(l traits.Lister) ref.Val {
	var total ref.Val
	for it := l.Iterator(); it.HasNext() == types.True; {
		next := it.Next()
		if total == nil {
			total = next
			continue
		}
		adder, ok := total.(traits.Adder)
		if !ok {
			return types.NewErr("the items cannot be added")
		}
		if total = adder.Add(next); types.IsError(total) {
			return total
		}
	}
	if total == nil {
		return types.IntZero
	}
	return total
}

// extreme returns the least or the greatest item.
func extreme(l traits.Lister, order types.Int) ref.Val {
	var found ref.Val
	for it := l.Iterator(); it.HasNext() == types.True; {
		next := it.Next()
		if found == nil {
			found = next
			continue
		}
		switch compared := compare(next, found); {
		case types.IsError(compared):
			return compared
		case compared == order:
			found = next
		}
	}
	if found == nil {
		return types.NewErr("the list is empty")
	}
	return found
}

func isSorted(l traits.Lister) ref.Val {
	var last ref.Val
	for it := l.Iterator(); it.HasNext() == types.True; {
		next := it.Next()
		if last != nil {
			switch compared := compare(last, next); {
			case types.IsError(compared):
				return compared
			case compared == types.IntOne:
				return types.False
			}
		}
		last = next
	}
	return types.True
}

// isUnique reports whether no two items are equal.
func isUnique(l traits.Lister) ref.Val {
	seen := map[any]bool{}
	for it := l.Iterator(); it.HasNext() == types.True; {
		var key any = it.Next()
		switch v := key.(type) {
		case types.Timestamp:
			key = v.UnixNano()
		case types.Int, types.Double, types.String, types.Bool, types.Duration:
		default:
			return types.NewErr("the items cannot be compared")
		}
		if seen[key] {
			return types.False
		}
		seen[key] = true
	}
	return types.True
}

func compare(a, b ref.Val) ref.Val {
	comparer, ok := a.(traits.Comparer)
	if !ok {
		return types.NewErr("the items cannot be compared")
	}
	return comparer.Compare(b)
}
