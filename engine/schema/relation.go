package schema

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

// Holds reports whether the relation holds. Known is false if a side is not set or
// the sides cannot be compared.
func (r *Relation) Holds(object map[string]any) (holds, known bool) {
	order, known := compareValues(side(object, r.Left), side(object, r.Right))
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

// compareValues compares two numbers, or two strings such as stored times.
func compareValues(a, b any) (order int, comparable bool) {
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
