package mongo

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/store"
)

// never is a condition that nothing meets.
var never = bson.D{{Key: keyNetwork, Value: bson.D{{Key: "$in", Value: bson.A{}}}}}

// filter is the condition of a query. It names the network, which is the
// beginning of every index and of the shard key.
func filter(q query.Query, more ...bson.D) bson.D {
	all := bson.A{}
	for _, e := range conjuncts(q.Where) {
		all = append(all, condition(q.Network, e))
	}
	for _, condition := range more {
		if condition != nil {
			all = append(all, condition)
		}
	}
	f := bson.D{{Key: keyNetwork, Value: q.Network}}
	if len(all) > 0 {
		f = append(f, bson.E{Key: "$and", Value: all})
	}
	return f
}

// conjuncts are the conditions that must all hold.
func conjuncts(e query.Expr) []query.Expr {
	switch e := e.(type) {
	case nil:
		return nil
	case query.And:
		var all []query.Expr
		for _, part := range e {
			all = append(all, conjuncts(part)...)
		}
		return all
	}
	return []query.Expr{e}
}

func condition(network string, e query.Expr) bson.D {
	switch e := e.(type) {
	case query.And:
		return join("$and", network, e, bson.D{})
	case query.Or:
		return join("$or", network, e, never)
	case query.Not:
		return not(condition(network, e.Of))
	case query.Compare:
		return compare(network, e)
	case query.In:
		return in(network, e)
	case query.Null:
		if e.Field.Multiple() {
			return not(bson.D{{Key: path(e.Field), Value: bson.D{{Key: "$type", Value: present}}}})
		}
		return null(e.Field)
	case query.Contains:
		return open(e.Field, bson.D{{Key: path(e.Field), Value: bson.D{{Key: "$regex", Value: containing(e.Text)}}}})
	case query.Term:
		if e.Prefix {
			return bson.D{{Key: fieldTerms, Value: beginning(termText(store.Term{Key: e.Key, Value: e.Value}))}}
		}
		return bson.D{{Key: fieldTerms, Value: termText(store.Term{Key: e.Key, Value: e.Value})}}
	}
	panic(fmt.Sprintf("mongo: a condition of type %T", e))
}

// open is a condition on a field. MongoDB crosses arrays on the way to it, and
// at its end, whether the path knows of them or not: in one that is open it
// must not.
func open(field query.Field, condition bson.D) bson.D {
	if !field.Open || field.Multiple() {
		return condition
	}
	return append(condition, bson.E{Key: "$nor", Value: arraysOn(field.Path)})
}

// arraysOn says, of each step of a path, that an array is there.
func arraysOn(steps []query.Step) bson.A {
	arrays := make(bson.A, len(steps))
	for i := range steps {
		arrays[i] = bson.D{{Key: path(query.Field{Path: steps[:i+1]}), Value: bson.D{{Key: "$type", Value: "array"}}}}
	}
	return arrays
}

func null(field query.Field) bson.D {
	absent := bson.D{{Key: path(field), Value: nil}}
	if !field.Open {
		return absent
	}
	above := arraysOn(field.Path[:len(field.Path)-1])
	return bson.D{{Key: "$or", Value: append(above, open(field, absent))}}
}

// present are the types of values that are there, as an item or by themselves.
var present = bson.A{"string", "number", "bool", "object", "date"}

func not(of bson.D) bson.D { return bson.D{{Key: "$nor", Value: bson.A{of}}} }

func join(operator, network string, list []query.Expr, none bson.D) bson.D {
	if len(list) == 0 {
		return none
	}
	parts := make(bson.A, len(list))
	for i, e := range list {
		parts[i] = condition(network, e)
	}
	return bson.D{{Key: operator, Value: parts}}
}

var operators = map[query.Operator]string{
	query.Equal: "$eq", query.Less: "$lt", query.LessOrEqual: "$lte", query.Greater: "$gt", query.GreaterOrEqual: "$gte",
}

func compare(network string, e query.Compare) bson.D {
	switch {
	case e.Op == query.NotEqual:
		return not(compare(network, query.Compare{Field: e.Field, Op: query.Equal, Value: e.Value}))
	case isTerm(e):
		return bson.D{{Key: fieldTerms, Value: termText(store.Term{Key: e.Field.Term, Value: e.Value.(string)})}}
	case e.Field.System == query.ID && e.Op == query.Equal:
		return bson.D{{Key: fieldID, Value: idOf(store.Key{Network: network, ID: asText(e.Value)})}}
	}
	return open(e.Field, bson.D{{Key: path(e.Field), Value: bson.D{{Key: operators[e.Op], Value: stored(e.Field, e.Value)}}}})
}

func in(network string, e query.In) bson.D {
	values, name := make(bson.A, len(e.Values)), path(e.Field)
	switch {
	case areTerms(e):
		name = fieldTerms
		for i, value := range e.Values {
			values[i] = termText(store.Term{Key: e.Field.Term, Value: value.(string)})
		}
	case e.Field.System == query.ID:
		name = fieldID
		for i, value := range e.Values {
			values[i] = idOf(store.Key{Network: network, ID: asText(value)})
		}
	default:
		for i, value := range e.Values {
			values[i] = stored(e.Field, value)
		}
	}
	return open(e.Field, bson.D{{Key: name, Value: bson.D{{Key: "$in", Value: values}}}})
}

// asText is an id; what is no text is none.
func asText(value any) string {
	text, _ := value.(string)
	return text
}

// isTerm and areTerms report whether a condition is answered from terms.
func isTerm(e query.Compare) bool {
	_, text := e.Value.(string)
	return text && e.Field.Term != "" && e.Op == query.Equal
}

func areTerms(e query.In) bool {
	for _, value := range e.Values {
		if _, text := value.(string); !text {
			return false
		}
	}
	return e.Field.Term != ""
}

// stored is a value as it is stored: system times are dates.
func stored(field query.Field, value any) any {
	if field.System != query.NotSystem && field.Kind == query.Time {
		if text, ok := value.(string); ok {
			if t, err := time.Parse(document.TimeLayout, text); err == nil {
				return bson.NewDateTimeFromTime(t)
			}
		}
	}
	return value
}

// beginning is an anchored expression, which is a range of an index.
func beginning(text string) bson.Regex { return bson.Regex{Pattern: "^" + quote(text)} }

// quote is a pattern for a text. No BSON pattern has a zero byte in it.
func quote(text string) string { return strings.ReplaceAll(regexp.QuoteMeta(text), "\x00", `\x00`) }

// containing is an expression for a text of which the letters may be of either
// case. The cases are written out, as MongoDB's own idea of them differs from
// strings.ToLower, by which package query defines them.
func containing(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		if upper := uppers()[r]; upper != "" {
			b.WriteByte('[')
			b.WriteRune(r)
			b.WriteString(upper)
			b.WriteByte(']')
		} else {
			b.WriteString(quote(string(r)))
		}
	}
	return b.String()
}

// uppers are, for each letter, those of which it is the lower case.
var uppers = sync.OnceValue(func() map[rune]string {
	all := map[rune]string{}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if lower := unicode.ToLower(r); lower != r {
			all[lower] += string(r)
		}
	}
	return all
})
