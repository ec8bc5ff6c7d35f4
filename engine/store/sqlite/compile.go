package sqlite

import (
	"fmt"
	"strings"
	"time"

	"marquee/engine/document"
	"marquee/engine/query"
)

// compiled is a query whose fields, conditions and position are in SQL. The
// stages that follow, planning and paging, only put these pieces together.
type compiled struct {
	query.Query
	// conditions must all hold.
	conditions []condition
	// order is the expression that the query orders by, after its value at the
	// position.
	order string
	after any
}

// condition is one of the conditions of a query that must all hold.
type condition struct {
	clause
	// terms selects the rows of the table of terms that meet the condition; it
	// is empty when the condition is not on terms.
	terms clause
	// read is the same condition on the document, for a plan that reads few records;
	// it is empty where there is none.
	read clause
	// prefix reports whether the condition is on the prefix of a term, property
	// whether it compares a property, which may have an index of its own.
	prefix, property bool
	// ordered are the terms of a condition on ordered terms, nil for another one; multiple
	// reports whether a record may have several of these.
	ordered  []query.Terms
	multiple bool
	// byID reports whether the condition names records by id, onState whether it is
	// on the state alone.
	byID, onState bool
}

// clause is a part of a statement with its parameters.
type clause struct {
	sql  string
	args []any
}

// compile translates a query.
func compile(q query.Query) compiled {
	c := compiled{Query: q, order: expression(q.Order.Field)}
	if q.After != nil {
		c.after = column(q.Order.Field, q.After.Key)
	}
	for _, e := range query.Conjuncts(q.Where) {
		c.conditions = append(c.conditions, compileCondition(q, e))
	}
	return c
}

func compileCondition(q query.Query, e query.Expr) condition {
	w := &compiler{collection: q.Collection, network: q.Network}
	if ranges := query.Ranges(e); ranges != nil {
		w.expr(e)
		rows := &compiler{network: q.Network}
		for i, terms := range ranges {
			rows.WriteString([]string{" FROM (", " UNION ALL "}[min(i, 1)])
			rows.WriteString("SELECT o_record AS record FROM " + orderedTable(q.Collection) + " WHERE ")
			rows.orderedRange(terms)
		}
		rows.WriteByte(')')
		return condition{clause: w.clause(), terms: rows.clause(), ordered: ranges, multiple: len(ranges) > 1 || severalTerms(e)}
	}
	if terms, byTerms := query.TermsOf(e); byTerms {
		rows := w.termRows(terms)
		of := condition{clause: hasTerm(rows, terms.Prefix), terms: rows, prefix: terms.Prefix}
		if term, _ := e.(query.Term); of.prefix && len(term.Searched) > 0 {
			of.read = wordIn(term)
		}
		return of
	}
	w.expr(e)
	_, onState := query.StateFilter(e)
	return condition{clause: w.clause(), property: comparesProperty(e), byID: query.NamesIDs(e), onState: onState}
}

// severalTerms reports whether a record may have several values of the field of a
// condition.
func severalTerms(e query.Expr) bool {
	in, ok := e.(query.In)
	return ok && in.Field.Multiple() && len(in.Values) > 1
}

func comparesProperty(e query.Expr) bool {
	switch e := e.(type) {
	case query.Compare:
		return e.Field.System == query.NotSystem
	case query.In:
		return e.Field.System == query.NotSystem
	}
	return false
}

// hasTerm holds for the records that have one of the terms. They are looked up
// for each record, except by a prefix, for which that would walk all terms with
// the prefix.
func hasTerm(terms clause, prefix bool) clause {
	if prefix {
		return amongTerms(terms)
	}
	return clause{"EXISTS(SELECT 1" + terms.sql + " AND record=seq)", terms.args}
}

// amongTerms holds for the records that have one of the terms, which are
// listed first.
func amongTerms(terms clause) clause {
	return clause{"seq IN (SELECT record" + terms.sql + ")", terms.args}
}

// compiler writes a condition and collects its parameters.
type compiler struct {
	strings.Builder
	collection, network string
	args                []any
}

func (c *compiler) clause() clause { return clause{c.String(), c.args} }

func (c *compiler) add(part clause) { c.arg(part.sql, part.args...) }

func (c *compiler) arg(text string, args ...any) {
	c.WriteString(text)
	c.args = append(c.args, args...)
}

func (c *compiler) expr(e query.Expr) {
	switch terms, byTerms := query.TermsOf(e); {
	case byTerms && terms.Ordered():
		c.arg("EXISTS(SELECT 1 FROM "+orderedTable(c.collection)+" WHERE o_record=seq AND o_key="+termKey+" AND o_value ", terms.Key, c.network)
		c.oneOf(terms.Values)
		c.WriteByte(')')
		return
	case byTerms:
		c.add(hasTerm(c.termRows(terms), terms.Prefix))
		return
	}
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
		c.any(e.Field, func(value string) { c.values(comparable(e.Field, value), e) })
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
	default:
		panic(fmt.Sprintf("sqlite: unknown condition type %T", e))
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
	c.any(e.Field, func(value string) {
		value = comparable(e.Field, value)
		c.arg(value+sqlOperators[e.Op], column(e.Field, e.Value))
		c.WriteString(sameKind(e, value))
	})
}

// sameKind excludes values of another kind from a range, because in SQLite
// numbers are less than strings. As a bound, it stays a range of an index.
func sameKind(e query.Compare, value string) string {
	if e.Field.System != query.NotSystem {
		return ""
	}
	_, text := e.Value.(string)
	switch {
	case !text && (e.Op == query.Greater || e.Op == query.GreaterOrEqual):
		return " AND " + value + "<''"
	case text && (e.Op == query.Less || e.Op == query.LessOrEqual):
		return " AND " + value + ">=''"
	}
	return ""
}

// termRows selects the rows of terms.
func (c *compiler) termRows(terms query.Terms) clause {
	w := &compiler{}
	w.arg(" FROM "+termTable(c.collection)+" WHERE key="+termKey, terms.Key, c.network)
	switch {
	case terms.Prefix:
		w.arg(" AND value>=?", terms.Values[0])
		w.arg(" AND value<?", terms.Values[0].(string)+"\xff") // no UTF-8 text has this byte
	case len(terms.Values) == 1:
		w.arg(" AND value=?", terms.Values[0])
	default:
		w.WriteString(" AND value ")
		w.oneOf(terms.Values)
	}
	return w.clause()
}

// maxListed is the maximum number of values that become parameters of their
// own. SQLite limits the number of parameters; a longer list is one parameter.
const maxListed = 50

// values compares an expression with a list of values.
func (c *compiler) values(expression string, e query.In) {
	list := make([]any, len(e.Values))
	for i, value := range e.Values {
		list[i] = column(e.Field, value)
	}
	c.WriteString(expression + " ")
	c.oneOf(list)
}

// oneOf writes the comparison of the preceding expression with a list of values.
func (c *compiler) oneOf(list []any) {
	c.WriteString("IN (")
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

// any writes a condition on the value of a field, or on any item where the path
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
			// The value of an item that is no object is not JSON text.
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

// comparable restricts an open field to its strings: json_extract returns
// arrays and objects as their JSON text, and numbers sort before strings.
func comparable(field query.Field, value string) string {
	if !field.Open || field.Multiple() {
		return value
	}
	return "iif(json_type(doc," + pathLiteral(field.Path) + ")='text'," + value + ",NULL)"
}

// expression is a field in SQL. SQLite uses an index on an expression only
// where the text is the same, so all statements take it from here.
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

// column converts a value to the form of its column: system times are stored
// as milliseconds.
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
