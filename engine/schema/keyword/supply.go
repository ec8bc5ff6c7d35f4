package keyword

import (
	"slices"
	"time"

	"marquee/engine/document"
)

// Creation is what keywords know of a new object when they supply values.
type Creation struct {
	// Time is the createTime of the object, and User the id of the caller, "" for the
	// service itself.
	Time time.Time
	User string
	// Property is the name of the property, and Number returns its number in a sequence.
	Property string
	Number   func(Sequence) int64
}

// IsSupplied reports whether a new object gets a value from the service if the client
// sends none.
func IsSupplied(shape *document.Shape) bool {
	return slices.ContainsFunc(values, func(k *Keyword) bool { return k.Supply != nil && k.Has(shape) })
}
