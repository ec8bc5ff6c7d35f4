// Package query is the small syntax tree into which the list parameters and
// `where` are read, and which each store translates for itself.
package query

// Kind is the type of a field's values.
type Kind int

// The kinds of values that can be compared.
const (
	String Kind = iota
	Number
	Boolean
	// Time values are strings in document.TimeLayout.
	Time
	// Object values can be tested for null only.
	Object
)

// Step is one member on the way to a field. Array says that its value is an
// array, of which any item counts.
type Step struct {
	Name  string
	Array bool
}

// System is a field that a store keeps beside the document.
type System int

// The system fields. NotSystem is a field of the document.
const (
	NotSystem System = iota
	ID
	Network
	State
	CreateTime
	UpdateTime
	CreateUser
	UpdateUser
	Warnings
)

// Field is a field that a query names.
type Field struct {
	System System
	// Path leads to a field of the document.
	Path []Step
	Kind Kind
	// Open says that the schema tells nothing of the value, which may be of any
	// kind, also below arrays that Path does not know of. Only texts compare.
	Open bool
	// Term is the key of a multi-valued field whose values are kept as terms,
	// so that an equality is answered from an index.
	Term string
}

// Multiple reports whether the path crosses an array.
func (f Field) Multiple() bool {
	for _, step := range f.Path {
		if step.Array {
			return true
		}
	}
	return false
}

// Operator compares a field with a value.
type Operator int

// The operators. NotEqual is the negation of Equal: on an array no item is
// equal, and an absent value is not equal.
const (
	Equal Operator = iota
	NotEqual
	Less
	LessOrEqual
	Greater
	GreaterOrEqual
)

// Expr is a condition.
type Expr interface{ expr() }

// And holds when all hold; an empty And always holds.
type And []Expr

// Or holds when any holds; an empty Or never holds.
type Or []Expr

// Not negates.
type Not struct{ Of Expr }

// Compare holds when any of the field's values compares so with the value: a
// string, int64, float64 or bool.
type Compare struct {
	Field Field
	Op    Operator
	Value any
}

// In holds when any of the field's values is one of Values.
type In struct {
	Field  Field
	Values []any
}

// Null holds when the field is absent (or null).
type Null struct{ Field Field }

// MaxContains is how many bytes the text of a Contains may have: MongoDB's
// expressions are limited.
const MaxContains = 1000

// Contains holds when any of the field's values contains the text, whatever
// the case of letters.
type Contains struct {
	Field Field
	Text  string
}

// Term holds when the object has a term under the key: equal to the value, or
// beginning with it.
type Term struct {
	Key, Value string
	Prefix     bool
}

func (And) expr()      {}
func (Or) expr()       {}
func (Not) expr()      {}
func (Compare) expr()  {}
func (In) expr()       {}
func (Null) expr()     {}
func (Contains) expr() {}
func (Term) expr()     {}

// SearchKey is the key of the terms that hold the words of an object.
const SearchKey = "q"

// Order is the order of a list. Ties are broken by id, in the same direction.
type Order struct {
	Field      Field
	Descending bool
}

// Position is the place of an object in an order.
type Position struct {
	// Key is the value of the order's field, nil when it is absent.
	Key any
	ID  string
}

// Query asks for a page of a collection.
type Query struct {
	Collection string
	// Network is the owner; "" for a global collection.
	Network string
	Where   Expr
	Order   Order
	// After starts the page behind a position instead of at Offset.
	After  *Position
	Offset int
	Limit  int
}
