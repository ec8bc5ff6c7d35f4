package sqlite

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"marquee/engine/document"
	"marquee/engine/query"
)

// table and termTable are the tables of a collection. Their names hold only
// the characters of a collection's name.
func table(collection string) string { return "r_" + collection }

func termTable(collection string) string { return "t_" + collection }

// expression is what a field is in SQL. An index is used only where the text
// of the expression is the same, so that it is made here alone.
func expression(field query.Field) string {
	switch field.System {
	case query.ID:
		return "id"
	case query.Network:
		return "network"
	case query.State:
		return "state"
	case query.CreateTime:
		return "create_time"
	case query.UpdateTime:
		return "update_time"
	case query.CreateUser:
		return "create_user"
	case query.UpdateUser:
		return "update_user"
	case query.Warnings:
		return "warnings"
	}
	return "json_extract(doc," + pathLiteral(field.Path) + ")"
}

// pathLiteral is a JSON path as an SQL string literal.
func pathLiteral(path []query.Step) string {
	var b strings.Builder
	b.WriteString("'$")
	for _, step := range path {
		b.WriteByte('.')
		if step.Name != "" && strings.Trim(step.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" {
			b.WriteString(step.Name)
		} else {
			quoted := string(document.AppendString(nil, step.Name))
			b.WriteString(strings.ReplaceAll(quoted, "'", "''"))
		}
	}
	b.WriteByte('\'')
	return b.String()
}

// compiler writes a condition and collects its parameters.
type compiler struct {
	strings.Builder
	collection, network string
	args                []any
}

// where compiles the condition of a plan: its network, and what it asks.
func where(p plan) *compiler {
	c := &compiler{collection: p.Collection, network: p.Network}
	if p.driver >= 0 {
		// SQLite thinks little of a list of rows, and would walk the network
		// instead: the plus keeps it from the indexes, which all begin with it.
		c.WriteByte('+')
	}
	c.WriteString("network=?")
	c.args = append(c.args, p.Network)
	for i, e := range p.conjuncts {
		c.WriteString(" AND ")
		if i == p.driver {
			c.drive(e)
		} else {
			c.expr(e)
		}
	}
	return c
}

// isTerm and areTerms report whether a condition is answered from terms.
func isTerm(e query.Compare) bool {
	_, text := e.Value.(string)
	return text && e.Field.Term != "" && e.Op == query.Equal
}

func areTerms(e query.In) bool {
	return e.Field.Term != "" && !slices.ContainsFunc(e.Values, func(value any) bool { _, text := value.(string); return !text })
}

func (c *compiler) arg(text string, arg any) {
	c.WriteString(text)
	c.args = append(c.args, arg)
}

func (c *compiler) expr(e query.Expr) {
	switch e := e.(type) {
	case query.And:
		c.join(e, " AND ", "1")
	case query.Or:
		c.join(e, " OR ", "0")
	case query.Not:
		c.WriteByte('(')
		c.expr(e.Of)
		c.WriteString(") IS NOT TRUE")
	case query.Compare:
		c.compare(e)
	case query.In:
		c.in(e)
	case query.Null:
		if e.Field.Multiple() {
			c.WriteString("NOT ")
			c.any(e.Field, func(value string) { c.WriteString(value + " IS NOT NULL") })
			return
		}
		c.WriteString(expression(e.Field) + " IS NULL")
	case query.Contains:
		c.any(e.Field, func(value string) {
			c.arg("contains_folded("+comparable(e.Field, value)+",?)", strings.ToLower(e.Text))
		})
	case query.Term:
		c.hasTerm(e)
	default:
		panic(fmt.Sprintf("sqlite: a condition of type %T", e))
	}
}

func (c *compiler) join(list []query.Expr, operator, none string) {
	if len(list) == 0 {
		c.WriteString(none)
		return
	}
	c.WriteByte('(')
	for i, e := range list {
		if i > 0 {
			c.WriteString(operator)
		}
		c.expr(e)
	}
	c.WriteByte(')')
}

var sqlOperators = map[query.Operator]string{
	query.Equal: "=?", query.Less: "<?", query.LessOrEqual: "<=?", query.Greater: ">?", query.GreaterOrEqual: ">=?",
}

func (c *compiler) compare(e query.Compare) {
	if e.Op == query.NotEqual {
		c.expr(query.Not{Of: query.Compare{Field: e.Field, Op: query.Equal, Value: e.Value}})
		return
	}
	if isTerm(e) {
		c.hasTerm(e)
		return
	}
	c.any(e.Field, func(value string) { c.arg(comparable(e.Field, value)+sqlOperators[e.Op], column(e.Field, e.Value)) })
}

func (c *compiler) in(e query.In) {
	if areTerms(e) {
		c.hasTerm(e)
		return
	}
	c.any(e.Field, func(value string) { c.values(comparable(e.Field, value), e) })
}

// comparable is the value of a field as far as it compares. SQLite gives arrays
// and objects as their JSON text, and holds numbers to be less than texts.
func comparable(field query.Field, value string) string {
	if !field.Open || field.Multiple() {
		return value
	}
	return "iif(json_type(doc," + pathLiteral(field.Path) + ")='text'," + value + ",NULL)"
}

// maxListed is how many values of a list are parameters of their own. SQLite
// bounds their number; a longer list is one parameter.
const maxListed = 50

// values writes that what is before is one of the values.
func (c *compiler) values(before string, e query.In) {
	list := make([]any, len(e.Values))
	for i, value := range e.Values {
		list[i] = column(e.Field, value)
	}
	c.WriteString(before + " IN (")
	if len(list) > maxListed {
		c.arg("SELECT value FROM json_each(?))", document.Append(nil, list))
		return
	}
	for i, value := range list {
		if i > 0 {
			c.WriteByte(',')
		}
		c.arg("?", value)
	}
	c.WriteByte(')')
}

// any writes a condition on a field's value: on any item where its path
// crosses arrays.
func (c *compiler) any(field query.Field, condition func(value string)) {
	if !field.Multiple() {
		condition(expression(field))
		return
	}
	source, depth := "doc", 0
	var pending []query.Step
	for _, step := range field.Path {
		pending = append(pending, step)
		if step.Array {
			fmt.Fprintf(c, "EXISTS(SELECT 1 FROM json_each(%s,%s) AS e%d WHERE ", source, pathLiteral(pending), depth)
			// Only the text of an object is JSON; another item has no members.
			source = fmt.Sprintf("iif(e%[1]d.type='object',e%[1]d.value,'{}')", depth)
			depth, pending = depth+1, nil
		}
	}
	if len(pending) > 0 {
		source = "json_extract(" + source + "," + pathLiteral(pending) + ")"
	} else {
		source = fmt.Sprintf("e%d.value", depth-1)
	}
	condition(source)
	c.WriteString(strings.Repeat(")", depth))
}

// column is a value as its column holds it: system times are milliseconds.
func column(field query.Field, value any) any {
	if field.System != query.NotSystem && field.Kind == query.Time {
		if text, ok := value.(string); ok {
			if t, err := time.Parse(document.TimeLayout, text); err == nil {
				return t.UnixMilli()
			}
		}
	}
	return value
}
