// Package plan translates queries into MongoDB's terms: their conditions, the index that is
// best for each, and the finds for a page. It imports query, document, store and record. Begin with
// Compile; choice.go and page.go use what it returns.
package plan

import (
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/store"
	"marquee/engine/store/mongo/record"
)

// Compiled is a query whose fields, conditions and position are in MongoDB's
// terms. The stages that follow, planning and paging, only put these together.
type Compiled struct {
	query.Query
	// conditions must all hold. They are those of parts, in the same order.
	conditions bson.A
	parts      []query.Expr
	// order is the path that the query orders by, after its value at the
	// position.
	order string
	after any
}

// Compile translates a query.
func Compile(q query.Query) Compiled {
	c := Compiled{Query: q, order: path(q.Order.Field), parts: query.Conjuncts(q.Where)}
	if q.After != nil {
		c.after = stored(q.Order.Field, q.After.Key)
	}
	for _, e := range c.parts {
		c.conditions = append(c.conditions, Condition(q.Network, e))
	}
	return c
}

// Filter selects the records of the query. It names the network, with which
// every index and the shard key begin.
func (c Compiled) Filter(more ...any) bson.D {
	return filter(c.Network, append(c.conditions[:len(c.conditions):len(c.conditions)], more...))
}

// filter selects the records of a network for which all conditions hold.
func filter(network string, conditions bson.A) bson.D {
	f := bson.D{{Key: record.KeyNetwork, Value: network}}
	if len(conditions) > 0 {
		f = append(f, bson.E{Key: "$and", Value: conditions})
	}
	return f
}

// Condition translates a condition on the records of a network.
func Condition(network string, e query.Expr) bson.D {
	if terms, ok := query.TermsOf(e); ok {
		return onTerms(terms)
	}
	if ranges := query.Ranges(e); ranges != nil {
		return onTerms(ranges...)
	}
	switch e := e.(type) {
	case query.And:
		return join("$and", network, e, bson.D{})
	case query.Or:
		return join("$or", network, e, never)
	case query.Not:
		return not(Condition(network, e.Of))
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
		return closed(e.Field, bson.D{{Key: path(e.Field), Value: bson.D{{Key: "$regex", Value: record.Containing(e.Text)}}}})
	}
	panic(fmt.Sprintf("mongo: unknown condition type %T", e))
}

// never is a condition that no record meets.
var never = bson.D{{Key: record.KeyNetwork, Value: bson.D{{Key: "$in", Value: bson.A{}}}}}

// onTerms is the condition that a record has one of some terms, which are all ordered or
// all not.
func onTerms(of ...query.Terms) bson.D {
	field := record.FieldTerms
	if of[0].Ordered() {
		field = record.FieldOrdered
	}
	values := bson.A{}
	for _, terms := range of {
		for _, value := range terms.Values {
			values = append(values, record.Term(store.Term{Key: terms.Key, Value: asText(value)}))
		}
	}
	switch {
	case of[0].Prefix:
		return bson.D{{Key: field, Value: record.Beginning(values[0].(string))}}
	case len(values) == 1:
		return bson.D{{Key: field, Value: values[0]}}
	}
	return bson.D{{Key: field, Value: bson.D{{Key: "$in", Value: values}}}}
}

func not(of bson.D) bson.D { return bson.D{{Key: "$nor", Value: bson.A{of}}} }

func join(operator, network string, list []query.Expr, none bson.D) bson.D {
	if len(list) == 0 {
		return none
	}
	parts := make(bson.A, len(list))
	for i, e := range list {
		parts[i] = Condition(network, e)
	}
	return bson.D{{Key: operator, Value: parts}}
}

var operators = map[query.Operator]string{
	query.Equal: "$eq", query.Less: "$lt", query.LessOrEqual: "$lte", query.Greater: "$gt", query.GreaterOrEqual: "$gte",
}

func compare(network string, e query.Compare) bson.D {
	switch {
	case e.Op == query.NotEqual:
		return not(Condition(network, query.Compare{Field: e.Field, Op: query.Equal, Value: e.Value}))
	case e.Field.System == query.ID && e.Op == query.Equal:
		return bson.D{{Key: record.FieldID, Value: record.ID(store.Key{Network: network, ID: asText(e.Value)})}}
	}
	return closed(e.Field, bson.D{{Key: path(e.Field), Value: bson.D{{Key: operators[e.Op], Value: stored(e.Field, e.Value)}}}})
}

func in(network string, e query.In) bson.D {
	values, name := make(bson.A, len(e.Values)), path(e.Field)
	if e.Field.System == query.ID {
		name = record.FieldID
		for i, value := range e.Values {
			values[i] = record.ID(store.Key{Network: network, ID: asText(value)})
		}
	} else {
		for i, value := range e.Values {
			values[i] = stored(e.Field, value)
		}
	}
	return closed(e.Field, bson.D{{Key: name, Value: bson.D{{Key: "$in", Value: values}}}})
}

// present lists the types of values other than null.
var present = bson.A{"string", "number", "bool", "object", "date"}

func null(field query.Field) bson.D {
	absent := bson.D{{Key: path(field), Value: nil}}
	if !field.Open {
		return absent
	}
	above := arraysOn(field.Path[:len(field.Path)-1])
	return bson.D{{Key: "$or", Value: append(above, closed(field, absent))}}
}

// closed restricts a condition on an open field to values outside arrays.
// MongoDB looks into arrays on the way to a field, and at its end, whether the
// path has them or not.
func closed(field query.Field, condition bson.D) bson.D {
	if !field.Open || field.Multiple() {
		return condition
	}
	return append(condition, bson.E{Key: "$nor", Value: arraysOn(field.Path)})
}

// arraysOn returns, for each step of a path, the condition that its value is an
// array.
func arraysOn(steps []query.Step) bson.A {
	arrays := make(bson.A, len(steps))
	for i := range steps {
		arrays[i] = bson.D{{Key: path(query.Field{Path: steps[:i+1]}), Value: bson.D{{Key: "$type", Value: "array"}}}}
	}
	return arrays
}

var systemFields = map[query.System]string{
	query.ID: record.KeyID, query.Network: record.KeyNetwork, query.State: record.FieldState, query.CreateTime: record.FieldCreateTime,
	query.UpdateTime: record.FieldUpdateTime, query.CreateUser: record.FieldCreateUser, query.UpdateUser: record.FieldUpdateUser, query.Warnings: record.FieldWarnings,
}

// path is the path of a field in a stored record. MongoDB looks into arrays on
// the way by itself.
func path(field query.Field) string {
	if field.System != query.NotSystem {
		return systemFields[field.System]
	}
	var b strings.Builder
	b.WriteString(record.FieldDocument)
	for _, step := range field.Path {
		b.WriteByte('.')
		b.WriteString(record.Name(step.Name))
	}
	return b.String()
}

// stored converts a value to its stored form: system times are dates.
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

// asText returns a string, or "" for a value of another type.
func asText(value any) string {
	text, _ := value.(string)
	return text
}
