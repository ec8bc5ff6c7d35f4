package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"marquee/resources/location"
)

// locations is given instead of a type to import a gazetteer.
const locations = "locations"

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

// importLocations stores a gazetteer from a file, all of it or nothing.
func (c *importCommand) importLocations(ctx context.Context, s *service, input *os.File) error {
	if c.Context != "" {
		return errors.New("locations belong to no network: leave --context out")
	}
	n, err := location.Import(ctx, s.Store(), input, time.Now().UTC().Truncate(time.Millisecond))
	var fault *location.FaultError
	if errors.As(err, &fault) && locationFaults[fault.Kind] != "" {
		text := locationFaults[fault.Kind]
		if fault.Field != "" && fault.Kind != location.DuplicateID {
			text = fmt.Sprintf(text, fault.Field)
		}
		return fmt.Errorf("line %d %s; nothing was imported", fault.Line, text)
	}
	if err != nil {
		return fmt.Errorf("the locations cannot be imported: %w", err)
	}
	if !c.Quiet {
		fmt.Printf("%s locations were imported, in addition to the built-in ones.\n", grouped(int64(n)))
	}
	return nil
}
