package resources

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"marquee/engine/store"
	"marquee/resources/location"
)

// locationFaults say what is wrong with a line of a gazetteer, and what to do.
var locationFaults = map[location.Kind]string{
	location.LineTooLong:   "is longer than 1 MiB",
	location.NotAnObject:   "is not a JSON object",
	location.UnknownField:  "has the unknown property %s; leave it out",
	location.FieldRequired: "lacks %s",
	location.FieldInvalid:  "has an invalid value of %s",
	location.DuplicateID:   "has the id of an earlier line",
	location.TooMany:       "is one too many: a gazetteer has at most 2,000,000 locations",
}

// ImportLocations stores the locations of a gazetteer, all of them or none, besides those
// that are built in. It returns their number.
func ImportLocations(ctx context.Context, s store.Store, input io.Reader) (n int, err error) {
	n, err = location.Import(ctx, s, input, time.Now().UTC().Truncate(time.Millisecond))
	var fault *location.FaultError
	if errors.As(err, &fault) && locationFaults[fault.Kind] != "" {
		text := locationFaults[fault.Kind]
		if fault.Field != "" && fault.Kind != location.DuplicateID {
			text = fmt.Sprintf(text, fault.Field)
		}
		return 0, fmt.Errorf("line %d %s; nothing was imported", fault.Line, text)
	}
	if err != nil {
		return 0, fmt.Errorf("the locations cannot be imported: %w", err)
	}
	return n, nil
}
