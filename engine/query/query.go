// Package query is a small syntax tree for lists: the list parameters and the
// `where` parameter are parsed into it, and each store translates it into its
// own query language. It imports document and message only. Begin with Query
// and Expr; ParseList and ParseWhere build them from a request.
package query

// Query asks for one page of a collection.
type Query struct {
	Collection string
	// Network is the owner of the records; "" for a global collection.
	Network string
	// Where selects records; nil selects all.
	Where Expr
	Order Order
	// After starts the page behind a position instead of at Offset.
	After  *Position
	Offset int
	Limit  int
}

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
