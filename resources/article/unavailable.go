package article

import (
	"context"
	"errors"
	"fmt"
)

// UnavailableError says that the embeddings service did not give the vectors
// that an answer needs: now there is none, and later there may be. It holds
// neither the key nor what the service or the articles say.
type UnavailableError struct {
	// Reason is for people.
	Reason string
	// Status is the one of the service's answer, 0 if there was none.
	Status int
	// Refused says that the service found fault with the texts themselves.
	Refused bool
	cause   error
}

func (e *UnavailableError) Error() string {
	text := "the embeddings service is not available: " + e.Reason
	if e.Status != 0 {
		text += fmt.Sprintf(" (status %d)", e.Status)
	}
	return text
}

// Unwrap gives the context's error when its end was the cause.
func (e *UnavailableError) Unwrap() error { return e.cause }

// refused reports whether an error says that the texts are at fault.
func refused(err error) bool {
	var unavailable *UnavailableError
	return errors.As(err, &unavailable) && unavailable.Refused
}

// unavailable makes an UnavailableError of any error of an Embedder.
func unavailable(ctx context.Context, err error) error {
	var known *UnavailableError
	switch {
	case ctx.Err() != nil:
		return &UnavailableError{Reason: "there was no time left", cause: ctx.Err()}
	case errors.As(err, &known):
		return err
	}
	return &UnavailableError{Reason: "it failed"}
}
