package store

import (
	"context"
	"errors"
	"time"

	"marquee/engine/message"
)

// Translate turns an error of the store into one for clients; others stay.
func Translate(err error) error {
	var known *message.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	if code, ok := CodeOf(err); ok {
		switch code {
		case CodeConflict:
			return message.ConflictUnresolved.Error(nil).Caused(err)
		case CodeUncertain:
			return message.OutcomeUnknown.Error(nil).Caused(err)
		case CodeTooLarge:
			return message.BatchTooLarge.Error(nil).Caused(err)
		case CodeDamaged:
			return message.StoreDamaged.Error(nil).Caused(err)
		case CodeFull:
			e := message.StoreFull.Error(nil).Caused(err)
			e.RetryAfter = time.Minute
			return e
		case CodeUnavailable:
			e := message.StoreUnavailable.Error(nil).Caused(err)
			e.RetryAfter = 5 * time.Second
			return e
		case CodeBusy:
			e := message.ServerBusy.Error(nil).Caused(err)
			e.RetryAfter = time.Second
			return e
		case CodeDeadline:
			e := message.DeadlineExceeded.Error(nil).Caused(err)
			e.RetryAfter = time.Second
			return e
		case CodeBadPosition:
			return message.CursorInvalid.Error(message.Params{"parameter": "cursor"}).Caused(err)
		}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		e := message.DeadlineExceeded.Error(nil).Caused(err)
		e.RetryAfter = time.Second
		return e
	}
	return err
}
