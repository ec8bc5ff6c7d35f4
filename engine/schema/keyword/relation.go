package keyword

import (
	"math/big"
	"strconv"
	"strings"
)

// Relation compares two sides, each a property of an object or the product of
// several.
type Relation struct {
	Left, Right []string
	// Op is <, <=, >, >= or =.
	Op string
}

func relationOf(members map[string]any) Relation {
	r := Relation{Left: Strings(members["left"]), Right: Strings(members["right"])}
	r.Op, _ = members["op"].(string)
	return r
}

// Holds reports whether the relation holds. Known is false if a side is not set or
// the sides cannot be compared.
func (r *Relation) Holds(object map[string]any) (holds, known bool) {
	order, known := CompareValues(side(object, r.Left), side(object, r.Right))
	switch r.Op {
	case "<":
		holds = order < 0
	case "<=":
		holds = order <= 0
	case ">":
		holds = order > 0
	case ">=":
		holds = order >= 0
	default:
		holds = order == 0
	}
	return known && holds, known
}

// side returns the value of one property, or the product of several as a *big.Rat;
// nil if one of them is not a number.
func side(object map[string]any, properties []string) any {
	if len(properties) == 1 {
		return object[properties[0]]
	}
	product := big.NewRat(1, 1)
	for _, name := range properties {
		factor, ok := exact(object[name])
		if !ok {
			return nil
		}
		product.Mul(product, factor)
	}
	return product
}

// CompareValues compares two numbers, or two strings such as stored times.
func CompareValues(a, b any) (order int, comparable bool) {
	if x, ok := exact(a); ok {
		y, ok := exact(b)
		if !ok {
			return 0, false
		}
		return x.Cmp(y), true
	}
	x, xok := a.(string)
	y, yok := b.(string)
	return strings.Compare(x, y), xok && yok
}

// exact returns the decimal number of the JSON text: three times 0.1 is 0.3.
func exact(value any) (*big.Rat, bool) {
	switch n := value.(type) {
	case int64:
		return new(big.Rat).SetInt64(n), true
	case float64:
		return new(big.Rat).SetString(strconv.FormatFloat(n, 'g', -1, 64))
	case *big.Rat:
		return n, true
	}
	return nil, false
}

// lint checks that the two sides of a relation of a rule can be computed and compared.
func (r *Relation) lint(t *Type, rule string, problem func(below, text, cure string)) {
	left, right := t.side("/left", rule, r.Left, problem), t.side("/right", rule, r.Right, problem)
	if left != "" && right != "" && left != right {
		problem("", "a "+left+" and a "+right+" cannot be compared", "name properties of one kind")
	}
}

// side returns the kind of a side of a relation, or "" after a problem.
func (t *Type) side(below, rule string, names []string, problem func(below, text, cure string)) string {
	kind := ""
	for _, name := range names {
		if t.Uncertain(name) {
			return ""
		}
		member := t.Shape.Properties[name]
		wrong := ""
		switch {
		case t.Common(name) && member == nil:
			wrong = name + " is a common field"
		case member == nil && strings.Contains(name, "."):
			wrong = name + " is not a top-level property"
		case member == nil:
			wrong = "there is no property " + name
		case member.Secret, member.WriteOnly, member.Derived:
			wrong = name + " is not stored in plain text"
		case member.Is("number"), member.Is("integer"):
			kind = "number"
		case member.Is("string") && member.Ref == nil && len(names) == 1:
			kind = "text"
		case len(names) > 1:
			wrong = name + " is not a number, and only numbers can be multiplied"
		default:
			wrong = name + " is neither a number nor a string"
		}
		if wrong != "" {
			problem(below, wrong, rule+" supports top-level properties that are numbers or strings")
			return ""
		}
	}
	return kind
}
