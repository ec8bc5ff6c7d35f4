package message

import (
	"errors"
)

// Explained returns an error joined with its cause, which the text for clients
// does not include.
func Explained(err error) error {
	var known *Error
	if errors.As(err, &known) && known.Unwrap() != nil {
		return errors.Join(err, known.Unwrap())
	}
	return err
}
