package engine

import (
	"context"
	"time"
)

// eraseTime is how long Erase works on what follows the erasure of the object itself.
const eraseTime = 15 * time.Second

// Erasure is what Erase has done.
type Erasure struct {
	// Properties are the top-level properties of the object from which values were removed.
	Properties []string
	// Left is nil if nothing is left of the values in the store, as far as the service can
	// remove them. Otherwise it is the reason why the rest is left to the background.
	Left error
}

// Erase removes the personal values of an object, which is hidden, and then those in its
// history, which takes longer (FinishErasures). Once the object is erased, there is no
// error: what cannot be done before the deadline is left to the background. Errors are of type
// *message.Error.
func (e *Engine) Erase(ctx context.Context, caller *Caller, r Removal) (*Erasure, error) {
	properties, err := e.EraseObject(ctx, caller, r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, eraseTime)
	defer cancel()
	left := e.FinishErasures(ctx)
	e.Forget()
	return &Erasure{Properties: properties, Left: left}, nil
}
