package index

import (
	"context"
	"errors"
	"fmt"
)

// UnavailableError reports that the embeddings service did not return the vectors for
// a search, which may succeed later. It contains neither the key nor any text of the
// service or of articles.
type UnavailableError struct {
	// Reason is for administrators.
	Reason string
	// Status is the HTTP status of the service, or 0 without a response.
	Status int
	// Refused reports that the service refused the texts.
	Refused bool
	// Cause is the error of the context, if its end was the reason.
	Cause error
}

func (e *UnavailableError) Error() string {
	text := "the embeddings service is not available: " + e.Reason
	if e.Status != 0 {
		text += fmt.Sprintf(" (status %d)", e.Status)
	}
	return text
}

// Unwrap returns the error of the context, if that was the cause.
func (e *UnavailableError) Unwrap() error { return e.Cause }

// refused reports whether the texts are at fault.
func refused(err error) bool {
	var unavailable *UnavailableError
	return errors.As(err, &unavailable) && unavailable.Refused
}

// unavailable returns an *UnavailableError for any error of an Embedder.
func unavailable(ctx context.Context, err error) error {
	var known *UnavailableError
	switch {
	case ctx.Err() != nil:
		return &UnavailableError{Reason: "there was no time left", Cause: ctx.Err()}
	case errors.As(err, &known):
		return err
	}
	return &UnavailableError{Reason: "it failed"}
}
